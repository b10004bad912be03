package hook

import (
	"context"
	"time"

	"sched/schedule/clock"
	"sched/schedule/process"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

const (
	timeout   = 30 * time.Second // how long a hook may take
	killAfter = 2 * time.Second  // how long it may then take to end
	MaxTime   = timeout + killAfter
	// pollEvery is the time between two looks at a process that is no child.
	pollEvery = 20 * time.Millisecond
)

// marks note in the database which hooks of a run have begun and ended, in this process or in
// earlier ones.
type marks struct {
	db  *state.DB
	row *ownrow.Row
}

// begin notes that a hook is about to fire. It reports false for a hook that has ended already. A
// hook that a killed process had begun fires again, unless its command lives on: then begin waits
// for the command.
func (m marks) begin(name string) bool {
	if m.row.Unstored {
		return true
	}
	mark := m.find(name)
	if !mark.Ended.IsZero() {
		return false
	}
	if livesOn := func() bool { return process.HasGroup(m.row.ID, mark.PID) }; mark.PID != 0 && livesOn() {
		for end := time.Now().Add(timeout); time.Now().Before(end) && livesOn(); {
			time.Sleep(pollEvery)
		}
		m.markEnded(name, "")
		return false
	}
	fire := true
	err := m.row.Write(func(ctx context.Context) (err error) {
		fire, err = m.row.As.HookBegun(ctx, m.row.ID, name, clock.Now())
		return err
	})
	return fire || err != nil && !m.row.IsTaken(err)
}

// markForked notes the process of a hook.
func (m marks) markForked(name string, pid int) {
	m.row.Write(func(ctx context.Context) error { return m.row.As.HookForked(ctx, m.row.ID, name, pid) })
}

// markEnded notes that a hook has ended, or that a notification or a request of it was made. The
// note says how it failed; "" if it succeeded.
func (m marks) markEnded(name, note string) {
	m.row.Write(func(ctx context.Context) error {
		return m.row.As.HookEnded(ctx, m.row.ID, name, clock.Now(), note)
	})
}

// hasEnded reports whether a hook has ended.
func (m marks) hasEnded(name string) bool { return !m.find(name).Ended.IsZero() }

// find returns the hook with the name; the zero Hook if it has not begun.
func (m marks) find(name string) state.Hook {
	for _, hook := range m.all() {
		if hook.Name == name {
			return hook
		}
	}
	return state.Hook{}
}

// all returns the hooks that have begun, in this process or in earlier ones. If the database cannot
// be read, it returns nil.
func (m marks) all() []state.Hook {
	if m.row.Unstored {
		return nil
	}
	begun, _ := m.db.Hooks(context.Background(), m.row.ID)
	return begun
}
