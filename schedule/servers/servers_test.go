package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
	"sched/schedule/history"
	"sched/schedule/outcome"
)

var ctx = context.Background()

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// run is the n-th run of a task, one a minute, on one of three servers in turn.
func run(n int, task string, o outcome.Outcome) outcome.Record {
	at := noon.Add(time.Duration(n) * time.Minute)
	return outcome.Record{Run: runID(n), Task: task, Mutex: task, Slot: at, Server: fmt.Sprint("web-", n%3), Outcome: o, Started: at, Ended: at.Add(time.Second)}
}

func runID(n int) string { return fmt.Sprintf("%08x-0000-7000-8000-%012x", n, n*7919) }

func mustPublish(t *testing.T, r *mutex.Redis, records ...outcome.Record) {
	t.Helper()
	if err := Publish(ctx, r, records); err != nil {
		t.Fatal(err)
	}
}

func mustList(t *testing.T, r *mutex.Redis) []Server {
	t.Helper()
	servers, err := List(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return servers
}

func mustRecent(t *testing.T, r *mutex.Redis, q history.Query) (runs []string) {
	t.Helper()
	records, err := Recent(ctx, r, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		runs = append(runs, record.Run)
	}
	return runs
}

func TestAServerIsListedAsItAnnouncedItself(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		if servers := mustList(t, r); len(servers) != 0 {
			t.Fatalf("before the first tick: %v", servers)
		}
		since := noon.Add(-time.Hour)
		web2 := Server{Name: "web-2", Version: "1.2.3", Minute: noon, Running: []Running{{runID(1), "a", noon, 12, since}, {runID(2), "b", noon, 0, since}}}
		slow := func() time.Time { return time.Now().Add(-45 * time.Second) }
		offset, err := Announce(ctx, r, slow, web2)
		if err != nil || (offset+45*time.Second).Abs() > 5*time.Second {
			t.Fatalf("the offset is %s, %v", offset, err)
		}
		if _, err := Announce(ctx, r, time.Now, Server{Name: "web-1", Version: "1.2.4", Minute: noon}); err != nil {
			t.Fatal(err)
		}
		servers := mustList(t, r)
		if len(servers) != 2 || servers[0].Name != "web-1" || servers[1].Name != "web-2" {
			t.Fatalf("listed: %+v", servers)
		}
		got := servers[1]
		if (got.Offset-offset).Abs() > 5*time.Second || got.Version != "1.2.3" || !got.Minute.Equal(noon) || !slices.Equal(got.Running, web2.Running) || got.More != 0 {
			t.Errorf("%+v", got)
		}
		if got.Age < 0 || got.Age > time.Minute || time.Since(got.Seen).Abs() > time.Minute {
			t.Errorf("seen at %s, %s ago", got.Seen, got.Age)
		}
	})
}

// A tick with a long foreground task goes on while cron starts others.
func TestATickThatBeganEarlierSaysWhatRunsAndNotWhenTheLastTickWas(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		early := Server{Name: "web-1", Version: "1", Minute: noon}
		late := Server{Name: "web-1", Version: "2", Minute: noon.Add(time.Minute)}
		for _, call := range []func() (time.Duration, error){
			func() (time.Duration, error) { return Announce(ctx, r, time.Now, early) },
			func() (time.Duration, error) { return Announce(ctx, r, time.Now, late) },
			func() (time.Duration, error) {
				early.Running = []Running{{Run: runID(1), Task: "a"}}
				return Refresh(ctx, r, time.Now, early)
			},
		} {
			if _, err := call(); err != nil {
				t.Fatal(err)
			}
		}
		servers := mustList(t, r)
		if len(servers) != 1 || servers[0].Version != "2" || !servers[0].Minute.Equal(late.Minute) || len(servers[0].Running) != 1 {
			t.Errorf("%+v", servers)
		}
	})
}

// Redis was restarted empty while a tick lives.
func TestARefreshIsEnoughForAServerThatIsNotListed(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		if _, err := Refresh(ctx, r, time.Now, Server{Name: "web-1", Version: "1", Minute: noon}); err != nil {
			t.Fatal(err)
		}
		if servers := mustList(t, r); len(servers) != 1 || !servers[0].Minute.Equal(noon) {
			t.Errorf("%+v", servers)
		}
	})
}

