package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/testing/schedtest"
)

// A real tick does with twelve tasks what was foreseen: which tasks start, which skip, in which
// order foreground tasks start, and when, within a second. A tick of a given minute (--at) does not
// wait and is never late, so lateness is counted from its beginning.
func TestATickDoesWhatWasForeseen(t *testing.T) {
	schedtest.Unhurried(t, func(slow func(string, ...any)) { tellOfATick(t, slow) })
}

func tellOfATick(t *testing.T, slow func(string, ...any)) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("timezone: UTC\nstate_dir: state\ntasks:\n")
	var known []state.Row // a run of each task, the day before
	before := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for i := range 3 {
		for _, kind := range []struct{ name, took, keys string }{
			{"queue", "0.4", ""},
			{"beside", "0.2", ", background: true"},
			{"mutex", "2.5", ", background: true, without_overlapping: true, mutex: m"},
			{"sundays", "0", ", days: [sunday]"},
		} {
			name := fmt.Sprintf("%s-%d", kind.name, i)
			fmt.Fprintf(&text, "- {name: %s, cron: \"* * * * *\", command: [sleep, %q]%s}\n",
				name, kind.took, kind.keys)
			took, err := time.ParseDuration(kind.took + "s")
			if err != nil {
				t.Fatal(err)
			}
			known = append(known, state.Row{ID: outcome.NewIDAt(before), Task: name, Mutex: name,
				Slot: before, Started: before,
				Result: state.Result{Ended: before.Add(took), Outcome: outcome.Succeeded}, Server: "web-1",
				Attempt: state.Attempt{Number: 1}})
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "schedule.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []struct {
		Task, Skipped string
		Lateness      float64
	}
	remember(t, filepath.Join(dir, "state"), known)
	askJSON(t, dir, &said, "forecast", "--slots", "--json", "--since", "2026-03-02 10:00", "--for", "1m")
	callSched(t, dir, "run", "-q", "--at", "2026-03-02 10:00")
	became := ended(t, filepath.Join(dir, "state"), len(said), before)
	var begun time.Time // the first start
	for _, r := range became {
		if !r.Started.IsZero() && (begun.IsZero() || r.Started.Before(begun)) {
			begun = r.Started
		}
	}
	if len(said) != 12 {
		t.Fatalf("%d slots were foreseen: %v", len(said), said)
	}
	var order []string
	for _, s := range said {
		r := became[s.Task]
		if r.Outcome != map[bool]outcome.Outcome{true: outcome.Succeeded, false: outcome.Skipped}[s.Skipped == ""] {
			slow("%s: foreseen as %q, and it %s %s", s.Task, s.Skipped, r.Outcome, r.Reason)
		}
		if s.Skipped != "" {
			continue
		}
		if off := r.Started.Sub(begun).Seconds() - s.Lateness; off < -1 || off > 1 {
			slow("%s: foreseen to start after %.1f s, and it is off by %.2f s", s.Task, s.Lateness, off)
		}
		if strings.HasPrefix(s.Task, "queue") {
			order = append(order, s.Task)
		}
	}
	if !slices.IsSortedFunc(order, func(a, b string) int { return became[a].Started.Compare(became[b].Started) }) {
		t.Errorf("foreseen in the order %v: %v", order, became)
	}
}

// remember puts records into the history of a state folder.
func remember(t *testing.T, dir string, known []state.Row) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := state.Open(dir, state.Patience)
	if err == nil {
		err = errors.Join(db.Runs().Record(t.Context(), known, false), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ended returns the records of a state folder by task, of slots after a time, when there are so
// many.
func ended(t *testing.T, dir string, tasks int, after time.Time) map[string]state.Row {
	t.Helper()
	became := map[string]state.Row{}
	for end := time.Now().Add(schedtest.Patience); len(became) < tasks && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		all, err := view.OpenRecords(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		found, err := all.Find(t.Context(), past.Query{})
		if err := errors.Join(err, all.Close()); err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			if r.Slot.After(after) {
				became[r.Task] = r
			}
		}
	}
	return became
}

// callSched runs sched in a folder and returns what it prints.
func callSched(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	c := exec.Command(schedtest.Binary, args...)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatalf("sched %v: %v", args, err)
	}
	return out
}

// askJSON reads what sched prints as JSON.
func askJSON(t *testing.T, dir string, into any, args ...string) {
	t.Helper()
	if err := json.Unmarshal(callSched(t, dir, args...), into); err != nil {
		t.Fatal(err)
	}
}
