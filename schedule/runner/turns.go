package runner

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/oneserver"
	"sched/schedule/servers"
	"sched/schedule/text"
)

// turns say when this server claims the slots of one_server tasks: on several servers each has its turn
// (docs/decisions.md#servers-take-turns). Safe for concurrent use.
type turns struct {
	tick  *Tick
	began time.Time
	peers func() []string // who takes part, as the last tick found
	over  context.Context // is done when nothing more may start; nil: never

	mu     sync.Mutex
	delays map[schedule.Slot]time.Duration // that are known
}

func newTurns(t *Tick, began time.Time) *turns {
	return &turns{tick: t, began: began, delays: map[schedule.Slot]time.Duration{},
		peers: sync.OnceValue(func() []string { return servers.Peers(t.Storage.Dir) })}
}

// delay returns how long this server waits with its claim of a slot: not at all where it is its turn, or while it is alone.
func (t *turns) delay(slot schedule.Slot) time.Duration {
	if !slot.Task.OneServer || t.tick.Storage.Store == nil || t.tick.Replay {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delay, known := t.delays[slot]
	if !known {
		delay = oneserver.Turn(slot, t.tick.Host.Server, t.peers())
		t.delays[slot] = delay
	}
	return delay
}

// left returns how long it still takes until it is the turn of this server to claim the slot.
func (t *turns) left(slot schedule.Slot) time.Duration {
	delay := t.delay(slot)
	if delay == 0 {
		return 0
	}
	return max(0, min(delay, text.Later(t.began, slot.At).Add(delay).Sub(clock.Now())))
}

// spread is how long this server waits with what it asks of the store at the beginning of its tick and nobody waits for.
func (t *turns) spread() time.Duration {
	if t.tick.Storage.Store == nil || t.tick.Replay {
		return 0
	}
	return oneserver.Spread(t.tick.Minute, t.tick.Host.Server, t.peers())
}

// hasOwn reports whether one of the slots need not be left to other servers first.
func (t *turns) hasOwn(slots []schedule.Slot) bool {
	return slices.ContainsFunc(slots, func(slot schedule.Slot) bool { return t.delay(slot) == 0 })
}

// leaveFirst waits, on one of very many servers, for its part of the spread where all slots are left to others first: until then it asks the store for
// nothing.
func (t *turns) leaveFirst(noNewStarts context.Context, slots []schedule.Slot) {
	later := func(slot schedule.Slot) bool { return slot.At.After(t.tick.Minute) }
	if spread := t.spread(); spread > 0 && len(slots) > 0 && !t.hasOwn(slots) && !slices.ContainsFunc(slots, later) {
		clock.Wait(noNewStarts, spread-clock.Now().Sub(t.began))
	}
}

// await waits as long as is left until it is the turn of this server to claim the slot. The refusal says that the tick is to end instead.
func (t *turns) await(slot schedule.Slot) (waited bool, no refusal) {
	over := t.over
	if over == nil {
		over = context.Background()
	}
	if left := t.left(slot); left > 0 {
		waited = clock.Wait(over, left)
	}
	if over.Err() != nil {
		no.reason = whyDone(over)
	}
	return waited, no
}

// inOrder sorts background slots of the same instant by when they may be claimed: none waits for the turn of another.
func (t *turns) inOrder(slots []schedule.Slot) []schedule.Slot { return t.sorted(slots, t.delay) }

// ownFirst moves foreground slots behind those of the same instant where it is the turn of another server, and those that this one leaves
// to others for a second behind these: the queue does not wait while there is something else to run.
func (t *turns) ownFirst(slots []schedule.Slot) []schedule.Slot {
	return t.sorted(slots, func(slot schedule.Slot) time.Duration {
		if delay := t.delay(slot); delay > 0 {
			return oneserver.FirstAlone + delay.Truncate(oneserver.PreferredFirst)
		}
		return 0
	})
}

func (t *turns) sorted(slots []schedule.Slot, by func(schedule.Slot) time.Duration) []schedule.Slot {
	delays := map[schedule.Slot]time.Duration{}
	for _, slot := range slots {
		if delay := by(slot); delay > 0 {
			delays[slot] = delay
		}
	}
	if len(delays) == 0 {
		return slots
	}
	slots = slices.Clone(slots)
	slices.SortStableFunc(slots, func(a, b schedule.Slot) int {
		x, y := text.Later(a.At, t.tick.Minute), text.Later(b.At, t.tick.Minute)
		return cmp.Or(x.Compare(y), cmp.Compare(delays[a], delays[b]))
	})
	return slots
}