func TestAtMostAHundredRunsAreListed(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		s := Server{Name: "web-1"}
		for n := range maxRunning + 7 {
			s.Running = append(s.Running, Running{Run: runID(n), Task: "a"})
		}
		if _, err := Announce(ctx, r, time.Now, s); err != nil {
			t.Fatal(err)
		}
		if got := mustList(t, r); len(got[0].Running) != maxRunning || got[0].More != 7 || len(s.Running) != maxRunning+7 {
			t.Errorf("%d and %d more", len(got[0].Running), got[0].More)
		}
	})
}

func TestAServerIsForgottenTenMinutesAfterItsLastTick(t *testing.T) {
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	at := time.Now()
	m.SetTime(at)
	for _, name := range []string{"web-1", "web-2"} {
		if _, err := Announce(ctx, r, time.Now, Server{Name: name}); err != nil {
			t.Fatal(err)
		}
		m.SetTime(at.Add(9 * time.Minute))
		m.FastForward(9 * time.Minute)
	}
	// 18 minutes for web-1 and 9 for web-2.
	if servers := mustList(t, r); len(servers) != 1 || servers[0].Name != "web-2" {
		t.Errorf("%+v", servers)
	}
	m.SetTime(at.Add(18 * time.Minute))
	if _, err := Announce(ctx, r, time.Now, Server{Name: "web-3"}); err != nil {
		t.Fatal(err)
	}
	if names, _ := m.ZMembers("sched:{shop}:servers"); !slices.Equal(names, []string{"web-2", "web-3"}) {
		t.Errorf("Redis keeps the names %v", names)
	}
}

func TestARunIsNotListedAsRunningOnceItIsPublished(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		s := Server{Name: "web-1", Running: []Running{{Run: runID(1), Task: "a"}, {Run: runID(2), Task: "b"}}}
		if _, err := Announce(ctx, r, time.Now, s); err != nil {
			t.Fatal(err)
		}
		mustPublish(t, r, run(1, "a", outcome.Succeeded))
		if got := mustList(t, r); len(got[0].Running) != 1 || got[0].Running[0].Run != runID(2) {
			t.Errorf("%+v", got)
		}
	})
}

func TestARunComesBackAsItWasPublishedWithoutItsFiles(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		code := 3
		full := run(1, "report", outcome.Failed)
		full.ExitCode, full.Reason, full.Notes, full.Attempts = &code, `exit code 3: "x" {y}`, []string{"hook after 1: ümläut"}, 2
		full.UserCPU, full.PeakMemory, full.Origin = 1500*time.Microsecond, 5<<30, "retry"
		sent := full
		sent.Snapshot, sent.Locks, sent.Output = []byte(`{"env":{"PASSWORD":"secret"}}`), "/srv/shop/.sched/locks", "/srv/shop/.sched/output/1.log"
		mustPublish(t, r, sent)
		records, err := Recent(ctx, r, history.Query{})
		if err != nil || len(records) != 1 || fmt.Sprintf("%+v", values(records[0])) != fmt.Sprintf("%+v", values(full)) {
			t.Errorf("%v\n got %+v\nwant %+v", err, records, full)
		}
		last, err := Last(ctx, r, []string{"report"})
		if err != nil || len(last) != 1 || fmt.Sprintf("%+v", values(last["report"])) != fmt.Sprintf("%+v", values(full)) {
			t.Errorf("%v\n got %+v\nwant %+v", err, last, full)
		}
	})
}

// values is a record without the addresses that fmt would print.
func values(r outcome.Record) any {
	code := *r.ExitCode
	r.ExitCode = nil
	return []any{r, code}
}

func TestRecentAnswersAsTheHistoryDoes(t *testing.T) {
	failures := []outcome.Outcome{outcome.Failed, outcome.TimedOut}
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		mustPublish(t, r, run(4, "b", outcome.Succeeded), run(6, "a", outcome.TimedOut))
		mustPublish(t, r, run(1, "a", outcome.Succeeded), run(2, "a", outcome.Failed)) // late: their server could not reach Redis
		mustPublish(t, r)
		for _, tt := range []struct {
			what string
			q    history.Query
			want []int
		}{
			{"everything, the newest slot first", history.Query{}, []int{6, 4, 2, 1}},
			{"the newest two", history.Query{Limit: 2}, []int{6, 4}},
			{"a task", history.Query{Task: "a"}, []int{6, 2, 1}},
			{"a task that never ran", history.Query{Task: "c"}, nil},
			{"failures", history.Query{Outcomes: failures}, []int{6, 2}},
			{"the newest success of a task", history.Query{Task: "a", Outcomes: []outcome.Outcome{outcome.Succeeded}, Limit: 1}, []int{1}},
			{"since a slot", history.Query{Since: noon.Add(4 * time.Minute)}, []int{6, 4}},
		} {
			var want []string
			for _, n := range tt.want {
				want = append(want, runID(n))
			}
			if got := mustRecent(t, r, tt.q); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", tt.what, got, want)
			}
		}
	})
}

