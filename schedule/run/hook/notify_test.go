package hook

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

// An endedRuns is a machine on which runs of one task end, and put their notifications into the
// outbox.
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
func (w *endedRuns) fails() (*Hooks, state.Row) {
	row := state.Row{ID: outcome.NewID(), Task: "t", Mutex: "t", Slot: w.now, Server: "here", Snapshot: []byte("{}")}
	storage := holding.StorageAt(w.dir, nil)
	w.Cleanup(func() { storage.DB.Close() })
	self := storage.DB.Self(state.Tick)
	own, err := self.Owned(w.Context())
	if err == nil {
		err = own.Begin(w.Context(), row)
	}
	if err != nil {
		w.Fatal(err)
	}
	written := ownrow.New(self, row)
	written.As = own
	from := &holding.Process{Storage: storage, Self: self, Sender: notify.NewSender(w.Context(), storage.DB, nil)}
	row.Outcome, row.Started, row.Ended = outcome.Failed, w.now, w.now
	return New(from, w.task, &written, nil), row
}

// queueMessages puts the notifications of a run into the outbox, except notifications that are
// marked. It returns the notifications that are to be sent.
func (w *endedRuns) queue(h *Hooks, row state.Row, marks ...string) []*notify.Delivery {
	for _, mark := range marks {
		h.marks.markEnded(mark, "")
	}
	h.deliveries = nil
	h.queueMessages(keyedHooks{key: "on_failure", hooks: w.task.Hooks.OnFailure}, row)
	return h.deliveries
}

// waiting returns how many notifications wait.
func (w *endedRuns) waiting() int {
	w.Helper()
	db, err := state.OpenRead(w.dir, state.Patience)
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	n, err := db.Messages().Waiting(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// A finish may be killed before or after the mark, and the next one begins again. There is one
// notification in the end.
func TestANotificationIsPutIntoTheOutboxOnce(t *testing.T) {
	const mark = "on_failure 1"
	w := newEndedRuns(t, "{mail: ops@example.com}")
	r, row := w.fails()
	if all := w.queue(r, row); len(all) != 1 || all[0].Message.ID != row.ID+" "+mark || all[0].Run != row.ID {
		t.Errorf("%+v", all)
	}
	if !r.marks.hasEnded(mark) {
		t.Error("there is no mark")
	}
	if all := w.queue(r, row, mark); len(all) != 0 || w.waiting() != 1 {
		t.Errorf("%+v, %d wait", all, w.waiting())
	}
}

// Each run counts once for at_most.
func TestALimitCountsEachRunOnce(t *testing.T) {
	w := newEndedRuns(t, "{mail: ops@example.com, at_most: 1 per 1h}")
	for i, want := range []int{1, 0, 0} {
		r, row := w.fails()
		if all := w.queue(r, row); len(all) != want {
			t.Errorf("run %d: %+v", i, all)
		}
		w.queue(r, row) // killed before the mark
		w.now = w.now.Add(time.Minute)
	}
	if n := w.waiting(); n != 2 { // one is on its way, and the newest of the others is held back
		t.Errorf("%d wait", n)
	}
}

// People look up the run that a message names. Of a slot that ran nowhere there is nothing to look
// up.
func TestAMessageNamesTheRunThatItIsAbout(t *testing.T) {
	w := newEndedRuns(t, "{mail: ops@example.com}")
	r, row := w.fails()
	unbegun := row
	unbegun.Started = time.Time{}
	for _, c := range []struct {
		about string
		event notify.Event
		row   state.Row
		named bool
	}{
		{"a failure", notify.Failure, row, true},
		{"a command that could not be started", notify.Failure, unbegun, true},
		{"a skipped slot", notify.Skip, unbegun, false},
		{"a run that takes too long", notify.Overdue, row, true},
		{"a run that has not come", notify.Overdue, unbegun, false},
	} {
		if m := r.message("1", c.event, c.row); (m.Run == row.ID) != c.named || (m.Run == "") == c.named {
			t.Errorf("%s: run %q", c.about, m.Run)
		}
	}
}
