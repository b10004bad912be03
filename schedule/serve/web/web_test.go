package web

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/testing/controltest"
	"sched/testing/machine"
)

const shop = `
timezone: UTC
tasks:
  - {name: hourly, every: hour, command: "echo '<b>'", tags: [x], description: "<script>alert(1)</script>"}
  - {name: a/b, every: day, command: "false"}
  - {name: off, every: day, command: "false", enabled: false}
  - {name: nasty, every: day, command: '"><img src=x onerror=alert(1)>', tags: ['"><script>'], env: {'A<b>': x}}
`

// Every page says that no tick ever came, and so does the API. The pages say once what helps.
func TestPagesSayThatNoTickEverCame(t *testing.T) {
	b := newBox(t, "tasks: [{name: a, every: hour, command: \"true\"}]\n", serve.ScopeRead)
	for _, path := range []string{"/", "/tasks", "/timeline", "/forecast", "/runs", "/tasks/a", "/api/v1/status",
		"/api/v1/tasks/a/why"} {
		text := b.get(path, 200)
		b.has(path, text, "no tick ever came")
		if n := strings.Count(text, "sched install"); n != 1 && !strings.HasSuffix(path, "/why") {
			t.Errorf("%s says sched install %d times", path, n)
		}
	}
}

func TestEveryPageSaysWhatThereIs(t *testing.T) {
	b := newBox(t, shop, serve.ScopeOperate)
	good, bad := b.Ended("hourly", 120, outcome.Succeeded, "hallo\n"), b.Ended("hourly", 60, outcome.Failed, "")
	bad.Reason = "exit code 7"
	gone := b.Ended("gone", 30, outcome.Succeeded, "")
	b.Remember(good, bad, gone, b.Ended("a/b", 720, outcome.Skipped, ""))
	for _, tt := range []struct {
		path   string
		status int
		texts  []string
	}{
		{"/tasks", 200, []string{"hourly", "a/b", "failed 59 m 57 s ago (exit code 7)", `trouble <b>1</b>`,
			"1 succeeded, 1 failed", "/runs/" + bad.ID}},
		{"/tasks?state=trouble", 200, []string{">hourly</a>", "not >a/b</a>"}},
		{"/tasks?q=A/B", 200, []string{"not >hourly</a>", ">a/b</a>", `value="A/B"`}},
		{"/tasks?tag=x&state=ok", 200, []string{"No task is chosen by this filter", `aria-current="true">x <b>1</b>`}},
		{"/tasks?page=9223372036854775807", 200, []string{">hourly</a>", "not No task"}},
		{"/timeline?q=nix", 200, []string{"not hourly"}},
		{"/timeline", 200, []string{"hourly", "/runs/" + good.ID, "2026-03-01 13:00 UTC: due", `class="now"`}},
		{"/timeline?hours=168&at=2026-02-01T00:00:00Z", 200, []string{"hourly", `not class="now"`}},
		{"/timeline?hours=x&at=300000-01-01", 200, []string{`class="now"`}},
		{"/forecast", 200, []string{"Sun 2026-03-01 12:00 UTC to Sun 2026-03-08 12:00 UTC", "1 run at most, ",
			`<option value="7d" selected>`, "of 1 task from their history",
			"/timeline?hours=6&amp;at=2026-03-01T12%3A30%3A00Z"}},
		{"/forecast?since=2026-03-10&for=36h", 200,
			[]string{"Tue 2026-03-10 00:00 UTC to Wed 2026-03-11 12:00 UTC",
				`<option value="36h" selected>`, `value="2026-03-10"`}},
		{"/forecast?for=32d", 400, []string{"32 d 0 h is too long for a forecast"}},
		{"/forecast?for=%3Cscript%3E", 400, []string{"is not a duration"}},
		{"/forecast?since=300000-01-01", 400, []string{"is not a day"}},
		{"/forecast?since=9000-01-01", 400, []string{"the year 9000 cannot be foreseen"}},
		{"/tasks/hourly", 200, []string{"schedule.yaml:4", "0 * * * *", "exit code 7", "Trigger…", "Retry…", "Pause…",
			"none of its conditions is in the way", "2026-03-01 13:00:00 UTC"}},
		{"/tasks/a%2Fb", 200, []string{"<h1>a/b</h1>", "skipped", "not Retry…"}},
		{"/tasks/off", 200, []string{"It does not run here: it is switched off", "not Trigger…"}},
		{"/tasks/hourli", 404, []string{"did you mean &#34;hourly&#34;?"}},
		{"/runs", 200, []string{good.ID, bad.ID, gone.ID}},
		{"/runs?task=hourly&outcome=failed", 200, []string{"not " + good.ID, bad.ID}},
		{"/runs?below=made.up", 200, []string{good.ID}},
		{"/runs/" + good.ID, 200, []string{"hallo", "succeeded", "Retry…", "Download all of it", "not data-follow"}},
		{"/runs/" + bad.ID, 200, []string{"It printed nothing", "exit code 7"}},
		{"/runs/" + gone.ID, 200, []string{"not Retry…"}},
		{"/runs/ffffffff", 404, []string{"there is no task and no run"}},
		{"/servers", 200, []string{"This machine stands alone", `href="/machine"`}},
		{"/machine", 200, []string{"/etc/cron.daily/logs"}},
		{"/pauses", 200, []string{"Nothing is paused", "Pause everything…"}},
		{"/audit", 200, []string{"Nobody has changed anything"}},
		{"/nix", 404, []string{"there is no page /nix"}},
		{"/api/tasks", 404, []string{`"detail": "there is no route /api/tasks"`, "/api/v1/openapi.json", "not <h1>"}},
		{"/assets/style.css", 200, []string{"prefers-color-scheme"}},
		{"/assets/nix.css", 404, nil},
	} {
		b.has(tt.path, b.get(tt.path, tt.status), tt.texts...)
	}
	if got := b.get("/runs/"+good.ID+"/log", 200); got != "hallo\n" {
		t.Errorf("the download is %q", got)
	}
}

