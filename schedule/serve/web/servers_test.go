package web

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/testing/controltest"
	"sched/testing/redistest"
)

// With a store the pages show all of its servers, and say what only the server of a run can do.
func TestPagesOfOtherServers(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	b := newBox(t, shop, serve.ScopeOperate)
	b.Store = redistest.Dial(t, "redis://"+redis.Addr())
	running, ended := controltest.Running("hourly"), b.Ended("a/b", 60, outcome.Failed, "")
	other := cluster.Server{Name: "web-2", Version: "1.2.3", Minute: controltest.Noon, File: "/srv/shop.yaml",
		Digest: "0123", Running: []cluster.Running{running}}
	b.Elsewhere(other, ended)
	b.has("/servers", b.get("/servers", 200), "web-2", "1.2.3", "another text", "/srv/shop.yaml", "/runs/"+running.Run)
	b.has("/tasks", b.get("/tasks", 200), "running", ">a/b</a>", "failed")
	b.Remember(b.Ended("hourly", 30, outcome.Succeeded, ""), b.Ended("hourly", 90, outcome.Skipped, ""))
	b.has("the runs", b.get("/runs", 200), `href="?all_servers=true">all servers</a>`, "skipped", "not <th>Server", "not "+ended.ID)
	b.has("those of all servers", b.get("/runs?all_servers=true", 200), "<th>Server",
		`<td data-label="server">web-2</td>`, `<a href="/runs/`+ended.ID+`">`, "succeeded", "not >skipped<")
	b.has("the task", b.get("/tasks/a%2Fb", 200), `<a href="/runs?all_servers=true&amp;task=a%2Fb">on all servers</a>`)
	for _, run := range []string{running.Run, ended.ID} {
		b.has("its page", b.get("/runs/"+run, 200), "is on web-2: <code>sched logs "+humanize.ShortRun(run)+"</code> there",
			"not Stop…", "not Retry…", `not id="log"`)
		b.get("/runs/"+run+"/log", 409)
	}
	b.has("the page of one that has ended", b.get("/runs/"+ended.ID, 200),
		"is on web-2: <code>sched retry "+humanize.ShortRun(ended.ID)+"</code> there")
	b.has("the page of one that lives", b.get("/runs/"+running.Run, 200),
		"is on web-2: <code>sched stop "+humanize.ShortRun(running.Run)+"</code> there")
	redis.Close()
	b.has("the runs of all servers without the store", b.get("/runs?all_servers=true", 200), "succeeded",
		"other servers are left out")
	b.has("the tasks without the store", b.get("/tasks", 200), ">hourly</a>", "other servers are left out")
	b.ticked()
	b.has("the servers without the store", b.get("/servers", 200), "other servers are left out", "redis at", "web-1, last tick 12:00",
		"The other servers are not known while the store does not answer", "not web-2", "not stands alone")
}

// With a store, each page says of which server it is. A task that is not for this server is called
// so, and not off.
func TestPagesSayOfWhichServerTheyAre(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	of := "timezone: UTC\ntasks:\n  - {name: there, every: hour, command: x, servers: [web-9]}\n" +
		"  - {name: off, every: hour, command: x, enabled: false}\n"
	alone := newBox(t, of, serve.ScopeRead)
	alone.has("without a store", alone.get("/tasks", 200), "not >on web-1</span>", "not  on web-1</title>",
		"</span> not for this server</span>", "switched off</span>")
	b := newBox(t, of, serve.ScopeRead)
	b.Store = redistest.Dial(t, "redis://"+redis.Addr())
	b.has("with a store", b.get("/tasks", 200), ">on web-1</span>", " on web-1</title>")
	b.has("another page", b.get("/runs", 200), ">on web-1</span>")
	b.has("labels", nightBox(t).get("/servers", 200), "<small>role=web, zone=eu-1</small>")
}

// While a run lives, its page says how much of the usual time has passed, or how much longer the
// run takes.
func TestTheProgressOfARunIsToldByItsUsualTime(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	for passed, says := range map[time.Duration]string{
		time.Second: `<progress max="2000" value="1000" aria-label="Of its usual time"></progress> it usually takes 2.0 s, so about 1.0 s are left`,
		time.Minute: `<progress max="2000" value="2000" aria-label="Of its usual time"></progress> 58 s longer than usual: it usually takes 2.0 s`,
	} {
		b := newBox(t, shop, serve.ScopeRead)
		b.Store = redistest.Dial(t, "redis://"+redis.Addr())
		running := controltest.Running("hourly")
		running.Since = running.Since.Add(-passed)
		b.Elsewhere(cluster.Server{Name: "web-2", Minute: controltest.Noon, Running: []cluster.Running{running}})
		b.has("a task that never ran", b.get("/runs/"+running.Run, 200),
			"running</span> for "+humanize.Duration(passed), "not <progress")
		b.Remember(b.Ended("hourly", 180, outcome.Succeeded, ""), b.Ended("hourly", 120, outcome.Succeeded, ""))
		b.has(passed.String(), b.get("/runs/"+running.Run, 200), says)
	}
}

