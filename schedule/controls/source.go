package controls

import (
	"context"
	"fmt"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// A Source is where the controls of a schedule are: in the state folder Dir, or with a Store there, and in Dir a copy
// of what it said last.
type Source struct {
	Dir   string
	Store mutex.Store // nil for a machine that stands alone

	ReadOnly bool // Read writes nothing: neither the copy, nor to a store that has forgotten
}

// owner is the name of the schedule whose controls the store has; "" for those of this machine alone.
func (s Source) owner() string {
	if s.Store == nil {
		return ""
	}
	return s.Store.Config().Namespace
}

// Read returns the controls as they are now. With a store that is what the store says, and this
// machine keeps a copy, so that nothing begins to run when the store is down or has forgotten it. The error says that
// there was no answer, or that the file cannot be read; the controls are then those that this machine knew last.
func (s Source) Read() (Controls, error) {
	copied, err := ReadFile(s.Dir, s.owner(), clock.Now())
	if s.Store == nil {
		return copied, err
	}
	current, now, err := readStore(context.Background(), s.Store, copied.Pauses, !s.ReadOnly)
	if err != nil {
		return copied, err
	}
	copied.Pauses.check(now)
	if !s.ReadOnly && copied.Pauses.Add(current.Pauses) {
		s.copyPauses(current.Pauses, now)
	}
	return current, nil
}

// copyPauses keeps a copy of pauses, at the time now of the store. Where that is not possible the next
// tick tries again.
func (s Source) copyPauses(pauses Pauses, now time.Time) {
	ChangeFile(s.Dir, s.owner(), clock.Now(), func(c *Controls) bool { //nolint: see above
		c.Pauses.check(now)
		return c.Pauses.Add(pauses)
	})
}

// Pause replaces pauses by what change returns for them, given those there are: on this machine, or on all servers
// of the store. After an error that says so the change may have been made or not; to make it again is safe.
func (s Source) Pause(change func(Pauses) Pauses) error {
	if s.Store == nil {
		return ChangeFile(s.Dir, "", clock.Now(), func(c *Controls) bool {
			return c.Pauses.Add(c.Pauses.next(change(c.Pauses), clock.Now()))
		})
	}
	current, err := s.Read()
	if err != nil {
		return err // nothing was changed yet
	}
	now, err := s.Store.Now(context.Background())
	if err != nil {
		return err
	}
	pauses := current.Pauses.next(change(current.Pauses), now)
	if err := putPauses(context.Background(), s.Store, pauses); err != nil {
		return fmt.Errorf("nobody knows whether this was heard, so say it again: %w", err)
	}
	s.copyPauses(pauses, now)
	return nil
}

// Interrupt ends the ticks that wait for later slots of their minute: on this machine, or on all servers of the store.
func (s Source) Interrupt(i Interrupt) error {
	if s.Store != nil {
		return putInterrupt(context.Background(), s.Store, i)
	}
	return ChangeFile(s.Dir, "", clock.Now(), func(c *Controls) bool { c.Interrupt = i; return true })
}
