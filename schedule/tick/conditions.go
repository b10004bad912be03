package tick

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/run"
	"sched/schedule/state"
)

// conditions runs the condition commands (when, skip) of a tick's slots beside everything else. The
// commands of one task run for one slot at a time: its slots keep their order, and a command that
// hangs in a task of every second hangs once. Safe for concurrent use.
type conditions struct {
	launcher   *launcher
	active     chan struct{}  // has an element for each background slot whose commands run
	background sync.WaitGroup // of background slots that are not decided

	mu     sync.Mutex
	newest map[*schedule.Task]chan struct{} // closed when the task's newest slot is decided
}

// The condition commands of so many background slots run at a time. Commands that take longer than
// conditionPatience do not count any more: they wait for something, and shall make no other slot
// wait.
const (
	maxActive         = 16
	conditionPatience = time.Second
)

func newConditions(launcher *launcher) *conditions {
	return &conditions{launcher: launcher, active: make(chan struct{}, maxActive), newest: map[*schedule.Task]chan struct{}{}}
}

// enter waits until the commands of one more background slot may run.
func (c *conditions) enter(ctx context.Context) (leave func()) {
	select {
	case c.active <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	leave = sync.OnceFunc(func() { <-c.active })
	time.AfterFunc(conditionPatience, leave)
	return leave
}

// A conditional is a slot whose task has condition commands.
type conditional struct {
	slot    schedule.Slot
	ctx     context.Context // when done, the slot must not start any more
	row     state.Row
	verdict Verdict
	paused  bool            // the verdict is to skip it because a pause or a maintenance keeps it
	before  <-chan struct{} // closed when the task's slot before this one is decided; nil for the task's first slot
	decided chan struct{}   // to be closed when this one is
}

// add puts a slot behind the earlier ones of its task.
func (c *conditions) add(ctx context.Context, slot schedule.Slot) *conditional {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &conditional{slot: slot, ctx: ctx, row: c.launcher.newRow(slot), before: c.newest[slot.Task], decided: make(chan struct{})}
	c.newest[slot.Task] = s.decided
	return s
}

// check fills in the verdict of the slot: it runs the commands unless something else keeps the slot
// from starting. When the slot's context is done there may be no verdict.
func (c *conditions) check(s *conditional) {
	ctx := s.ctx
	if s.before != nil {
		select {
		case <-s.before:
		case <-ctx.Done():
		}
	}
	if s.slot.Task.Background {
		defer c.enter(ctx)()
	}
	if ctx.Err() != nil {
		return
	}
	if s.verdict.Skip, s.paused = c.launcher.admission.refusal(s.slot); s.verdict.Skip == "" {
		s.verdict = askConditions(ctx, s.slot.Task, c.launcher.tick.Host.Environ, run.TaskVariables(s.row))
	}
}

// decide does what the verdict of a slot demands: it skips the slot, fails it, or prepares its run.
// Failed reports that it failed without a run.
func (c *conditions) decide(s *conditional) (prepared *run.Prepared, failed bool) {
	task := s.slot.Task
	switch v := s.verdict; {
	case v.Skip != "":
		c.launcher.refuse(s.row, task, v.Skip, s.paused)
	case v.Broken != "":
		c.failUnanswered(s)
		return nil, true
	case s.ctx.Err() != nil:
		c.launcher.skip(s.row, task, whyDone(s.ctx))
	default:
		if late := c.launcher.admission.tooLate(s.slot); late != "" { // by now
			c.launcher.skip(s.row, task, late)
			return nil, false
		}
		prepared, _ = c.launcher.prepareLocked(s.row, s.slot)
	}
	return prepared, false
}

// failUnanswered records that a condition command is broken. The task fails, because a skip would
// silence it for good (docs/internals/decisions.md#a-condition-without-an-answer-fails-its-task).
// Its run ends before it starts a command.
func (c *conditions) failUnanswered(s *conditional) {
	prepared, ok := c.launcher.prepareRun(s.row, s.slot.Task, nil)
	if !ok {
		return
	}
	c.launcher.records.done(prepared.FailBeforeStart(errors.New(s.verdict.Broken), s.verdict.Output))
}

// start checks the conditions of a background slot, and hands its run over when they allow it. It
// does not wait: background does.
func (c *conditions) start(ctx context.Context, slot schedule.Slot) {
	s := c.add(ctx, slot)
	c.background.Go(func() {
		defer close(s.decided)
		c.check(s)
		if prepared, _ := c.decide(s); prepared != nil {
			c.launcher.handOver(prepared)
		}
	})
}
