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

// This file is about runs that begin to wait for their turn, because other runs have their mutex or
// the seats of their pool.

// beginWaiting begins the run of a slot whose mutex or seats other runs have: its supervisor waits
// for them. While another run of the task waits already the slot is skipped, unless the task
// catches up.
func (s *launcher) beginWaiting(row state.Row, slot schedule.Slot, refusal lockRefusal) (*run.Run, bool) {
	if reason := s.waitsAlready(slot.Task); reason != "" && !slot.Task.CatchesUp {
		s.skip(row, slot.Task, reason)
		return nil, false
	}
	row.Wait = waitOf(slot.Task)
	row.Wait.Until = s.admission.waitsUntil(slot, row.Wait.Since).UTC()
	begun, err := s.caller().Begin(row, slot.Task, nil)
	if err != nil {
		row.Wait = state.Wait{}
		s.skip(row, slot.Task, fmt.Sprintf("%s; it cannot wait: %v", refusal.reason, err))
		return nil, false
	}
	s.queued.add(slot.Task.Name, row.ID)
	return begun, true
}

// waitOf returns the wait of a run that begins to wait for its mutex now.
func waitOf(task *schedule.Task) state.Wait {
	now := clock.Now().UTC()
	return state.Wait{For: state.ForMutex, Since: now, Until: now.Add(task.MaxWait)}
}

// waitsAlready returns a text about the run of a task that waits for its turn; "" if no run of the
// task waits.
func (s *launcher) waitsAlready(task *schedule.Task) string {
	waiting, ok := s.queued.find(s.tick.Storage, task.Name)
	if !ok {
		return ""
	}
	holder := run.HolderOf(waiting)
	holder.Since = waiting.Wait.Since
	waited := max(0, clock.Now().Sub(holder.Since))
	return fmt.Sprintf("already waiting for %s, %s", humanize.Duration(waited), holder)
}

// queuedRuns caches the runs that wait for their turn on this machine, by task: runs that a tick
// has begun, and runs that it found at most a second ago. So hundreds of slots that begin to wait
// together look through all runs once. Safe for concurrent use.
type queuedRuns struct {
	mu     sync.Mutex
	readAt time.Time
	byTask map[string]string // the id of a run that waited
}

// find returns the run of a task that waits; false if none waits any more.
func (w *queuedRuns) find(storage run.Storage, task string) (waiting state.Row, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx := context.Background()
	if w.byTask == nil || time.Since(w.readAt) > time.Second {
		w.readAt, w.byTask = time.Now(), map[string]string{}
		rows, _ := storage.DB.Runs().NotEnded(ctx)
		for _, row := range rows {
			if row.Queued() {
				w.byTask[row.Task] = row.ID
			}
		}
	}
	if id, known := w.byTask[task]; known {
		waiting, err := storage.DB.Runs().Row(ctx, id)
		return waiting, err == nil && waiting.Queued()
	}
	return waiting, false
}

// add notes a run that this tick has begun.
func (w *queuedRuns) add(task, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTask != nil {
		w.byTask[task] = id
	}
}