// A task that is due more often than bars are drawn has bars up to the end of the axis. A row that
// ended earlier would say that the task is not due any more.
func TestATimelineOfATaskThatIsDueVeryOften(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: often, every: 5 seconds, command: \"true\"}\n  - {name: rare, every: hour, command: \"true\"}\n", serve.ScopeRead)
	drawn := regexp.MustCompile(`class="due" x="([0-9.]+)%" width="([0-9.]+)%"`).FindAllStringSubmatch(b.get("/timeline?q=often", 200), -1)
	if len(drawn) == 0 {
		t.Fatal("nothing is drawn")
	}
	at, _ := strconv.ParseFloat(drawn[len(drawn)-1][1], 64)
	wide, _ := strconv.ParseFloat(drawn[len(drawn)-1][2], 64)
	if at+wide < 99.9 {
		t.Errorf("it ends at %.1f %%", at+wide)
	}
}

// If the history cannot be read, every page that would show a part of it says so. The tasks and the
// slots to come are there all the same.
func TestPagesWithoutTheHistory(t *testing.T) {
	for name, damage := range map[string]func(b *box){
		"damaged": func(b *box) {
			os.WriteFile(b.Path(".sched/sched.db"), []byte(strings.Repeat("no database ", 1000)), 0o600)
		},
		"newer": func(b *box) {
			file, _ := os.OpenFile(b.Path(".sched/sched.db"), os.O_WRONLY, 0)
			file.WriteAt([]byte{0, 0, 0, 99}, 60) // user_version
			file.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, shop, serve.ScopeOperate)
			b.Remember(b.Ended("hourly", 60, outcome.Succeeded, ""))
			damage(b)
			b.has("/", b.get("/", 200), "sched.db", ">hourly</a>", "2026-03-01 13:00:00 UTC")
			b.has("/tasks", b.get("/tasks", 200), "the history cannot be read", ">hourly</a>",
				"2026-03-01 13:00:00 UTC")
			b.has("/timeline", b.get("/timeline", 200), "the history cannot be read", ">hourly</a>",
				"2026-03-01 13:00 UTC: due")
			b.has("/forecast", b.get("/forecast", 200), "the history cannot be read",
				"Runs at once, by hour", "of 3 unknown")
			for _, path := range []string{"/tasks/hourly", "/runs", "/runs/ffffffff"} {
				b.has(path, b.get(path, 503), "sched.db", "To the overview")
			}
			b.get("/pauses", 200)
			b.has("/audit", b.get("/audit", 503), "sched.db", "To the overview") // the audit log is in it
		})
	}
}