func TestPublishingTwiceShowsARunOnce(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		for range 3 {
			mustPublish(t, r, run(1, "a", outcome.Succeeded), run(2, "a", outcome.Failed), run(2, "a", outcome.Failed))
		}
		if got := mustRecent(t, r, history.Query{}); len(got) != 2 {
			t.Errorf("got %v", got)
		}
		err := r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
			if n := c.XLen(ctx, r.Key("runs")).Val(); n != 2 {
				return fmt.Errorf("the stream has %d entries", n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestALateCopyIsNotTheLastRun(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		mustPublish(t, r, run(5, "a", outcome.Failed), run(2, "b", outcome.Succeeded))
		mustPublish(t, r, run(3, "a", outcome.Succeeded), run(4, "b", outcome.Lost))
		last, err := Last(ctx, r, []string{"a", "never ran", "b", "a"})
		if err != nil || len(last) != 2 || last["a"].Run != runID(5) || last["b"].Run != runID(4) || last["b"].Outcome != outcome.Lost {
			t.Errorf("%v %v", last, err)
		}
		if none, err := Last(ctx, r, nil); err != nil || len(none) != 0 {
			t.Errorf("of no tasks: %v %v", none, err)
		}
	})
}

// The stream is read from its end, as far as it may matter: an hour beyond the query.
func TestALongStreamIsReadToItsEndWhereThatMatters(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	const all = 3 * pageSize
	late := run(all+1, "late", outcome.Succeeded) // published before all others, and newer than they are
	m.SetTime(late.Ended)
	mustPublish(t, r, late)
	for n := range all {
		record := run(n, "a", outcome.Succeeded)
		m.SetTime(noon.Add(time.Duration(all+10+n) * time.Minute)) // long after its end
		mustPublish(t, r, record)
	}
	if got := mustRecent(t, r, history.Query{Limit: 2}); !slices.Equal(got, []string{late.Run, runID(all - 1)}) {
		t.Errorf("the newest two are %v", got)
	}
	if got := mustRecent(t, r, history.Query{Since: late.Slot}); !slices.Equal(got, []string{late.Run}) {
		t.Errorf("since the last slot: %v", got)
	}
	if got := mustRecent(t, r, history.Query{}); len(got) != all+1 {
		t.Errorf("%d of %d", len(got), all+1)
	}
}

func TestWhatIsFarInThePastIsNotRead(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	const all = 4 * pageSize
	for n := range all {
		m.SetTime(run(n, "a", outcome.Succeeded).Ended)
		mustPublish(t, r, run(n, "a", outcome.Succeeded))
	}
	before := m.TotalConnectionCount() + m.CommandCount()
	if got := mustRecent(t, r, history.Query{Limit: 20}); len(got) != 20 || got[0] != runID(all-1) || got[19] != runID(all-20) {
		t.Errorf("%d, from %s", len(got), got[0])
	}
	if n := m.TotalConnectionCount() + m.CommandCount() - before; n > 3 {
		t.Errorf("%d commands", n)
	}
}

func TestTheStreamIsCapped(t *testing.T) {
	if testing.Short() {
		t.Skip("publishes more than is kept")
	}
	r := redistest.Dial(t, redistest.Start(t).URL)
	const all = maxRuns + 1500
	for n := 0; n < all; n += pageSize {
		var some []outcome.Record
		for i := range pageSize {
			some = append(some, run(n+i, "a", outcome.Succeeded))
		}
		mustPublish(t, r, some...)
	}
	got := mustRecent(t, r, history.Query{})
	if len(got) < maxRuns || len(got) > maxRuns+200 || got[0] != runID(all-1) {
		t.Errorf("%d runs are kept", len(got))
	}
	err := r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		if n := c.ZCard(ctx, r.Key("ended")).Val(); n != maxRuns {
			return fmt.Errorf("%d ids are kept", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// One of three servers was down while a run was published, and another is down now.
func TestAnyMajorityReadsWhatAnyMajorityWrote(t *testing.T) {
	t.Parallel()
	var m []*miniredis.Miniredis
	var urls []string
	for range 3 {
		one := miniredis.RunT(t)
		m, urls = append(m, one), append(urls, "redis://"+one.Addr())
	}
	m[0].SetError("LOADING")
	r := redistest.Dial(t, urls...)
	mustPublish(t, r, run(1, "a", outcome.Succeeded))
	s := Server{Name: "web-1", Running: []Running{{Run: runID(1), Task: "a"}, {Run: runID(2), Task: "a"}}}
	if _, err := Announce(ctx, r, time.Now, s); err != nil {
		t.Fatal(err)
	}
	m[0].SetError("")
	m[1].SetError("LOADING")
	r = redistest.Dial(t, urls...)
	mustPublish(t, r, run(2, "a", outcome.Failed))
	if got := mustRecent(t, r, history.Query{}); !slices.Equal(got, []string{runID(2), runID(1)}) {
		t.Errorf("recent: %v", got)
	}
	if last, err := Last(ctx, r, []string{"a"}); err != nil || last["a"].Run != runID(2) {
		t.Errorf("last: %v %v", last, err)
	}
	if servers := mustList(t, r); len(servers) != 1 || len(servers[0].Running) != 0 {
		t.Errorf("servers: %+v", servers)
	}
	m[2].SetError("LOADING")
	r = redistest.Dial(t, urls...)
	if _, err := Recent(ctx, r, history.Query{}); err == nil {
		t.Error("one of three answered, and that was enough")
	}
	if err := Publish(ctx, r, []outcome.Record{run(3, "a", outcome.Failed)}); err == nil {
		t.Error("one of three accepted a run, and that was enough")
	}
}

func TestWhatNoSchedWroteIsLeftOut(t *testing.T) {
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	mustPublish(t, r, run(1, "a", outcome.Succeeded))
	m.XAdd(r.Key("runs"), "*", []string{"record", "{torn"})
	m.XAdd(r.Key("runs"), "*", []string{"another", "field"})
	m.HSet(r.Key("last"), "b", "nothing")
	m.ZAdd(r.Key("servers"), 1, "web-9")
	m.HSet(r.Key("server", "web-9"), "tick", "?")
	if got := mustRecent(t, r, history.Query{}); len(got) != 1 {
		t.Errorf("recent: %v", got)
	}
	if last, err := Last(ctx, r, []string{"a", "b"}); err != nil || len(last) != 1 {
		t.Errorf("last: %v %v", last, err)
	}
	if servers := mustList(t, r); len(servers) != 0 {
		t.Errorf("servers: %+v", servers)
	}
}

func TestSchedulesOfOtherNamesAreOthers(t *testing.T) {
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	mustPublish(t, r, run(1, "a", outcome.Succeeded))
	if _, err := Announce(ctx, r, time.Now, Server{Name: "web-1"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range m.Keys() {
		if !strings.HasPrefix(key, "sched:{shop}:") {
			t.Errorf("the key %s", key)
		}
	}
}

// Latest is for who must not wait: it finds the newest of many runs, and looks no further back than it says.
func TestLatestLooksAtTheLastThousandRuns(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		const many = mostLatest + pageSize
		var all []outcome.Record
		for i := range many {
			slot := noon.Add(time.Duration(i) * time.Minute)
			all = append(all, outcome.Record{Run: outcome.NewIDAt(slot), Task: "a", Slot: slot, Started: slot, Ended: slot, Outcome: outcome.Succeeded, Server: "web-2"})
		}
		for part := range slices.Chunk(all, 500) {
			if err := Publish(ctx, r, part); err != nil {
				t.Fatal(err)
			}
		}
		found, err := Latest(ctx, r, history.Query{Since: noon})
		if err != nil || len(found) < pageSize || len(found) > mostLatest || found[0].Run != all[many-1].Run {
			t.Errorf("%d runs, %v", len(found), err)
		}
		if all, err := Recent(ctx, r, history.Query{Since: noon}); err != nil || len(all) != many {
			t.Errorf("%d of all runs, %v", len(all), err)
		}
	})
}
