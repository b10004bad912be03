package tick

import (
	"context"

	"sched/schedule"
	"sched/schedule/run"
)

// contexts are the four ways in which a tick is made to end. Each later one is stronger.
type contexts struct {
	noNewStarts context.Context // it starts no other task
	staying     context.Context // it waits for no later second of its minute; done at an interrupt, too
	terminate   context.Context // it stops the running task
	kill        context.Context // it kills it
}

// A foregroundQueue runs the foreground slots of a tick, one after another.
type foregroundQueue struct {
	tick     *running
	contexts contexts
	order    schedule.ForegroundQueue
	failed   bool // a task failed
}

func (r *running) foregroundQueue(c contexts) *foregroundQueue {
	return &foregroundQueue{tick: r, contexts: c}
}

// run runs the slots that are ready, in their order.
func (q *foregroundQueue) run(slots []schedule.Slot) {
	for i := range slots {
		q.order.Reorder(slots, i, q.tick.behind)
		ctx := q.contexts.noNewStarts
		if slots[i].At.After(q.tick.Minute) {
			ctx = q.contexts.staying
		}
		if reason := q.tick.reach(ctx, slots[i]); reason != "" {
			q.tick.starter.skipAll(slots[i:], reason)
			return
		}
		if i == 0 || slots[i].At.After(slots[i-1].At) {
			instant, _ := schedule.UntilSecond(slots[i:], slots[i].At)
			q.tick.starter.askAhead(instant)
		}
		q.slot(ctx, slots[i])
	}
}

// slot runs one slot.
func (q *foregroundQueue) slot(ctx context.Context, slot schedule.Slot) {
	if len(slot.Task.ConditionCommands) > 0 {
		q.conditional(ctx, slot)
	} else if begun, ok := q.tick.starter.begin(slot); ok {
		q.order.Ran(slot.Task)
		q.execute(begun)
	}
}

// conditional asks the condition commands of a slot and runs it, skips it or fails it, as they
// answer. The slots after it wait.
func (q *foregroundQueue) conditional(ctx context.Context, slot schedule.Slot) {
	asked := q.tick.conditions.add(ctx, slot)
	defer close(asked.decided)
	q.tick.conditions.check(asked)
	begun, failed := q.tick.conditions.decide(asked)
	q.failed = q.failed || failed
	if begun != nil {
		q.order.Ran(slot.Task)
		q.execute(begun)
	}
}

// execute runs a run that has begun to its end.
func (q *foregroundQueue) execute(begun *run.Run) {
	q.tick.Report.begun(begun.Row())
	q.tick.records.flushNow()
	q.tick.db.Rest(0)
	row := begun.Execute(q.contexts.terminate, q.contexts.kill)
	if begun.DB.InMemory() {
		q.tick.records.keep(row)
	}
	q.tick.records.done(row)
	q.failed = q.failed || row.Outcome.Failure()
}