var inline = regexp.MustCompile(`(?i)<script(?:>|[^>]*[^>d]>)|\son\w+=["'a-z]|javascript:|\sstyle=|<style|<img`)

// Foreign text (names, descriptions, reasons, output of commands) is text on every page, and no
// page needs code that the policy of the server forbids.
func TestNothingThatOthersWroteBecomesMarkup(t *testing.T) {
	b := newBox(t, shop, serve.ScopeOperate)
	nasty := "\x1b[31mred<b>\x1b[0m \x1b[2J\x1b]0;title\a\x00<script>alert(1)</script>\rover\u202edrawn \xff\n"
	r := b.Ended("hourly", 60, outcome.Failed, nasty)
	r.Reason = `"><script>alert(1)</script>`
	b.Remember(r)
	b.send("POST", "/tasks/hourly/pause", url.Values{"reason": {"<script>alert(1)</script>"}}, 303)
	for _, path := range []string{"/", "/tasks", "/timeline", "/forecast", "/tasks/hourly", "/tasks/nasty", "/runs",
		"/runs/" + r.ID, "/pauses", "/audit", "/tasks?q=%22%3E%3Cscript%3Ealert(1)", "/%3Cscript%3E"} {
		status := 200
		if strings.HasPrefix(path, "/%3C") {
			status = 404
		}
		page := strings.Replace(b.get(path, status), `<script src="/assets/live.js" defer data-base=""></script>`, "", 1)
		// an attribute in quotes may say onerror=: it is text there
		if found := inline.FindString(quoted.ReplaceAllString(page, `""`)); found != "" &&
			!strings.Contains(found, "onerror=a") {
			t.Errorf("%s has %q in\n%s", path, found, page)
		}
		b.has(path, page, "not <script", "not <img", "not \x1b", "not \x00", "not \u202e")
	}
	b.has("the log", b.get("/runs/"+r.ID, 200), `<span class="f1">red&lt;b&gt;</span>`, "&lt;script&gt;alert(1)&lt;/script&gt;\noverdrawn \uFFFD")
}

var quoted = regexp.MustCompile(`"[^"]*"`)

