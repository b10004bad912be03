package tick

import (
	"context"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/run"
)

// A foregroundRunner runs the foreground slots of a tick, one after another.
type foregroundRunner struct {
	tick       *Tick
	launcher   *launcher
	records    *records
	conditions *conditions
	requests   requests
	staying    context.Context // of tickRun.stay
	order      schedule.ForegroundOrder
	failed     bool       // a task failed, or the end of a run could not be recorded
	unrecorded []*run.Run // whose ends could not be recorded
}

func (r *tickRun) foregroundRunner(staying context.Context) *foregroundRunner {
	return &foregroundRunner{
		tick:       r.tick,
		launcher:   r.launcher,
		records:    r.records,
		conditions: r.conditions,
		requests:   r.requests,
		staying:    staying,
	}
}

// run runs the slots in their order. It waits for slots of later seconds.
func (f *foregroundRunner) run(slots []schedule.Slot) {
	for i := range slots {
		f.order.Reorder(slots, i, f.tick.isBehind)
		// A slot of a later second starts only while the tick stays: an interrupt ends that.
		ctx := f.launcher.stops.noNewStarts
		if slots[i].At.After(f.tick.Minute) {
			ctx = f.staying
		}
		if reason := f.tick.awaitInstant(ctx, slots[i]); reason != "" {
			f.launcher.skipAll(slots[i:], reason)
			return
		}
		if i == 0 || slots[i].At.After(slots[i-1].At) {
			// The store is asked at once for all slots of one instant.
			instant, _ := schedule.SplitAfter(slots[i:], slots[i].At)
			f.launcher.prefetch(instant)
		}
		f.runSlot(ctx, slots[i])
	}
}

// runSlot starts the run of a slot, if the slot may start, and waits for its end.
func (f *foregroundRunner) runSlot(ctx context.Context, slot schedule.Slot) {
	if len(slot.Task.ConditionCommands) > 0 {
		f.runConditional(ctx, slot)
	} else if prepared, ok := f.launcher.prepare(slot); ok {
		f.start(prepared, slot.Task)
	}
}

// runConditional asks the condition commands of a slot. By their verdict it runs the slot, skips it
// or fails it. The slots after it wait.
func (f *foregroundRunner) runConditional(ctx context.Context, slot schedule.Slot) {
	asked := f.conditions.add(ctx, slot)
	defer close(asked.decided)
	f.conditions.ask(asked)
	prepared, failed := f.conditions.decide(asked)
	f.failed = f.failed || failed
	if prepared != nil {
		f.start(prepared, slot.Task)
	}
}

// start begins a run, and runs it to its end.
func (f *foregroundRunner) start(prepared *run.Prepared, task *schedule.Task) {
	if begun, ok := f.launcher.beginHere(prepared); ok {
		f.order.Ran(task)
		f.execute(begun)
	}
}

// execute runs a run that has begun to its end.
func (f *foregroundRunner) execute(begun *run.Run) {
	f.tick.Report.begun(begun.Row())
	// The command may take hours: what is known is written, and the database is closed meanwhile.
	f.records.flushQuietly()
	f.tick.Storage.DB.CloseIfIdle(0)
	row := run.Execute(begun, f.launcher.stops.terminate, f.launcher.stops.kill)
	if begun.DB.InMemory() {
		f.records.collect(row)
	}
	f.records.addEnded(row)
	f.failed = f.failed || row.Outcome.Failure() || begun.EndUnrecorded()
	if begun.EndUnrecorded() {
		f.unrecorded = append(f.unrecorded, begun)
	}
}

// recordEnds records the ends of runs that could not be recorded when they ended.
func (f *foregroundRunner) recordEnds() {
	for _, r := range f.unrecorded {
		if r.RecordEndAgain() == nil {
			f.tick.Report.Problem("run %s of %s is recorded now", r.Row().ID, r.Row().Task)
		}
	}
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
