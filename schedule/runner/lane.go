package runner

import (
	"context"
	"errors"
	"time"

	"sched/schedule"

	"sched/schedule/clock"

	"sched/schedule/runfile"
)

// A lane runs the foreground slots of a tick, one after another. A slot whose condition does not answer soon
// lets the next ones go first, and has its turn as soon as it has answered and nothing runs.
type lane struct {
	tick                         *Tick
	enough, staying, stop, hurry context.Context // see Tick.Run and Tick.stay
	turns                        turns
	answered                     chan *guarded // conditions have answered, and it is not decided yet
	open                         int           // slots whose conditions are being asked, or that are in answered
	failed                       bool
}

func (t *Tick) lane(enough, staying, stop, hurry context.Context, slots int) *lane {
	return &lane{
		tick: t, enough: enough, staying: staying, stop: stop, hurry: hurry,
		turns: turns{last: map[*schedule.Task]int{}}, answered: make(chan *guarded, slots),
	}
}

// run runs the slots that are ready in their turn.
func (l *lane) run(slots []schedule.Slot) {
	for i := range slots {
		if i > 0 && slots[i].At.After(slots[i-1].At) && l.tick.behind(slots[i]) {
			l.turns.sort(slots[i:])
		}
		ctx := l.enough
		if slots[i].At.After(l.tick.Minute) {
			ctx = l.staying
		}
		if reason := l.reach(ctx, slots[i]); reason != "" {
			l.tick.skipAll(slots[i:], reason)
			return
		}
		l.slot(ctx, slots[i], slots[i+1:])
	}
}

// slot runs one slot; rest are those that come after it.
func (l *lane) slot(ctx context.Context, slot schedule.Slot, rest []schedule.Slot) {
	if len(slot.Task.ConditionCommands) > 0 {
		l.guarded(ctx, slot, rest)
	} else if r, ok := l.tick.prepare(slot, l.tick.lock); ok {
		l.supervise(slot.Task, r)
	}
}

// rest runs what has not answered yet.
func (l *lane) rest() {
	for l.open > 0 {
		l.decide(<-l.answered)
	}
}

var errAnswered = errors.New("a condition has answered")

// reach waits for the instant of a slot like Tick.reach, and meanwhile runs what has answered.
func (l *lane) reach(ctx context.Context, slot schedule.Slot) (reason string) {
	for l.open > 0 {
		for len(l.answered) > 0 { // they were due before
			l.decide(<-l.answered)
		}
		waiting, interrupt := context.WithCancelCause(ctx)
		reached := make(chan string, 1)
		go func() { reached <- l.tick.reach(waiting, slot) }()
		select {
		case reason := <-reached:
			interrupt(nil)
			return reason
		case g := <-l.answered:
			interrupt(errAnswered)
			l.decide(g)
		}
	}
	return l.tick.reach(ctx, slot)
}

// guarded asks the conditions of a slot and runs it, unless it is too long until they answer.
func (l *lane) guarded(ctx context.Context, slot schedule.Slot, rest []schedule.Slot) {
	mine := l.tick.guard(ctx, slot)
	wait := l.patience(mine, rest)
	l.open++
	go func() {
		mine.find(l.tick)
		l.answered <- mine
	}()
	patience := time.NewTimer(wait)
	defer patience.Stop()
	for {
		select {
		case g := <-l.answered:
			l.decide(g)
			if g == mine {
				return
			}
		case <-patience.C:
			return
		}
	}
}

// patience is how long the slots after this one wait for its conditions: half the time to the next slot of
// a later second, so that no condition makes tasks of seconds late, and not at all where those of an
// earlier slot of the task have not answered yet.
func (l *lane) patience(g *guarded, rest []schedule.Slot) time.Duration {
	if !g.first() {
		return 0
	}
	for _, slot := range rest {
		if slot.At.After(g.slot.At) && !l.tick.Replay {
			return min(guardPatience, slot.At.Sub(clock.Now())/2)
		}
	}
	return guardPatience
}

// decide does what the conditions of a slot say.
func (l *lane) decide(g *guarded) {
	defer close(g.over)
	l.open--
	r, failed := g.decide(l.tick)
	l.failed = l.failed || failed
	if r != nil {
		l.supervise(g.slot.Task, r)
	}
}

// supervise runs a run that has begun to its end.
func (l *lane) supervise(task *schedule.Task, r *Run) {
	l.turns.take(task)
	l.tick.begun(r)
	record := r.finish(runfile.State{}, r.supervise(l.stop, l.hurry))
	l.tick.done(record, r.state.Dir)
	l.failed = l.failed || record.Outcome.Failure()
}
