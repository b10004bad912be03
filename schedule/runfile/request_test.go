package runfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
)

func ask(t *testing.T, dir string, after time.Duration) Request {
	t.Helper()
	at := time.Now().Add(after).UTC().Truncate(time.Microsecond)
	r := Request{Run: outcome.NewIDAt(at), Task: "report", At: at, Origin: "trigger by somebody"}
	r.Dir = dir
	if err := AddRequest(dir, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRequestsComeInTheOrderOfTheirTimes(t *testing.T) {
	dir := t.TempDir()
	if none, err := Requests(dir); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	later, now, soon := ask(t, dir, time.Hour), ask(t, dir, 0), ask(t, dir, time.Second)
	got, err := Requests(dir)
	if want := []Request{now, soon, later}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, not %+v (%v)", got, want, err)
	}
}

// The id of a run that is asked for sorts by the time for which it is asked.
func TestAnIDOfAnotherTime(t *testing.T) {
	at := time.Date(2031, 5, 6, 7, 8, 9, 10e6, time.UTC)
	if got := outcome.Begun(outcome.NewIDAt(at)); !got.Equal(at) {
		t.Errorf("%s, not %s", got, at)
	}
	if a, b := outcome.NewIDAt(at), outcome.NewIDAt(at); a == b || a < outcome.NewID() {
		t.Errorf("%s, %s", a, b)
	}
}

func TestARequestBecomesARunOnce(t *testing.T) {
	dir := t.TempDir()
	r := ask(t, dir, 0)
	taken, err := TakeRequest(dir, r.Run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeRequest(dir, r.Run); !errors.Is(err, ErrAlive) {
		t.Errorf("two have it: %v", err)
	}
	run, err := taken.Begin(outcome.Record{Run: r.Run, Task: r.Task})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeRequest(dir, r.Run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it still waits: %v", err)
	}
	if state, alive, err := Read(dir, r.Run); !alive || err != nil || state.Begin.Task != "report" {
		t.Errorf("%+v, %v, %v", state, alive, err)
	}
	run.Close()
	if _, alive, _ := Read(dir, r.Run); alive {
		t.Error("somebody watches a run that was closed")
	}
}

// A tick that is killed after it wrote the beginning of the run and before it moved the file leaves a request.
func TestABeginningThatFailed(t *testing.T) {
	dir := t.TempDir()
	r := ask(t, dir, 0)
	if err := os.WriteFile(runsDir(dir), nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	taken, err := TakeRequest(dir, r.Run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := taken.Begin(outcome.Record{Run: r.Run, Task: "first"}); err == nil {
		t.Fatal("it has begun")
	}
	if err := taken.NoteHeld(r.At.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	taken.Close()
	os.Remove(runsDir(dir))

	taken, err = TakeRequest(dir, r.Run)
	if err != nil || taken.Origin != r.Origin || !taken.HeldSince.Equal(r.At.Add(time.Minute)) {
		t.Fatalf("%+v, %v", taken, err)
	}
	if err := taken.Refuse(outcome.Record{Run: r.Run, Task: "second", Outcome: outcome.Skipped}); err != nil {
		t.Fatal(err)
	}
	if state, alive, err := Read(dir, r.Run); alive || err != nil || state.Begin.Task != "second" || state.End == nil || state.End.Outcome != outcome.Skipped {
		t.Errorf("%+v, %v, %v", state, alive, err)
	}
}

// What waits for ever would be worse than what is said every minute.
func TestARequestThatCannotBeReadIsTold(t *testing.T) {
	dir := t.TempDir()
	good := ask(t, dir, 0)
	if err := os.WriteFile(filepath.Join(waitingDir(dir), "torn.json"), []byte(`{"request":{"ru`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Requests(dir)
	if len(got) != 1 || got[0] != good || err == nil || err.Error() != "the request waiting/torn.json cannot be read; remove it" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhichRunsWaitForATick(t *testing.T) {
	wait := &Deferral{Attempt: 2}
	for _, row := range []struct {
		about string
		state State
		want  bool
	}{
		{"a run without a wait", State{Attempt: &Attempt{Number: 1}}, false},
		{"its second attempt was put off", State{Attempt: &Attempt{Number: 1}, Deferral: wait}, true},
		{"the second attempt is about to start", State{Attempt: &Attempt{Number: 2}, Deferral: wait}, false},
		{"the third attempt was put off, too", State{Attempt: &Attempt{Number: 2}, Deferral: &Deferral{Attempt: 3}}, true},
		{"it was given up", State{Attempt: &Attempt{Number: 1}, Deferral: wait, Result: &outcome.Record{}}, false},
		{"it has ended", State{Attempt: &Attempt{Number: 1}, Deferral: wait, End: &outcome.Record{}}, false},
	} {
		if got := row.state.Deferred(); got != row.want {
			t.Errorf("%s: %v", row.about, got)
		}
	}
}

func TestARequestToStopIsFoundByTheRunAndByWhoObservesIt(t *testing.T) {
	dir := t.TempDir()
	run, err := Create(dir, outcome.Record{Run: "b", Task: "report"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	o, err := Observe(dir, "b")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, asked := run.StopRequested(); asked {
		t.Error("nobody has asked")
	}
	if err := o.RequestStop(StopRequest{By: "me"}); err != nil {
		t.Fatal(err)
	}
	if stop, asked := run.StopRequested(); !asked || stop.By != "me" {
		t.Errorf("%+v, %v", stop, asked)
	}
	if state, alive, err := o.Read(); !alive || err != nil || state.Stop == nil || state.Stop.By != "me" {
		t.Errorf("%+v, %v, %v", state, alive, err)
	}
}

// Each process that goes on with a run finds the request, whenever it came.
func TestARequestToStopIsFoundAmongManyEvents(t *testing.T) {
	dir := t.TempDir()
	run, err := Create(dir, outcome.Record{Run: "a", Task: "report"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	many := func() {
		for range 100 {
			if err := run.Append(Event{Note: strings.Repeat("x", 200)}); err != nil {
				t.Fatal(err)
			}
			if _, asked := run.StopRequested(); asked {
				t.Fatal("nobody has asked")
			}
		}
	}
	many()
	o, err := Observe(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.RequestStop(StopRequest{By: "me"}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		run.Append(Event{Note: strings.Repeat("x", 200)})
	}
	for _, process := range []string{"the process that began it", "its supervisor"} {
		for range 2 {
			if stop, asked := run.StopRequested(); !asked || stop.By != "me" {
				t.Errorf("%s finds %+v, %v", process, stop, asked)
			}
		}
		if run, _, err = Inherit(run.file); err != nil {
			t.Fatal(err)
		}
	}
}
