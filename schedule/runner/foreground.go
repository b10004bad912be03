package runner

import (
	"context"
	"errors"
	"time"

	"sched/schedule"
	"sched/schedule/admission"
	"sched/schedule/clock"
	"sched/schedule/run"
)

// contexts are the four ways in which a tick is made to end. Each later one is stronger.
type contexts struct {
	noNewStarts context.Context // it starts no other task
	staying     context.Context // it waits for no later second of its minute; done at an interrupt, too
	terminate   context.Context // it stops the running task
	kill        context.Context // it kills it
}

// A foregroundQueue runs the foreground slots of a tick, one after another. A slot whose condition command does not answer soon lets
// the next ones go first, and runs as soon as it has answered and nothing runs.
type foregroundQueue struct {
	tick     *running
	contexts contexts
	order    admission.Queue
	answered chan *conditional // slots with a verdict that are not decided yet
	open     int               // slots whose condition commands run, or that are in answered
	failed   bool              // a task failed
}

func (r *running) foregroundQueue(c contexts, slots int) *foregroundQueue {
	return &foregroundQueue{tick: r, contexts: c, answered: make(chan *conditional, slots)}
}

// run runs the slots that are ready, in their order.
func (q *foregroundQueue) run(slots []schedule.Slot) {
	for i := range slots {
		q.order.Reorder(slots, i, q.tick.behind)
		ctx := q.contexts.noNewStarts
		if slots[i].At.After(q.tick.Minute) {
			ctx = q.contexts.staying
		}
		if reason := q.reach(ctx, slots[i]); reason != "" {
			q.tick.starter.skipAll(slots[i:], reason)
			return
		}
		if i == 0 || slots[i].At.After(slots[i-1].At) {
			instant, _ := admission.UntilSecond(slots[i:], slots[i].At)
			q.tick.starter.claimAhead(instant)
		}
		q.slot(ctx, slots[i], slots[i+1:])
	}
}

// slot runs one slot; later are those that come after it.
func (q *foregroundQueue) slot(ctx context.Context, slot schedule.Slot, later []schedule.Slot) {
	if len(slot.Task.ConditionCommands) > 0 {
		q.conditional(ctx, slot, later)
	} else if begun, ok := q.tick.starter.begin(slot, q.tick.locks.take); ok {
		q.order.Ran(slot.Task)
		q.execute(begun)
	}
}

// rest runs the slots whose condition commands have not answered yet, as they do.
func (q *foregroundQueue) rest() {
	for q.open > 0 {
		q.decide(<-q.answered)
	}
}

var errAnswered = errors.New("a condition has answered")

// reach is Tick.reach, and meanwhile runs the slots whose condition commands have answered.
func (q *foregroundQueue) reach(ctx context.Context, slot schedule.Slot) (reason string) {
	for q.open > 0 {
		for len(q.answered) > 0 { // they were due before
			q.decide(<-q.answered)
		}
		waiting, interrupt := context.WithCancelCause(ctx)
		reached := make(chan string, 1)
		go func() { reached <- q.tick.reach(waiting, slot) }()
		select {
		case reason := <-reached:
			interrupt(nil)
			return reason
		case s := <-q.answered:
			interrupt(errAnswered)
			q.decide(s)
		}
	}
	return q.tick.reach(ctx, slot)
}

// conditional checks the condition commands of a slot and runs it, unless they take too long to answer: then rest or reach will.
func (q *foregroundQueue) conditional(ctx context.Context, slot schedule.Slot, later []schedule.Slot) {
	checked := q.tick.conditions.add(ctx, slot)
	patience := time.NewTimer(q.patience(checked, later))
	defer patience.Stop()
	q.open++
	go func() {
		q.tick.conditions.check(checked)
		q.answered <- checked
	}()
	for {
		select {
		case s := <-q.answered:
			q.decide(s)
			if s == checked {
				return
			}
		case <-patience.C:
			return
		}
	}
}

// patience is how long the later slots wait for the condition commands of this one: half the time to the next slot of a later second, so
// that no command makes tasks of seconds late, and not at all where those of an earlier slot of the task have not answered yet.
func (q *foregroundQueue) patience(s *conditional, later []schedule.Slot) time.Duration {
	if !s.first() {
		return 0
	}
	for _, slot := range later {
		if slot.At.After(s.slot.At) && !q.tick.Replay {
			return min(conditionPatience, slot.At.Sub(clock.Now())/2)
		}
	}
	return conditionPatience
}

// decide runs a slot, skips it or fails it, as its condition commands have answered.
func (q *foregroundQueue) decide(s *conditional) {
	defer close(s.decided)
	q.open--
	begun, failed := q.tick.conditions.decide(s)
	q.failed = q.failed || failed
	if begun != nil {
		q.order.Ran(s.slot.Task)
		q.execute(begun)
	}
}

// execute runs a run that has begun to its end.
func (q *foregroundQueue) execute(begun *run.Run) {
	q.tick.Report.begun(begun.Record())
	record := begun.Execute(q.contexts.terminate, q.contexts.kill)
	q.tick.records.done(record, begun.Dir)
	q.failed = q.failed || record.Outcome.Failure()
}
