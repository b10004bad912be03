package controls

import (
	"context"
	"fmt"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// A Source is where controls are: in the state folder Dir, or in a Store with a copy in Dir.
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

// Read returns the controls as they are now, and keeps a copy of what a store says. After an error
// (no answer, or an unreadable file) they are those that this machine knew last.
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

// copyPauses keeps a copy of pauses. After a failure the next tick tries again.
func (s Source) copyPauses(pauses Pauses, now time.Time) {
	ChangeFile(s.Dir, s.owner(), clock.Now(), func(c *Controls) bool { //nolint: see above
		c.Pauses.check(now)
		return c.Pauses.Add(pauses)
	})
}

// Pause replaces pauses by what change returns for them. After an error it may have been done or
// not; repeating is safe.
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
