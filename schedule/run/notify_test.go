package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/load"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// An endedRuns is a machine on which runs of one task end, and put their notifications into the outbox.
type endedRuns struct {
	*testing.T
	dir  string
	task *schedule.Task
	now  time.Time
}

func newEndedRuns(t *testing.T, hook string) *endedRuns {
	dir := t.TempDir()
	text := "tasks:\n- {name: t, every: minute, command: x, on_failure: [" + hook + "]}\n"
	s, err := load.Text([]byte(text), filepath.Join(dir, "schedule.yaml"), load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &endedRuns{T: t, dir: s.StateDir, task: s.Tasks[0], now: time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)}
	before := clock.Now
	clock.Now = func() time.Time { return w.now }
	t.Cleanup(func() { clock.Now = before })
	return w
}

// fails ends a run. queue puts its notifications into the outbox.
func (w *endedRuns) fails() (*Run, outcome.Record) {
	record := outcome.Record{Run: outcome.NewID(), Task: "t", Mutex: "t", Slot: w.now, Server: "here"}
	r, err := Caller{Storage: Storage{Dir: w.dir}}.Begin(record, w.task, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { r.Close() })
	record.Outcome, record.Started, record.Ended = outcome.Failed, w.now, w.now
	return r, record
}

// queue puts the notifications of a run into the outbox, except those that are marked.
func (w *endedRuns) queue(r *Run, record outcome.Record, marks ...string) {
	state := runfile.State{Hooks: map[string]bool{}}
	for _, mark := range marks {
		state.Hooks[mark] = true
	}
	r.hooks.queue(keyedHooks{"on_failure", w.task.Hooks.OnFailure}, state, record)
}

// kept, draft and held name the files of an outbox: of a delivery, of one that is not complete, and of what at_most holds
// back of a hook.
func kept(dir, name string) string  { return filepath.Join(dir, "outbox", name+".json") }
func draft(dir, name string) string { return filepath.Join(dir, "outbox", ".draft-"+name+".json") }
func held(dir, hook string) string  { return filepath.Join(dir, "outbox", hook+".held") }

// deliveries returns what is in the outbox.
func (w *endedRuns) deliveries() (deliveries []outbox.Delivery) {
	w.Helper()
	names, _, err := outbox.In(w.dir).List()
	if err != nil {
		w.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(kept(w.dir, name))
		if err != nil {
			w.Fatal(err)
		}
		var l outbox.Delivery
		if err := json.Unmarshal([]byte(strings.SplitN(string(text), "\n", 2)[0]), &l); err != nil {
			w.Fatal(err)
		}
		deliveries = append(deliveries, l)
	}
	return deliveries
}

func (w *endedRuns) has(n int) []outbox.Delivery {
	w.Helper()
	deliveries := w.deliveries()
	if len(deliveries) != n {
		w.Fatalf("%d deliveries, not %d: %+v", len(deliveries), n, deliveries)
	}
	return deliveries
}

// marked reports whether the run's file says that the hook fired.
func (w *endedRuns) marked(r *Run, hook string) bool {
	text, err := os.ReadFile(runfile.Path(w.dir, r.Record().Run))
	return err == nil && strings.Contains(string(text), `{"hook":"`+hook+`"}`)
}

// A finish may be killed between any two of its steps, and the next one begins again. However far it came,
// there is one delivery in the end.
func TestANotificationIsPutIntoTheOutboxOnce(t *testing.T) {
	const mark = "on_failure 1"
	for _, row := range []struct {
		name   string
		undo   func(dir, name string) // makes of the state in the end that at the moment of the kill
		marked bool
		want   int
	}{
		{"before the draft", func(dir, name string) { os.Remove(kept(dir, name)) }, false, 1},
		{"in the middle of the draft", func(dir, name string) {
			os.Remove(kept(dir, name))
			os.WriteFile(draft(dir, name), []byte(`{"hook":`), 0o600)
		}, false, 1},
		{"before the mark", func(dir, name string) { os.Rename(kept(dir, name), draft(dir, name)) }, false, 1},
		{"after the mark", func(dir, name string) { os.Rename(kept(dir, name), draft(dir, name)) }, true, 1},
		{"when it was published", func(dir, name string) {}, true, 1},
		{"when it was delivered", func(dir, name string) { os.Remove(kept(dir, name)) }, true, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newEndedRuns(t, "{mail: ops@example.com}")
			r, record := w.fails()
			w.queue(r, record)
			deliveries := w.has(1)
			if !w.marked(r, mark) {
				t.Fatal("there is no mark")
			}
			row.undo(w.dir, deliveries[0].Message.ID)
			if row.marked {
				w.queue(r, record, mark)
			} else {
				w.queue(r, record)
			}
			w.has(row.want)
			if drafts, _ := filepath.Glob(draft(w.dir, "*")); len(drafts) > 0 {
				t.Errorf("drafts are left: %v", drafts)
			}
		})
	}
}

