package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/run"
)

// conditions ask the condition commands (when, skip) of a tick's slots beside everything else, but those of one task one slot at a
// time: its slots keep their order, and a command that hangs in a task of every second hangs once. Safe for concurrent use.
type conditions struct {
	asking     chan struct{}  // has an element for each background slot whose commands are being asked
	background sync.WaitGroup // of background slots

	mu     sync.Mutex
	newest map[*schedule.Task]chan struct{} // closed when the task's newest slot is decided
}

// The condition commands of background tasks are asked for so many slots at a time. Those that take longer than conditionPatience do not
// count any more: they wait for something, and nobody shall wait for them.
const (
	maxAsking         = 16
	conditionPatience = time.Second
)

func newConditions() *conditions {
	return &conditions{asking: make(chan struct{}, maxAsking), newest: map[*schedule.Task]chan struct{}{}}
}

// enter waits until the commands of one more background slot may be asked.
func (c *conditions) enter(ctx context.Context) (leave func()) {
	select {
	case c.asking <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	leave = sync.OnceFunc(func() { <-c.asking })
	time.AfterFunc(conditionPatience, leave)
	return leave
}

// A conditional is a slot whose task has condition commands.
type conditional struct {
	slot    schedule.Slot
	ctx     context.Context // of the tick's readiness to start it
	record  outcome.Record
	verdict verdict
	before  <-chan struct{} // closed when the task's slot before this one is decided; nil when there is none
	decided chan struct{}   // to be closed when this one is
}

// conditional takes up a slot with condition commands.
func (r *running) conditional(ctx context.Context, slot schedule.Slot) *conditional {
	c := r.conditions
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &conditional{slot: slot, ctx: ctx, record: r.newRecord(slot), before: c.newest[slot.Task], decided: make(chan struct{})}
	c.newest[slot.Task] = s.decided
	return s
}

// first reports whether no earlier slot of the task has to be decided before.
func (s *conditional) first() bool {
	select {
	case <-s.before:
		return true
	default:
		return s.before == nil
	}
}

// ask asks whether the slot may run. When its context is done there may be no verdict.
func (r *running) ask(s *conditional) {
	ctx := s.ctx
	if s.before != nil {
		select {
		case <-s.before:
		case <-ctx.Done():
		}
	}
	if s.slot.Task.Background {
		defer r.conditions.enter(ctx)()
	}
	if ctx.Err() != nil {
		return
	}
	if s.verdict.skip = r.refusal(s.slot); s.verdict.skip == "" {
		s.verdict = r.askConditions(ctx, s.record, s.slot.Task)
	}
}

// decide does what the verdict says: it skips the slot, fails it, or begins its run. Failed says that it has failed already.
func (r *running) decide(s *conditional) (begun *run.Run, failed bool) {
	task := s.slot.Task
	switch v := s.verdict; {
	case v.skip != "":
		r.skip(s.record, task, v.skip)
	case v.broken != "":
		r.failUnanswered(s)
		return nil, true
	case s.ctx.Err() != nil:
		r.skip(s.record, task, whyDone(s.ctx))
	default:
		if late := r.tooLate(s.slot); late != "" { // by now
			r.skip(s.record, task, late)
			return nil, false
		}
		begun, _ = r.admit(s.record, s.slot, r.locks.take)
	}
	return begun, false
}

// failUnanswered records that a condition command is broken: the task fails, since a skip would silence it for good. The run
// only begins to end.
func (r *running) failUnanswered(s *conditional) {
	begun, ok := r.beginRun(s.record, s.slot.Task, nil)
	if !ok {
		return
	}
	r.records.done(begun.FailBeforeStart(errors.New(s.verdict.broken), s.verdict.output), begun.Dir)
}

// startConditional asks the condition commands of a background slot, and hands its run over when they allow it. Nothing waits for
// that but the end of the tick.
func (r *running) startConditional(ctx context.Context, slot schedule.Slot) {
	s := r.conditional(ctx, slot)
	r.conditions.background.Go(func() {
		defer close(s.decided)
		r.ask(s)
		if begun, _ := r.decide(s); begun != nil {
			r.handOver(begun)
		}
	})
}
