package tick

import (
	"context"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/run"
)

// A foregroundQueue runs the foreground slots of a tick, one after another.
type foregroundQueue struct {
	launcher   *launcher
	conditions *conditions
	requests   requests
	staying    context.Context // see tickRun.stay
	order      schedule.ForegroundOrder
	failed     bool // a task failed
}

func (r *tickRun) foregroundQueue(staying context.Context) *foregroundQueue {
	return &foregroundQueue{
		launcher:   r.launcher,
		conditions: r.conditions,
		requests:   r.requests,
		staying:    staying,
	}
}

// run runs the slots in their order. It waits for slots of later seconds.
func (q *foregroundQueue) run(slots []schedule.Slot) {
	for i := range slots {
		q.order.Reorder(slots, i, q.launcher.tick.isBehind)
		// A slot of a later second starts only while the tick stays: an interrupt ends that.
		ctx := q.launcher.stops.noNewStarts
		if slots[i].At.After(q.launcher.tick.Minute) {
			ctx = q.staying
		}
		if reason := q.launcher.tick.awaitInstant(ctx, slots[i]); reason != "" {
			q.launcher.skipAll(slots[i:], reason)
			return
		}
		if i == 0 || slots[i].At.After(slots[i-1].At) {
			// The store is asked at once for all slots of one instant.
			instant, _ := schedule.SplitAfter(slots[i:], slots[i].At)
			q.launcher.prefetch(instant)
		}
		q.runSlot(ctx, slots[i])
	}
}

// runSlot runs the run of a slot, if the slot may start.
func (q *foregroundQueue) runSlot(ctx context.Context, slot schedule.Slot) {
	if len(slot.Task.ConditionCommands) > 0 {
		q.runConditional(ctx, slot)
	} else if prepared, ok := q.launcher.prepare(slot); ok {
		q.start(prepared, slot.Task)
	}
}

// runConditional asks the condition commands of a slot. By their verdict it runs the slot, skips it
// or fails it. The slots after it wait.
func (q *foregroundQueue) runConditional(ctx context.Context, slot schedule.Slot) {
	asked := q.conditions.add(ctx, slot)
	defer close(asked.decided)
	q.conditions.ask(asked)
	prepared, failed := q.conditions.decide(asked)
	q.failed = q.failed || failed
	if prepared != nil {
		q.start(prepared, slot.Task)
	}
}

// start begins a run, and runs it to its end.
func (q *foregroundQueue) start(prepared *run.Prepared, task *schedule.Task) {
	if begun, ok := q.launcher.beginHere(prepared); ok {
		q.order.Ran(task)
		q.execute(begun)
	}
}

// execute runs a run that has begun to its end.
func (q *foregroundQueue) execute(begun *run.Run) {
	q.launcher.tick.Report.begun(begun.Row())
	// The command may take hours: what is known is written, and the database is closed meanwhile.
	q.launcher.records.flushQuietly()
	q.launcher.tick.Storage.DB.CloseIfIdle(0)
	row := begun.Execute(q.launcher.stops.terminate, q.launcher.stops.kill)
	if begun.DB.InMemory() {
		q.launcher.records.collect(row)
	}
	q.launcher.records.ended(row)
	q.failed = q.failed || row.Outcome.Failure()
}

// awaitInstant waits for the instant of a slot, and returns "". Otherwise it returns the reason why
// the tick does not wait for it: ctx is done, or the clock was set back so far that this minute
// lies ahead again and later ticks will have it.
func (t *Tick) awaitInstant(ctx context.Context, slot schedule.Slot) (reason string) {
	for ctx.Err() == nil {
		now := clock.Now().Round(0) // by the wall clock alone
		wait := slot.At.Sub(now)
		switch {
		case t.Replay || wait <= 0:
			return ""
		case wait > time.Minute:
			return "the clock was set back to " + now.In(t.Schedule.Location).Format("2006-01-02 15:04:05")
		}
		select {
		case <-clock.After(min(wait, clock.Recheck)):
		case <-ctx.Done():
		}
	}
	return whyDone(ctx)
}

// isBehind reports whether the time of a slot has passed.
func (t *Tick) isBehind(slot schedule.Slot) bool { return !t.Replay && clock.Now().After(slot.At) }
