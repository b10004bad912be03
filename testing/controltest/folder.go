// Package controltest is a schedule in a folder, with a history, for tests of packages that read
// schedules or act on them.
package controltest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/control"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/schedule/view"
)

// Noon is what the clock shows.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Now returns Noon.
func Now() time.Time { return Noon }

// A Folder is a schedule in a folder of its own, on the machine web-1.
type Folder struct {
	testing.TB
	Dir   string
	Store mutex.Store // View reads it; may be nil
}

// NewFolder writes schedule.yaml into a new folder.
func NewFolder(t testing.TB, text string) *Folder {
	t.Helper()
	f := &Folder{TB: t, Dir: t.TempDir()}
	f.Write("schedule.yaml", text)
	return f
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// State returns the path of the state folder, which need not exist.
func (f *Folder) State() string { return f.Path(".sched") }

// Write writes a file in the folder.
func (f *Folder) Write(name, text string) {
	f.Helper()
	if err := os.WriteFile(f.Path(name), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

// Check reads the schedule as if some files, by path, had another text.
func (f *Folder) Check(files map[string][]byte) (*schedule.Schedule, error) {
	return load.File(f.Path("schedule.yaml"), load.Options{Texts: files})
}

// Load reads the schedule. An invalid schedule is an error, because no earlier one was valid.
func (f *Folder) Load() (valid *schedule.Schedule, invalid, err error) {
	s, err := f.Check(nil)
	return s, nil, err
}

// View returns a source that reads a schedule of the folder.
func (f *Folder) View(s *schedule.Schedule) view.Source {
	return view.Source{Schedule: s, Environ: os.Environ(), Controls: pause.Source{Dir: s.StateDir, Store: f.Store, ReadOnly: true},
		Now: Now, Server: "web-1"}
}

// Actor returns somebody who asks ticks for something.
func (f *Folder) Actor(s *schedule.Schedule, by string) control.Actor {
	source := f.View(s)
	source.Controls.ReadOnly = false
	return control.Actor{Source: source, By: by}
}

// Runs returns a caller that stops runs.
func (f *Folder) Runs(s *schedule.Schedule) run.Caller {
	return run.NewCaller(holding.StorageAt(s.StateDir, nil), state.Tick, nil)
}

// Ended returns the record of a run with its output. The slot of the run was so many minutes before
// Noon. Remember puts the record into the history.
func (f *Folder) Ended(task string, ago int, as outcome.Outcome, printed string) state.Row {
	slot := Noon.Add(-time.Duration(ago) * time.Minute)
	r := state.Row{ID: outcome.NewIDAt(slot), Task: task, Mutex: task, Slot: slot,
		Result: state.Result{Ended: slot, Outcome: as}, Server: "web-1", Attempt: state.Attempt{Number: 1}}
	if r.Ran() {
		r.Started, r.Ended = slot.Add(time.Second), slot.Add(3*time.Second)
	}
	if printed != "" {
		r.Output = output.Path(f.State(), r)
		os.MkdirAll(filepath.Dir(r.Output), 0o700)
		os.WriteFile(r.Output, []byte(printed), 0o600)
	}
	return r
}

// Remember puts records into the history.
func (f *Folder) Remember(records ...state.Row) {
	f.Helper()
	db, err := state.Open(f.State(), state.Patience)
	if err == nil {
		err = db.Runs().Record(context.Background(), records, false)
		db.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
}

// Running is a run of a task that began at Noon, as its server announces it.
func Running(task string) cluster.Running {
	return cluster.Running{Run: outcome.NewIDAt(Noon), Task: task, Slot: Noon, PID: 7, Since: Noon}
}

// Elsewhere announces another server in the store, and publishes runs that ended there. The last
// record of a task is its last run.
func (f *Folder) Elsewhere(s cluster.Server, ended ...state.Row) {
	f.Helper()
	last := map[string]state.Row{}
	for i := range ended {
		ended[i].Server = s.Name
		last[ended[i].Task] = ended[i]
	}
	_, _, err := cluster.Announce(context.Background(), f.Store, time.Now, s)
	if err == nil {
		err = cluster.Publish(context.Background(), f.Store, ended, last)
	}
	if err != nil {
		f.Fatal(err)
	}
}
