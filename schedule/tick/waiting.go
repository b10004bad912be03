package tick

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/run"
	"sched/schedule/state"
)

// beginWaiting begins the run of a slot that waits for what others have, without it: its supervisor
// waits. While another run of the task waits already the slot is skipped.
func (s *starter) beginWaiting(row state.Row, slot schedule.Slot, no refusal) (*run.Run, bool) {
	if reason := s.waitsAlready(slot.Task); reason != "" {
		s.skip(row, slot.Task, reason)
		return nil, false
	}
	row.Wait = waitOf(slot.Task)
	row.Wait.Until = s.admission.waitsUntil(slot, row.Wait.Since).UTC()
	begun, err := s.caller().Begin(row, slot.Task, nil)
	if err != nil {
		row.Wait = state.Wait{}
		s.skip(row, slot.Task, fmt.Sprintf("%s; it cannot wait: %v", no.reason, err))
		return nil, false
	}
	s.queued.add(slot.Task.Name, row.ID)
	return begun, true
}

// waitOf is the wait of a run that begins now.
func waitOf(task *schedule.Task) state.Wait {
	now := clock.Now().UTC()
	return state.Wait{For: state.ForMutex, Since: now, Until: now.Add(task.WaitAtMost)}
}

// waitsAlready returns which run of a task waits for its turn; "" for none.
func (s *starter) waitsAlready(task *schedule.Task) string {
	waiting, ok := s.queued.of(s.Storage, task.Name)
	if !ok {
		return ""
	}
	holder := run.HolderOf(waiting)
	holder.Since = waiting.Wait.Since
	return fmt.Sprintf("already waiting for %s, %s", humanize.Duration(max(0, clock.Now().Sub(holder.Since))), holder)
}

// waitingRuns are the runs that wait for their turn on this machine, by task: runs that a tick has
// begun, and runs that it found at most a second ago. So hundreds of slots that begin to wait
// together look through all runs once. Safe for concurrent use.
type waitingRuns struct {
	mu     sync.Mutex
	read   time.Time
	byTask map[string]string // the id of a run that waited
}

// of returns the run of a task that waits; false if none waits any more.
func (w *waitingRuns) of(storage run.Storage, task string) (waiting state.Row, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx := context.Background()
	if w.byTask == nil || time.Since(w.read) > time.Second {
		w.read, w.byTask = time.Now(), map[string]string{}
		rows, _ := storage.DB.Runs().Live(ctx)
		for _, row := range rows {
			if row.Queued() {
				w.byTask[row.Task] = row.ID
			}
		}
	}
	if run, known := w.byTask[task]; known {
		waiting, err := storage.DB.Runs().Row(ctx, run)
		return waiting, err == nil && waiting.Queued()
	}
	return waiting, false
}

// add notes a run that this tick has begun.
func (w *waitingRuns) add(task, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTask != nil {
		w.byTask[task] = run
	}
}
