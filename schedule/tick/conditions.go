package tick

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/run"
	"sched/schedule/run/variables"
	"sched/schedule/state"
	"sched/schedule/tick/admission"
	"sched/schedule/tick/condition"
)

// conditions runs the condition commands (when, skip) of a tick's slots beside everything else. The
// commands of one task run for one slot at a time: its slots keep their order, and a command that
// hangs in a task of every second hangs once. Safe for concurrent use.
type conditions struct {
	launcher   *launcher
	places     chan struct{}  // has an element for each background slot whose commands run
	background sync.WaitGroup // of background slots that are not decided

	mu     sync.Mutex
	newest map[*schedule.Task]chan struct{} // closed when the task's newest slot is decided
}

const (
	// maxConcurrent is how many background slots may run condition commands at once.
	maxConcurrent = 16
	// conditionPatience is how long the commands of a slot count for maxConcurrent. Commands that
	// take longer wait for something, and are to make no other slot wait.
	conditionPatience = time.Second
)

// enter waits until the commands of one more background slot may run, or until ctx is done. The
// caller calls done when they have ended.
func (c *conditions) enter(ctx context.Context) (done func()) {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	done = sync.OnceFunc(func() { <-c.places })
	time.AfterFunc(conditionPatience, done)
	return done
}

// A conditionalSlot is a slot whose task has condition commands.
type conditionalSlot struct {
	slot    schedule.Slot
	ctx     context.Context // when done, the slot must not start any more
	row     state.Row
	verdict condition.Verdict
	byPause bool // the verdict is to skip it because a pause or a maintenance keeps it
	// previous is closed when the slot of the task before this one is decided. It is nil for the
	// first slot of the task.
	previous <-chan struct{}
	decided  chan struct{} // to be closed when this slot is decided
}

// add puts a slot behind the earlier ones of its task.
func (c *conditions) add(ctx context.Context, slot schedule.Slot) *conditionalSlot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &conditionalSlot{
		slot:     slot,
		ctx:      ctx,
		row:      c.launcher.newRow(slot),
		previous: c.newest[slot.Task],
		decided:  make(chan struct{}),
	}
	c.newest[slot.Task] = s.decided
	return s
}

// ask sets the verdict of the slot. It runs the commands unless something else keeps the slot from
// starting. A slot first has its turn and then takes a place: otherwise slots of one task that
// hangs would take all places. When the slot's context is done there may be no verdict.
func (c *conditions) ask(s *conditionalSlot) {
	ctx := s.ctx
	if s.previous != nil {
		select {
		case <-s.previous:
		case <-ctx.Done():
		}
	}
	if s.slot.Task.Background {
		done := c.enter(ctx)
		defer done()
	}
	if ctx.Err() != nil {
		return
	}
	if s.verdict.Skip, s.byPause = c.launcher.admission.Refusal(s.slot); s.verdict.Skip == "" {
		s.verdict = condition.Ask(ctx, s.slot.Task, c.launcher.host.Environ, variables.OfTask(s.row))
	}
}

// decide does what the verdict of a slot demands: it skips the slot, fails it, or prepares its run.
// The result failed says that the slot failed without a run.
func (c *conditions) decide(s *conditionalSlot) (prepared *run.Prepared, failed bool) {
	task := s.slot.Task
	late := c.launcher.admission.TooLate(s.slot) // the commands may have taken long
	switch v := s.verdict; {
	case v.Skip != "":
		c.launcher.refuse(s.row, task, v.Skip, s.byPause)
	case v.Broken != "":
		c.failBroken(s)
		return nil, true
	case s.ctx.Err() != nil:
		c.launcher.skip(s.row, task, admission.WhyDone(s.ctx))
	case late != "":
		c.launcher.skip(s.row, task, late)
	default:
		prepared, _ = c.launcher.lockAndPrepare(s.row, s.slot)
	}
	return prepared, false
}

// failBroken records that a condition command is broken. The task fails, because a skip would
// silence it for good (docs/internals/decisions.md#a-condition-without-an-answer-fails-its-task).
// Its run ends before it starts a command.
func (c *conditions) failBroken(s *conditionalSlot) {
	prepared, ok := c.launcher.prepareRun(s.row, s.slot.Task, nil)
	if !ok {
		return
	}
	c.launcher.records.addEnded(prepared.FailBeforeStart(errors.New(s.verdict.Broken), s.verdict.Output))
}

// start asks the conditions of a background slot, and hands its run over if they allow it. It does
// not wait for that: the caller waits for background.
func (c *conditions) start(ctx context.Context, slot schedule.Slot) {
	s := c.add(ctx, slot)
	c.background.Go(func() {
		defer close(s.decided)
		c.ask(s)
		if prepared, _ := c.decide(s); prepared != nil {
			c.launcher.handOver(prepared)
		}
	})
}