// A form does what it says, and the sender and the reason are written down.
func TestAFormAsks(t *testing.T) {
	b := newBox(t, shop, serve.ScopeOperate)
	first := b.send("POST", "/tasks/hourly/trigger", url.Values{"reason": {"the price was wrong"}}, 303)
	b.has(first, b.get(first, 200), "waiting", "trigger by ada: the price was wrong")
	b.send("POST", "/tasks/hourly/pause", url.Values{"end": {"3600"}, "reason": {"moving"}}, 303)
	b.has("/pauses", b.get("/pauses", 200), "hourly", "moving", "in 1 h 0 m")
	b.has("/tasks?state=paused", b.get("/tasks?state=paused", 200), ">hourly</a>", "not >a/b</a>")
	b.send("POST", "/tasks/hourly/resume", url.Values{"reason": {"moved, à bientôt"}}, 303)
	b.send("POST", "/tasks/hourly/resume", nil, 303)
	b.send("POST", "/pauses", url.Values{}, 303)
	b.has("/pauses", b.get("/pauses", 200), "everything", "not Pause everything…")
	b.send("POST", "/pauses/everything/resume", nil, 303)
	b.has("/pauses", b.get("/pauses", 200), "Nothing is paused")
	audit := b.get("/audit", 200)
	b.has("/audit", audit, "the price was wrong", "moving", "moved, à bientôt")
	if n := strings.Count(audit, "<td data-label=\"did\">trigger"); n != 1 {
		t.Errorf("%d triggers are in the audit log", n)
	}
	done := b.Ended("hourly", 60, outcome.Failed, "")
	b.Remember(done)
	retry := b.send("POST", "/runs/"+done.ID+"/retry", nil, 303)
	b.has(retry, b.get(retry, 200), "waiting", "retry of")
	b.send("POST", "/runs/"+done.ID+"/stop", nil, 303) // it has ended: the page shows how
	b.has("a bad time", b.send("POST", "/tasks/hourly/pause", url.Values{"end": {"x"}}, 400),
		"until &#34;x&#34; is not a time")
}

// A pause ends after so long, or at a time in the zone of the page, which is sent as it is shown.
func TestAFormOffersWhenAPauseEnds(t *testing.T) {
	b := newBox(t, strings.Replace(shop, "timezone: UTC", "timezone: Pacific/Auckland", 1), serve.ScopeOperate)
	b.has("the dialog", b.get("/tasks/hourly", 200), `<option value="3600">for an hour</option>`,
		`<option value="2026-03-03T00:00:00+13:00">until tomorrow 00:00 (Mar 3)</option>`,
		`<option value="2026-03-03T09:00:00+13:00">until tomorrow 09:00 (Mar 3)</option>`,
		`<option value="2026-03-09T09:00:00+13:00">until Monday 09:00 (Mar 9)</option>`,
		`<option value="">until somebody resumes it</option>`)
	b.send("POST", "/tasks/hourly/pause", url.Values{"end": {"2026-03-03T09:00:00+13:00"}}, 303)
	b.has("/pauses", b.get("/pauses", 200), "hourly", `datetime="2026-03-02T20:00:00Z"`)
	b = newBox(t, shop, serve.ScopeOperate) // tomorrow is the Monday
	b.has("on a Sunday", b.get("/act?do=pause&task=hourly", 200), "until tomorrow 09:00 (Mar 2)", "not until Monday")
}