// A slot of a one_server task that another server took is one line, which leads to the run there.
// So is a slot that was skipped here for another reason. If no server has told what ran, the reason
// stays.
func TestASlotThatAnotherServerTookIsOneLine(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: shared, every: hour, command: \"true\", one_server: true}\n  - {name: own, every: hour, command: \"true\"}\n",
		serve.ScopeRead)
	b.Store = redistest.Dial(t, "redis://"+redis.Addr())
	skipped := func(task string, ago int, reason string) state.Row {
		r := b.Ended(task, ago, outcome.Skipped, "")
		if r.Reason = reason; strings.HasPrefix(reason, "another tick ") {
			r.Kind = outcome.Elsewhere
		}
		b.Remember(r)
		return r
	}
	taken := skipped("shared", 60, "another tick has this slot since 2026-03-01 11:00:00 UTC (run 0123, pid 7 on web-2)")
	skipped("shared", 120, "when says no: exit code 1")
	lives := skipped("shared", 0, "another tick has this slot since 2026-03-01 12:00:00 UTC (run 4567, pid 7 on web-3)")
	skipped("shared", 180, "another tick has this slot since 2026-03-01 09:00:00 UTC (run 89ab, pid 7 on web-4)")
	skipped("own", 60, "a reason of its own")
	ran, failed := b.Ended("shared", 60, outcome.Succeeded, ""), b.Ended("shared", 120, outcome.Failed, "")
	own := b.Ended("own", 60, outcome.Succeeded, "")
	// not by its schedule: somebody asked for one more run at that time
	asked := b.Ended("shared", 180, outcome.Succeeded, "")
	asked.Origin = "trigger by ada"
	b.Elsewhere(cluster.Server{Name: "web-2", Minute: controltest.Noon}, ran, failed, own, asked)
	running := controltest.Running("shared")
	b.Elsewhere(cluster.Server{Name: "web-3", Minute: controltest.Noon, Running: []cluster.Running{running}})
	page := b.get("/runs", 200)
	b.has("the runs", page, `<a href="/runs/`+ran.ID+`">on web-2</a> <span class="badge good">`, "in 2.0 s", "not run 0123",
		`when says no: exit code 1; <a href="/runs/`+failed.ID+`">on web-2</a>`, `<a href="/runs/`+running.Run+`">on web-3</a> <span class="badge live">`,
		"run 89ab", "not "+asked.ID, "a reason of its own", "not "+own.ID)
	b.has("the task", b.get("/tasks/shared", 200), `<a href="/runs/`+ran.ID+`">on web-2</a>`)
	b.has("the slot", b.get("/runs/"+taken.ID, 200), "<dt>This slot</dt>", `<a href="/runs/`+ran.ID+`">on web-2</a>`)
	b.has("the slot that runs there", b.get("/runs/"+lives.ID, 200), `<a href="/runs/`+running.Run+`">on web-3</a>`)
	redis.SetTime(time.Now().Add(20 * time.Second)) // web-3 says nothing, and the run may have ended
	for _, path := range []string{"/runs", "/runs/" + lives.ID} {
		b.has(path, b.get(path, 200), `<a href="/runs/`+running.Run+`">on web-3</a> <span class="badge calm">`,
			"was running</span>", "s ago")
	}
	redis.Close()
	b.has("the runs without the store", b.get("/runs", 200), "run 0123", "other servers are left out")
}

// A store that is down is one banner on each page, with all that the page lacks because of it.
func TestAStoreThatIsDownIsOneBanner(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	b := newBox(t, shop, serve.ScopeOperate)
	b.Store = redistest.Dial(t, "redis://"+redis.Addr())
	redis.Close()
	for _, path := range []string{"/tasks", "/timeline", "/tasks/hourly", "/pauses", "/runs?all_servers=true"} {
		if n := strings.Count(b.get(path, 200), "does not answer"); n != 1 {
			t.Errorf("%s says %d times that the store does not answer", path, n)
		}
	}
	b.has("/tasks", b.get("/tasks", 200),
		"what is paused is what this machine knew last; other servers are left out: redis at")
}

// A server that ticked and does so no more is told from one that ticks: first it is silent, then
// only its last run is known.
func TestTheStateOfAServerThatDied(t *testing.T) {
	t.Parallel()
	b := nightBox(t)
	page := b.get("/servers", 200)
	b.has("/servers", page, "silent</span> <small>says nothing for ",
		": it was stopped, or it died; 1 run may have ended since</small>", "ticks</span>",
		"gone</span> <small>nothing was heard of it for ten minutes or more</small>", ">newsletter</a>", ">web-4</th>")
	b.has("the machine alone", newBox(t, shop, serve.ScopeRead).get("/servers", 200), "This machine stands alone", "not last tick")
	alone := newBox(t, shop, serve.ScopeRead)
	alone.ticked()
	b.has("the machine alone, after a tick", alone.get("/servers", 200), "ticks</span> web-1, last tick 12:00 UTC (0 ms ago)")
}