// What at_most lets through and what it counts is the same when a finish was killed and begins again.
func TestALimitCountsEachRunOnce(t *testing.T) {
	w := newEndedRuns(t, "{mail: ops@example.com, at_most: 1 per 1h}")
	dir := w.dir
	box := outbox.In(dir)
	r, record := w.fails()
	w.queue(r, record)
	first := w.has(1)[0]
	os.Remove(kept(dir, first.Message.ID)) // killed before the draft was written
	w.queue(r, record)
	if again := w.has(1)[0]; again.Message.ID != first.Message.ID || again.Message.HeldBack != 0 {
		t.Errorf("the second is %+v", again.Message)
	}
	os.Remove(kept(dir, first.Message.ID)) // delivered

	for range 3 {
		w.now = w.now.Add(time.Minute)
		r, record = w.fails()
		w.queue(r, record)
		w.queue(r, record) // killed before the mark
		w.has(0)
	}
	w.now = w.now.Add(time.Hour)
	r, record = w.fails()
	w.queue(r, record)
	last := w.has(1)[0]
	if last.Message.HeldBack != 3 || !last.Message.HeldSince.Equal(time.Date(2026, 1, 1, 10, 1, 0, 0, time.UTC)) {
		t.Errorf("the one after an hour is %+v", last.Message)
	}
	if _, held, _ := box.List(); len(held) != 0 {
		t.Errorf("what was counted is held back on: %v", held)
	}
}

// A finish may be killed after it took over the number of messages that were held back, and before these were forgotten. When it
// begins again it has the same number, and no other message has it.
func TestTheNumberOfMessagesHeldBackIsSentOnce(t *testing.T) {
	w := newEndedRuns(t, "{mail: ops@example.com, at_most: 1 per 1h}")
	dir := w.dir
	box := outbox.In(dir)
	var text []byte
	for range 3 {
		r, record := w.fails()
		w.queue(r, record)
		w.now = w.now.Add(time.Minute)
	}
	os.Remove(kept(dir, w.has(1)[0].Message.ID))
	hook := outbox.Name("t", "on_failure 1", "", false)[:16]
	text, err := os.ReadFile(held(dir, hook))
	if err != nil {
		t.Fatal(err)
	}

	w.now = w.now.Add(time.Hour)
	r, record := w.fails()
	w.queue(r, record)
	killed := w.has(1)[0]
	if killed.Message.HeldBack != 2 {
		t.Errorf("%d were held back", killed.Message.HeldBack)
	}
	os.Remove(kept(dir, killed.Message.ID))
	os.WriteFile(held(dir, hook), text, 0o600) // as at the moment of the kill
	w.queue(r, record)
	if again := w.has(1)[0]; again.Message.HeldBack != 2 {
		t.Errorf("it begins again, and %d were held back", again.Message.HeldBack)
	}
	os.WriteFile(held(dir, hook), text, 0o600) // killed just before they are forgotten
	if name, err := box.ReleaseHeld(hook); name != "" || err != nil {
		t.Errorf("a tick sends them, too: %s, %v", name, err)
	}
	os.WriteFile(held(dir, hook), text, 0o600)
	w.now = w.now.Add(time.Minute)
	r, record = w.fails()
	w.queue(r, record)
	w.now = w.now.Add(2 * time.Hour)
	name, err := box.ReleaseHeld(hook)
	if err != nil || name == "" {
		t.Fatalf("%q, %v", name, err)
	}
	for _, l := range w.has(2) {
		if l.Message.ID == name && l.Message.HeldBack != 0 {
			t.Errorf("%d were counted twice", l.Message.HeldBack)
		}
	}
}
