package web

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/testing/controltest"
)

// Every template is executed with values that reach the parts which few schedules have. The values
// hold markup: none of it comes through.
func TestEveryTemplateIsExecuted(t *testing.T) {
	const evil = `<b>"'` + "\u202e\n"
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
	at := controltest.Noon.Format(time.RFC3339)
	row := state.Row{ID: evil, Task: evil, Slot: controltest.Noon, LastSlot: controltest.Noon.Add(time.Hour), Slots: 7,
		Started: controltest.Noon, Repeats: controltest.Noon, Origin: evil, Server: evil,
		Result: state.Result{Outcome: outcome.Failed, Reason: evil, Ended: controltest.Noon}}
	row.Attempt.Number, row.Wait.Waited = 2, time.Second
	ask := button{ID: "a", Label: evil, Effect: evil, Path: "/" + evil, HowLong: true, Grave: true, Tag: evil,
		Params: []paramField{{Name: evil, Means: evil, Values: []string{evil}}, {Name: evil, Value: evil, Has: true}}}
	list := &runList{page: p, OfAll: true, WithTask: true, OutcomeChips: []chip{{URL: "?", Label: evil, Count: 1}}}
	list.Lines = []runLine{{Row: row, List: list, Why: evil, Other: p.otherRun(row)},
		{Row: row, List: list, Folded: 3, Tasks: 2, OtherReasons: 1}}
	trouble := &verdict{"bad", "✕", evil, []view.Trouble{{Text: evil, Next: evil}}}
	waiting := view.Waiting{Run: evil, At: at, Time: controltest.Noon, Origin: evil}
	number, memory, seconds := 3, int64(1000), 1.5
	shown := view.Task{Name: evil, Running: []view.Running{{Run: evil, Host: evil, Began: controltest.Noon}},
		Waiting: []view.Waiting{waiting}, Planned: []view.Pause{{}}, Paused: &view.Pause{}}
	ended := runPage{page: p, Row: row, HasEnded: true, OtherRun: p.otherRun(row), Buttons: []button{ask},
		Earlier: &row, Later: &row, Progress: &progress{Longer: time.Second, Usual: time.Minute},
		Log: &runLog{page: p, Size: 1, Search: &search{Words: evil, Failed: evil, Bound: evil}, Hooks: "hooks"},
		Run: view.Run{Attempt: 2, PID: &number, Hooked: 1, Hooks: []string{evil}, Record: view.Record{
			Limits: evil, ExitCode: &number, PeakMemory: &memory, Notes: []string{evil}, UserCPU: 1,
			Cause: &outcome.Cause{Task: evil, Run: evil}, Triggered: []outcome.Triggered{{Task: evil, Run: evil}}}}}
	queued, deferred := ended, ended
	queued.HasEnded, queued.Run.State, queued.Log = false, view.RunQueued, &runLog{page: p, Elsewhere: evil}
	deferred.HasEnded, deferred.Run.State, deferred.Log = false, view.RunDeferred, &runLog{page: p, Unreadable: evil}
	deferred.At = new(p.Away(controltest.Noon, evil))
	late := forecast.Task{Task: task, LateRuns: 1, Skips: map[forecast.Skip]int{forecast.Overlap: 1}}
	report := forecast.Report{Basis: &forecast.Basis{Input: forecast.Input{Schedule: visit.Schedule, From: controltest.Noon,
		To: controltest.Noon.Add(time.Hour)}, Notes: []forecast.Note{{Text: evil, Hint: evil}}},
		Sums: &forecast.Sums{Tasks: []forecast.Task{late}, Hours: []forecast.Hour{{Start: controltest.Noon}}}}

	executed := map[string]bool{}
	for _, tt := range []struct {
		name   string
		values any
	}{
		{"wrong", wrongPage{p, &serve.Problem{Detail: evil, Problems: []string{evil}}, evil}},
		{"schedules", map[string]any{"Broken": []string{evil}, "Schedules": []summary{{Base: "/s/a", Name: evil,
			Wrong: &serve.Problem{Detail: evil, Problems: []string{evil}}, Verdict: trouble, Invalid: evil,
			Problems: []string{evil}}}}},
		{"overview", overview{page: p, Verdict: trouble, More: 2, AllPaused: 9, MaxFailures: 3,
			Incidents: []view.Incident{{Trouble: view.Trouble{Task: evil, Text: evil}, Failures: 3, Printed: []string{evil}}},
			Next:      []view.Upcoming{{Task: evil}}, Paused: []view.TaskPause{{}, {Task: evil}}}},
		{"tasks", taskList{page: p, taskChips: taskChips{TagChips: []chip{{Label: evil}}}, Path: "/tasks",
			Verdict: trouble, Pages: &pager{1, 2, "?", "?"},
			Rows: []taskRow{{Task: shown, definition: task, Trouble: &view.Trouble{Kind: "failed", Text: evil}}}}},
		{"confirm", confirmation{page: p, Name: "retry", HowLong: true, Grave: true,
			Targets: []target{{taskRow: taskRow{Task: shown, definition: task}, Target: evil, Params: ask.Params}}}},
		{"task", taskPage{page: p, Task: task, Shown: shown, Buttons: []button{ask}, FullPool: evil,
			Answer:  view.Why{Maintenance: evil, Off: evil, Held: evil, Failures: 2},
			Minutes: []minuteSlot{{"Next", &view.Minute{Clock: evil}, view.Slot{Says: evil}}},
			Plot:    &plot{Runs: 1, Usual: time.Second}, NextAllowed: deferred.At, SuccessCodes: evil, NotEdited: evil,
			Delete: &ask, Runs: list, EverywhereURL: "/" + evil, Definition: view.Definition{
				Task: view.Task{TriggeredBy: []view.Chained{{Task: evil, On: evil}}, WithoutOverlapping: true, Pool: evil,
					Params: []schedule.Param{{Name: evil}}},
				Timeout: &seconds, StartDeadline: &seconds, Attempts: 2, Hooks: []view.Hook{{Key: evil, Does: evil}}}}},
		{"runs", list},
		{"runs", &runList{page: p, Older: "?"}},
		{"run", ended},
		{"run", queued},
		{"run", deferred},
		{"timeline", &timeline{page: p, Path: "/timeline", Spans: []chip{{}}, Rows: []timelineRow{{Name: evil, Group: evil,
			BeginsGroup: true, Text: evil}}}},
		{"forecast", forecastPage{page: p, Report: report, MaxRows: 1, HasTrouble: true,
			Lengths: []lengthOption{{evil, evil, true}}}},
		{"servers", serversPage{page: p, Servers: []listedServer{{view.Server{Name: evil, SharedName: true,
			Environment: evil, More: 2}, evil, evil}, {}}}},
		{"servers", serversPage{page: p}},
		{"pauses", pausesPage{page: p, PauseAll: &ask, All: []serve.Pausing{{ID: evil}}}},
		{"audit", auditPage{page: p, Older: "?", Changes: []view.Change{{Action: "stop", Target: "x", Error: evil},
			{Target: evil}}}},
		{"new", newDraft(p, serve.Draft{Keys: evil})},
		{"edit", newDraft(p, serve.Draft{Keys: evil, Tag: evil, Name: evil})},
		{"draft", newDraft(p, serve.Draft{Problems: []schedule.Problem{{Text: evil, Place: schedule.Place{Line: 1}}}})},
		{"draft", &draftPage{page: p, Difference: []changedLine{{evil, "good"}}}},
		{"draft", &draftPage{page: p, Problem: &serve.Problem{Detail: evil}}},
	} {
		whole, err := p.render(tt.name+".html", tt.values)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		page := strings.ReplaceAll(string(whole), "\n"+template.HTMLEscapeString(evil)+"</textarea>", "")
		for _, unwanted := range []string{evil[:5], "ZgotmplZ", "\u202e"} {
			if strings.Contains(page, unwanted) {
				t.Errorf("%s has %q in\n%s", tt.name, unwanted, page)
			}
		}
		executed[tt.name+".html"] = true
	}
	files, err := pageFiles.ReadDir("pages")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !executed[file.Name()] && file.Name() != "layout.html" && file.Name() != "parts.html" {
			t.Errorf("nothing executes %s", file.Name())
		}
	}
}
