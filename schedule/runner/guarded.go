package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"sched/schedule"

	"sched/schedule/outcome"

	"sched/schedule/runfile"
)

// A guarded slot is one whose task has conditions to ask (when, skip). They are asked beside everything else,
// but those of one task one slot at a time: its slots keep their order, and a condition that hangs
// in a task of every second hangs once.
type guarded struct {
	slot    schedule.Slot
	ctx     context.Context // of the tick's readiness to start it
	record  outcome.Record
	finding finding
	before  <-chan struct{} // closed when the task's slot before this one is dealt with; nil when there is none
	over    chan struct{}   // to be closed when this one is
}

// guard takes up a slot with conditions.
func (t *Tick) guard(ctx context.Context, slot schedule.Slot) *guarded {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := &guarded{slot: slot, ctx: ctx, record: t.newRecord(slot), before: t.guards[slot.Task], over: make(chan struct{})}
	if t.guards == nil {
		t.guards = map[*schedule.Task]chan struct{}{}
	}
	t.guards[slot.Task] = g.over
	return g
}

// first reports whether no earlier slot of the task has to be dealt with before.
func (g *guarded) first() bool {
	select {
	case <-g.before:
		return true
	default:
		return g.before == nil
	}
}

// find asks whether the slot may run. When its context is done nothing may have been found.
func (g *guarded) find(t *Tick) {
	ctx := g.ctx
	if g.before != nil {
		select {
		case <-g.before:
		case <-ctx.Done():
		}
	}
	if g.slot.Task.Background {
		defer t.enter(ctx)()
	}
	if ctx.Err() != nil {
		return
	}
	if g.finding.skip = t.barred(g.slot); g.finding.skip == "" {
		g.finding = t.ask(ctx, g.record, g.slot.Task)
	}
}

// decide does what was found: it skips the slot, fails it, or begins its run. Failed says that it
// has failed already.
func (g *guarded) decide(t *Tick) (r *Run, failed bool) {
	task := g.slot.Task
	switch f := g.finding; {
	case f.skip != "":
		t.skip(g.record, task, f.skip)
	case f.broken != "":
		t.unanswered(g)
		return nil, true
	case g.ctx.Err() != nil:
		t.skip(g.record, task, whyDone(g.ctx))
	default:
		if late := t.tooLate(g.slot); late != "" { // by now
			t.skip(g.record, task, late)
			return nil, false
		}
		r, _ = t.admit(g.record, g.slot, t.lock)
	}
	return r, false
}

// unanswered records that a condition is broken: the task fails, since a skip would silence it for good. The
// run only begins to end: with a file of its own its hooks fire even if this process is killed.
func (t *Tick) unanswered(g *guarded) {
	r, ok := t.begin(g.record, g.slot.Task, nil)
	if !ok {
		return
	}
	r.output.Write(g.finding.output)
	t.done(r.finish(runfile.State{}, r.unstarted(errors.New(g.finding.broken))), r.state.Dir)
}

// startGuarded asks the conditions of a background slot, and forks its run when they allow it. Nothing
// waits for that but the end of the tick.
func (t *Tick) startGuarded(ctx context.Context, slot schedule.Slot) {
	g := t.guard(ctx, slot)
	t.asking.Go(func() {
		defer close(g.over)
		g.find(t)
		if r, _ := g.decide(t); r != nil {
			t.launch(r)
		}
	})
}

// Conditions of background tasks are asked for so many slots at a time. Those that take longer than
// guardPatience do not count any more: they wait for something, and nobody shall wait for them.
const (
	mostAsked     = 16
	guardPatience = time.Second
)

// enter waits until a condition may be asked.
func (t *Tick) enter(ctx context.Context) (leave func()) {
	select {
	case t.crowd <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	leave = sync.OnceFunc(func() { <-t.crowd })
	time.AfterFunc(guardPatience, leave)
	return leave
}