// A form has a field for each param. Of a param that nobody has changed nothing is kept.
func TestAFormAsksForParams(t *testing.T) {
	b := newBox(t, `tasks:
  - name: import
    every: day
    params: {DAY: yesterday, MODE: {default: full, values: [full, "<b>"]}}
    command: ./import.sh
  - {name: restore, command: ./restore.sh, params: {DAY: {pattern: '[0-9-]+'}}}
`, serve.ScopeOperate)
	b.has("the dialog", b.get("/tasks/import", 200), `<input name="param import DAY" value="yesterday"`,
		`<option selected>full</option><option>&lt;b&gt;</option>`, "default full, one of full, &lt;b&gt;")
	b.has("no default", b.get("/act?do=trigger&task=restore", 200), `<small>no default, matches [0-9-]+</small>`)
	form := url.Values{"param import DAY": {"today"}, "before import DAY": {"yesterday"}, "param import MODE": {"full"},
		"before import MODE": {"full"}, "param restore DAY": {"1"}}
	run := b.send("POST", "/tasks/import/trigger", form, 303)
	b.has(run, b.get(run, 200), "trigger by ada with DAY=today", "<code>DAY=today</code>", "not MODE")
	b.has("/audit", b.get("/audit", 200), "with DAY=today")
	b.send("POST", "/act", url.Values{"do": {"trigger"}, "target": {"restore"}, "param restore DAY": {"2026-11-01"}}, 303)
	b.has("a bad value", b.send("POST", "/tasks/restore/trigger", url.Values{"param restore DAY": {"$(reboot)"}}, 400),
		"does not match the pattern [0-9-]+")
	b.has("no value", b.send("POST", "/tasks/restore/trigger", nil, 400), "needs a value for DAY")
	form = url.Values{"param import DAY": {"a\nb"}, "before import DAY": {"yesterday"}, "param import MODE": {"<b>"},
		"before import MODE": {"full"}, "reason": {"last night's file"}}
	b.has("what was typed", b.send("POST", "/tasks/import/trigger", form, 400), `<form class="ask" method="post" action="/act">`,
		"✕ &#34;a\\nb&#34; is not one line of text</small>", `name="before import DAY" value="yesterday"`,
		"<option selected>&lt;b&gt;</option>", `value="last night&#39;s file"`)
	form = url.Values{"do": {"trigger"}, "target": {"import", "restore"}, "param restore DAY": {"x"}, "back": {"tag=a"}}
	b.has("one of two", b.send("POST", "/act", form, 409), "1 of 2 could not be done", "the rest is done",
		`name="target" value="restore"`, `not name="target" value="import"`, `value="x"`, `href="/tasks?tag=a"`,
		"✕ &#34;x&#34; does not match the pattern [0-9-]+</small>")

	done := b.Ended("import", 60, outcome.Failed, "")
	done.Params = map[string]string{"DAY": "today"}
	b.Remember(done)
	b.has("a retry", b.get("/runs/"+done.ID, 200), `<input name="param `+done.ID+` DAY" value="today"`)
	form = url.Values{"param " + done.ID + " MODE": {"<b>"}, "before " + done.ID + " MODE": {"full"}}
	wrong := url.Values{"param " + done.ID + " MODE": {"neither"}, "param " + done.ID + " DAY": {"today, too"}}
	b.has("a retry", b.send("POST", "/runs/"+done.ID+"/retry", wrong, 400), `value="today, too"`, "Its run",
		"✕ &#34;neither&#34; is not among its values", `<input type="hidden" name="target" value="`+done.ID+`">`)
	run = b.send("POST", "/runs/"+done.ID+"/retry", form, 303)
	b.has(run, b.get(run, 200), "<code>DAY=today</code>", "<code>MODE=&lt;b&gt;</code>")
}

func TestWhoMayNotActSeesNoButtonsAndCanSendNoForms(t *testing.T) {
	forms := regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	for _, tt := range []struct {
		who    string
		scope  serve.Scope
		config func(*serve.Config)
		status int // of a form that is sent all the same
	}{
		{"somebody with read", serve.ScopeRead, func(*serve.Config) {}, http.StatusForbidden},
		{"anybody where the server is read-only", serve.ScopeEdit,
			func(c *serve.Config) { c.ReadOnly = true }, http.StatusNotFound},
	} {
		b := newBox(t, shop, tt.scope, tt.config)
		r := b.Ended("hourly", 60, outcome.Failed, "")
		b.Remember(r)
		for _, path := range []string{"/", "/tasks/hourly", "/runs/" + r.ID, "/pauses"} {
			for _, form := range forms.FindAllStringSubmatch(b.get(path, 200), -1) {
				if form[1] != "/logout" && form[1] != "/zone" { // these change nothing of the schedule
					t.Errorf("%s: %s has a form for %s", tt.who, path, form[1])
				}
			}
		}
		for _, path := range []string{"/tasks/hourly/trigger", "/tasks/hourly/pause", "/pauses", "/act", "/runs/" +
			r.ID + "/stop", "/runs/" + r.ID + "/retry"} {
			b.send("POST", path, url.Values{"do": {"trigger"}, "target": {"hourly"}}, tt.status)
		}
	}
	b := newBox(t, shop, serve.ScopeOperate)
	b.send("POST", "/tasks/hourly/trigger", url.Values{}, http.StatusForbidden, "Sec-Fetch-Site", "cross-site")
	b.send("POST", "/tasks/hourly/trigger", url.Values{}, http.StatusForbidden, "Origin", "https://evil.example")
	b.token = ""
	b.send("GET", "/tasks/hourly", nil, http.StatusUnauthorized)
	if to := b.send("GET", "/tasks/hourly", nil, http.StatusSeeOther, "Authorization", ""); to != "/login" {
		t.Errorf("a browser without a session is sent to %s", to)
	}
	b.has("/login", b.send("GET", "/login", nil, 200, "Authorization", ""), "/assets/style.css")
	b.send("GET", "/assets/style.css", nil, 200, "Authorization", "")
}

