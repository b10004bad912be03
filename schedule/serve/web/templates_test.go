package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/machine"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/proposal"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/testing/controltest"
)

// generatorVariable says whether a machine without the generator of templates fails the tests: with
// required it does, as in CI. With none the test does not look for it.
const generatorVariable = "SCHED_TEST_TEMPL"

// The generated code is what the generator makes of the templates.
func TestTemplatesAreGenerated(t *testing.T) {
	tool := exec.Command("go", "-C", "../../../packaging/tools", "tool", "-n", "templ")
	tool.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	path, err := tool.Output()
	switch wanted := os.Getenv(generatorVariable); {
	case wanted == "none", err != nil && wanted != "required":
		t.Skip("there is no generator")
	case err != nil:
		t.Fatal(err)
	}
	dir := t.TempDir()
	committed, err := filepath.Glob("*.templ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range committed {
		if err := os.WriteFile(filepath.Join(dir, name), read(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	generate := exec.Command(strings.TrimSpace(string(path)), "generate")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range committed {
		name = strings.TrimSuffix(name, ".templ") + "_templ.go"
		if !bytes.Equal(read(t, name), read(t, filepath.Join(dir, name))) {
			t.Errorf("%s is not what its template says: go generate ./schedule/serve/web", name)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every template is executed with values that reach the parts which few schedules have. The values
// hold markup: none of it comes through.
func TestEveryTemplateIsExecuted(t *testing.T) {
	const evil, verbatimEvil = `<b>"'` + "\u202e\n", "\n&lt;b&gt;&#34;&#39;&#8238;\n"
	b := newEditor(t, serve.ScopeEdit)
	r := httptest.NewRequest("GET", "http://127.0.0.1/tasks?q=%3Cb%3E&sort=-next", nil)
	r.Header.Set("Authorization", "Bearer "+b.token)
	var visit *serve.Visit
	b.server.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var err error
		if visit, _, err = serve.NewVisit(b.server, r, serve.ScopeEdit, serve.Quick); err != nil {
			t.Fatal(err)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
	visit.Who.Name, visit.Who.ByHeader = evil, true
	p, task := newPage(b.server, r, visit), &schedule.Task{Name: evil, Mutex: evil}
	p.title, p.zones.chosenZone = evil, evil
	at := humanize.UTC(controltest.Noon)
	row := state.Row{ID: evil, Task: evil, Slot: controltest.Noon, LastSlot: controltest.Noon.Add(time.Hour), Slots: 7,
		Started: controltest.Noon, Repeats: controltest.Noon, Origin: evil, Server: evil,
		Result: state.Result{Outcome: outcome.Failed, Reason: evil, Ended: controltest.Noon}}
	row.Attempt.Number, row.Wait.Waited = 2, time.Second
	ask := button{ID: "a", Label: evil, Effect: evil, Path: "/" + evil, Ends: []pauseEnd{{evil, evil}}, Grave: true, Tag: evil,
		Params: []paramField{{Name: evil, Means: evil, Values: []string{evil}}, {Name: evil, Value: evil, Has: true}}}
	list := &runList{page: p, OfAll: true, WithTask: true, OutcomeChips: []chip{{URL: "?", Label: evil, Count: 1}}}
	list.Lines = []runLine{{Row: row, List: list, Why: evil, Other: p.otherRun(row)},
		{Row: row, List: list, Folded: 3, Tasks: 2, OtherReasons: 1}}
	trouble := &verdict{"bad", "✕", evil, []pageTrouble{
		{Trouble: view.Trouble{Text: evil, Next: evil}}, {URL: "/servers", Page: evil}}}
	waiting := view.Waiting{Run: evil, At: at, Origin: evil}
	number, memory, seconds := 3, int64(1000), 1.5
	shown := view.Task{Name: evil, Running: []view.Running{{Run: evil, Host: evil, Since: at}},
		Waiting: []view.Waiting{waiting}, Planned: []view.Pause{{}}, Paused: &view.Pause{}}
	ended := runPage{page: p, Row: row, HasEnded: true, OtherRun: p.otherRun(row), Buttons: []button{ask},
		Earlier: &row, Later: &row, Progress: &progress{Longer: time.Second, Usual: time.Minute},
		Log: &runLog{page: p, Size: 1, Search: &search{Words: evil, Failed: evil, Bound: evil}, Text: templ.Raw("text"), Hooks: templ.Raw("hooks")},
		Run: view.Run{Attempt: 2, PID: &number, Hooked: 1, Hooks: []string{evil}, Record: view.Record{
			Limits: evil, ExitCode: &number, PeakMemory: &memory, Notes: []string{evil}, UserCPU: 1,
			Cause: &outcome.Cause{Task: evil, Run: evil}, Triggered: []outcome.Triggered{{Task: evil, Run: evil}}}}}
	queued, deferred := ended, ended
	queued.HasEnded, queued.Run.State, queued.Log = false, view.RunQueued, &runLog{page: p, Elsewhere: evil}
	queued.Waits, queued.HeldBy = evil, evil
	deferred.HasEnded, deferred.Run.State, deferred.Log = false, view.RunDeferred, &runLog{page: p, Unreadable: evil}
	deferred.At = new(p.Away(controltest.Noon, evil))
	late := forecast.Task{Task: task, LateRuns: 1, Skips: map[forecast.Skip]int{forecast.Overlap: 1}}
	report := forecast.Report{Basis: &forecast.Basis{Input: forecast.Input{Schedule: visit.Schedule, From: controltest.Noon,
		To: controltest.Noon.Add(time.Hour)}, Notes: []forecast.Note{{Text: evil, Hint: evil}}},
		Sums: &forecast.Sums{Tasks: []forecast.Task{late}, Hours: []forecast.Hour{{Start: controltest.Noon}}}}

	noon := controltest.Noon
	busy := view.Activity{From: noon.Add(-24 * time.Hour), To: noon, Missed: []state.Row{row}, Live: []state.Row{row},
		Buckets: []past.Bucket{{Begin: noon.Add(-time.Hour), Outcome: outcome.Succeeded, Runs: 1},
			{Begin: noon.Add(-time.Hour), Outcome: outcome.Failed, Runs: 1, Tasks: []string{evil}, Run: evil}}}

	executed := map[string]bool{}
	for _, tt := range []struct {
		name    string
		content templ.Component
	}{
		{"showWrong", showWrong(wrongPage{p, &serve.Problem{Detail: evil, Problems: []string{evil}}, evil})},
		{"showSite", showSite(sitePage{Broken: []string{evil}, Schedules: []summary{{Base: "/s/a", Name: evil,
			Wrong: &serve.Problem{Detail: evil, Problems: []string{evil}}, Verdict: trouble, Invalid: evil,
			Problems: []string{evil}}}})},
		{"showOverview", showOverview(overview{page: p, Verdict: trouble, More: 2, AllPaused: 9, MaxFailures: 3,
			Incidents: []view.Incident{{Trouble: view.Trouble{Task: evil, Text: evil}, Failures: 3, Printed: []string{evil}}},
			Unusual:   []view.Incident{{Trouble: view.Trouble{Task: evil, Kind: evil, Text: evil, Run: evil}}},
			Next:      []view.Upcoming{{Task: evil}}, Paused: []view.TaskPause{{}, {Task: evil}},
			Activity: newActivityStrip(p, busy), Well: []view.Success{{Task: evil, Runs: 1}}, WellRuns: 2, MoreWell: 1,
			Waiting: []waitingRun{{evil, waiting}}, Proposals: 2})},
		{"showTasks", showTasks(taskList{page: p, taskChips: taskChips{TagChips: []chip{{Label: evil}}},
			Verdict: trouble, Pages: &pager{1, 2, "?", "?"},
			Rows: []taskRow{{Task: shown, definition: task, Trouble: &view.Trouble{Kind: "failed", Text: evil}}}})},
		{"showConfirmation", showConfirmation(confirmation{page: p, Name: "retry", Ends: []pauseEnd{{evil, evil}}, Grave: true,
			Targets: []target{{taskRow: taskRow{Task: shown, definition: task}, Target: evil, Params: ask.Params}}})},
		{"showTask", showTask(taskPage{page: p, Task: task, Shown: shown, Buttons: []button{ask}, FullPool: evil,
			Answer:  view.Why{Maintenance: evil, Off: evil, Held: evil, Budget: evil, Failures: 2},
			Values:  []valuePlot{{Name: evil, Text: evil, Scale: []string{evil}, Lines: []valueLine{{Class: "bound", Means: evil}}, Picture: templ.Raw(""), Axis: templ.Raw("")}},
			Minutes: []minuteSlot{{"Next", &view.Minute{Clock: evil}, view.Slot{Says: evil}}},
			Plot:    &plot{Picture: templ.Raw("picture"), Axis: templ.Raw("axis"), Scale: []string{evil}, Runs: 1, Usual: time.Second}, NextAllowed: deferred.At, SuccessCodes: evil, NotEdited: evil,
			Delete: &ask, Runs: list, EverywhereURL: "/" + evil, Definition: view.Definition{
				Task: view.Task{TriggeredBy: []view.Chained{{Task: evil, On: evil}}, WithoutOverlapping: true, Pool: evil,
					Params: []schedule.Param{{Name: evil}}},
				Timeout: &seconds, StartDeadline: &seconds, Attempts: 2, Hooks: []view.Hook{{Key: evil, Does: evil}}}})},
		{"showRuns", showRuns(list)},
		{"showRuns", showRuns(&runList{page: p, Older: "?"})},
		{"showRun", showRun(ended)},
		{"showRun", showRun(queued)},
		{"showRun", showRun(deferred)},
		{"showTimeline", showTimeline(&timeline{page: p, Axis: templ.Raw("axis"), Spans: []chip{{}}, Rows: []timelineRow{{Name: evil, Group: evil,
			BeginsGroup: true, Text: evil, Picture: templ.Raw("picture")}}})},
		{"showForecast", showForecast(forecastPage{page: p, Report: report, MaxRows: 1, HasTrouble: true,
			Lengths: []lengthOption{{evil, evil, true}}})},
		{"showServers", showServers(serversPage{page: p, Servers: []listedServer{{view.Server{Name: evil, SharedName: true,
			Labels: []string{evil}, Environment: evil, More: 2}, view.ServerSilent, evil, evil, evil}, {}}, Gone: []state.Row{row}})},
		{"showServers", showServers(serversPage{page: p, Alone: true, LastTick: evil})},
		{"showServers", showServers(serversPage{page: p})},
		{"showMachine", showMachine(machinePage{page: p, Ticks: 2, List: &machine.List{LeftOut: []string{evil},
			Jobs: []machine.Job{{Place: evil, User: evil, When: evil, Off: evil, Command: evil}, {Next: new(at), Last: new(at)}},
			Odd:  []machine.Oddity{{Place: evil, Text: evil, Hint: evil}}}})},
		{"showMachine", showMachine(machinePage{page: p, List: &machine.List{}})},
		{"showPauses", showPauses(pausesPage{page: p, PauseAll: &ask, All: []serve.Pausing{{ID: evil}}})},
		{"showAudit", showAudit(auditPage{page: p, Older: "?", Changes: []view.Change{{Action: "stop", Target: "x", Error: evil},
			{Target: evil}}})},
		{"showProposals", showProposals(proposalsPage{p, []proposal.Proposal{{ID: evil, Task: evil, By: evil, Reason: evil}}})},
		{"showProposal", showProposal(proposalPage{page: p, Problem: &serve.Problem{Detail: evil, Hint: evil}})},
		{"showProposal", showProposal(proposalPage{page: p, Difference: []changedLine{{evil, "good"}}, Review: serve.Review{
			Proposal: proposal.Proposal{ID: evil, Task: evil, By: evil, Reason: evil}, Problems: []string{evil},
			Warnings: []string{evil}, Assertions: []serve.Proof{{Text: evil, Holds: true}}, Mutex: []string{evil},
			Changed: true, Before: &forecast.ForecastSums{}, After: &forecast.ForecastSums{}}})},
		{"showNew", showNew(newDraft(p, serve.Draft{Keys: evil}))},
		{"showEdit", showEdit(newDraft(p, serve.Draft{Keys: evil, Tag: evil, Name: evil}))},
		{"showDraft", showDraft(newDraft(p, serve.Draft{Problems: []schedule.Problem{{Text: evil, Place: schedule.Place{Line: 1}}}}))},
		{"showDraft", showDraft(&draftPage{page: p, Difference: []changedLine{{evil, "good"}}})},
		{"showDraft", showDraft(&draftPage{page: p, Problem: &serve.Problem{Detail: evil}})},
	} {
		whole, err := p.render(tt.content)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		executed[tt.name] = true
		page := strings.ReplaceAll(string(whole), verbatimEvil+"</textarea>", "")
		for _, unwanted := range []string{evil[:5], "about:invalid", "\u202e"} {
			if strings.Contains(page, unwanted) {
				t.Errorf("%s has %q in\n%s", tt.name, unwanted, page)
			}
		}
	}
	for _, show := range regexp.MustCompile(`\bshow[A-Z]\w+`).FindAllString(string(read(t, "pages.go")), -1) {
		if !executed[show] {
			t.Errorf("nothing executes %s", show)
		}
	}
}