func TestAListGoesOnWhereItEnded(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	var all []state.Row
	for i := range 120 {
		all = append(all, b.Ended("hourly", 60*(i+1), outcome.Succeeded, ""))
	}
	b.Remember(all...)
	older := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`)
	runs := regexp.MustCompile(`<a href="/runs/([0-9a-f-]+)"><code>`)
	var found []string
	for query := "?task=hourly"; query != ""; {
		page := b.get("/runs"+strings.ReplaceAll(query, "&amp;", "&"), 200)
		for _, m := range runs.FindAllStringSubmatch(page, -1) {
			found = append(found, m[1])
		}
		query = ""
		if m := older.FindStringSubmatch(page); m != nil {
			query = m[1]
		}
	}
	if len(found) != len(all) || !slices.IsSortedFunc(found, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("the pages list %d runs, want %d, the newest first", len(found), len(all))
	}
}

// The page of the tasks says what it lacks, and shows the rest.
func TestTheTasksSayThatTheirRunsCannotBeRead(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: a, every: minute, command: \"true\"}\n", serve.ScopeRead)
	older := b.Ended("a", 2, outcome.Succeeded, "")
	b.Remember(b.Ended("a", 1, outcome.Succeeded, ""), older)
	db, err := sql.Open("sqlite", b.Path(".sched/sched.db")) // the driver that package state uses
	if err == nil {
		_, err = db.Exec("UPDATE run SET started = 'when?' WHERE id = ?", older.ID) // the last run is whole
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.has("/tasks", b.get("/tasks", 200), "the history cannot be read", `data-label="last"><a`)
}

// A forecast takes seconds, and no run changes it: the script does not ask for it again.
func TestTheForecastStaysAsItIs(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: a, every: minute, command: \"true\"}\n", serve.ScopeRead)
	b.has("/forecast", b.get("/forecast", 200), `id="problems"`, "not data-live")
	b.has("/", b.get("/", 200), `id="problems" data-live`)
}

// The notes of a forecast come with hints, in the words of the command.
func TestAForecastSaysWhatToDo(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: a, every: hour, command: \"true\"}\n", serve.ScopeRead)
	source := pause.Source{Dir: b.State()}
	if err := source.Pause(func(pause.Pauses) pause.Pauses {
		return pause.Pauses{"a": {{Version: 1, By: "ada", Since: controltest.Now()}}}
	}); err != nil {
		t.Fatal(err)
	}
	b.has("/forecast", b.get("/forecast", 200), "1 task has no successful run on record", "paused without an end",
		"<small>sched resume a</small>")
	b.has("/api/v1/forecast", b.get("/api/v1/forecast", 200), `"hint": "sched resume a"`)
}

// Planned pauses are on the overview, on the page of their task, and in the list, where pauses of
// people can be taken back.
func TestPlannedPausesAreOnThePages(t *testing.T) {
	b := newBox(t, `timezone: UTC
pauses: [{every: day at 2:00, for: 4h, tasks: a, reason: backup}]
tasks:
  - {name: a, every: hour, command: "true"}
`, serve.ScopeOperate)
	source := pause.Source{Dir: b.State()}
	// after both clocks: a pause that was over for long is forgotten
	from := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	if err := source.Pause(func(pause.Pauses) pause.Pauses {
		return pause.Pauses{"a": {{Version: 1, By: "ada", Server: "web-1",
			Since: from, Until: from.Add(time.Hour), Planned: true, Reason: "patch day"}}}
	}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/tasks/a"} {
		b.has(path, b.get(path, 200), "paused by ada on web-1 from ", ": patch day",
			"paused by schedule.yaml from ", "planned</span>")
	}
	page := b.get("/pauses", 200)
	b.has("/pauses", page, "patch day", "backup", "planned</span>")
	if n := strings.Count(page, "Take back"); n != 1 {
		t.Errorf("%d pauses can be taken back", n)
	}
}

// An hour with trouble says so in words, and its link is reached by the keyboard.
func TestAnHourWithTroubleIsTold(t *testing.T) {
	b := newBox(t, "timezone: UTC\npools: {one: 1}\ntasks:\n  - {name: a, every: hour, pool: one, background: true, command: \"true\"}\n  - {name: b, every: hour, pool: one, background: true, command: \"true\"}\n", serve.ScopeRead)
	b.has("/forecast", b.get("/forecast", 200), `<b aria-hidden="true">!</b><span class="hidden"> late or skipped</span></a>`, `not tabindex="-1"`)
}

// The number of pages that are made at a time is bounded. Clients that ask for pages and do not
// read them keep nobody else from a page.
func TestSlowReaders(t *testing.T) {
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range tasksOfAPage {
		fmt.Fprintf(&text, "  - {name: task-%d, every: hour, command: \"true\", description: %q}\n",
			i, strings.Repeat("x", 100_000))
	}
	b := newBox(t, text.String(), serve.ScopeRead)
	for range 5 {
		conn, err := net.Dial("tcp", b.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(1)
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", b.token)
		conn.Read(make([]byte, 1)) // the answer has begun
	}
	begun := time.Now()
	b.has("/pauses", b.get("/pauses", 200), "Nothing is paused")
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("somebody else waited for %v", took)
	}
}

// A thousand tasks with a history are a page in 50 ms on a machine at rest. The fastest of some
// tries counts, and twice as much is allowed, because a machine that runs tests has other things to
// do.
func TestAThousandTasksAreAPageAtOnce(t *testing.T) {
	if machine.Slow(t); race {
		t.Skip("it measures")
	}
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  - {name: task-%04d, every: hour, command: \"true\"}\n", i)
	}
	b := newBox(t, text.String(), serve.ScopeOperate)
	var all []state.Row
	for i := range 1000 {
		for n := range 31 {
			all = append(all, b.Ended(fmt.Sprintf("task-%04d", i), 60*(n+1), outcome.Succeeded, ""))
		}
	}
	b.Remember(all...)
	for _, path := range []string{"/", "/tasks"} {
		best := time.Hour
		for tries := 0; tries < 40 && best > 50*time.Millisecond; tries++ {
			begin := time.Now()
			b.get(path, 200)
			best = min(best, time.Since(begin))
		}
		t.Logf("%s: %v", path, best)
		if best > 100*time.Millisecond {
			t.Errorf("%s took %v", path, best)
		}
	}
}

// Commands between backticks, as terminals show them, are code on pages. Nothing else is markup.
func TestBackticksBecomeCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no `sched run` came, see `sched why`": "no <code>sched run</code> came, see <code>sched why</code>",
		"`<b>` & <i>":                          "<code>&lt;b&gt;</code> &amp; &lt;i&gt;",
		"it printed: don`t":                    "it printed: don`t",
		"":                                     "",
	} {
		var b strings.Builder
		if err := worded(text).Render(t.Context(), &b); err != nil || b.String() != want {
			t.Errorf("%s: %s, %v", text, b.String(), err)
		}
	}
}
