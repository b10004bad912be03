package runner

import (
	"context"
	"fmt"

	"sched/schedule/servers"

	"sched/schedule/clock"

	"sched/schedule/controls"
)

// of is whose orders these are: those of all servers of a schedule, or of this machine alone.
func (s State) of() string {
	if s.Remote == nil {
		return ""
	}
	return s.Remote.Config().Namespace
}

// Orders returns what people want of the ticks. With a store that is what the store says; then this machine keeps a
// copy, so that nothing begins to run when the store is down or has forgotten it. The error says that
// there was no answer, or that the file cannot be read; the orders are those that this machine knew.
func (s State) Orders() (controls.Controls, error) {
	copied, err := controls.ReadFile(s.Dir, s.of(), clock.Now())
	if s.Remote == nil {
		return copied, err
	}
	orders, err := servers.Controls(context.Background(), s.Remote, copied.Pauses)
	if err != nil {
		return copied, err
	}
	if copied.Pauses.Add(orders.Pauses) {
		s.copyPauses(orders.Pauses) // best effort: where it is not kept the next tick tries again
	}
	return orders, nil
}

func (s State) copyPauses(pauses controls.Pauses) error {
	return controls.ChangeFile(s.Dir, s.of(), clock.Now(), func(o *controls.Controls) bool { return o.Pauses.Add(pauses) })
}

// Pause replaces pauses by what change returns for them, given those there are: on this machine, or on all servers
// of the store.
func (s State) Pause(change func(controls.Pauses) controls.Pauses) error {
	if s.Remote == nil {
		return controls.ChangeFile(s.Dir, "", clock.Now(), func(o *controls.Controls) bool {
			return o.Pauses.Add(o.Pauses.Next(change(o.Pauses)))
		})
	}
	orders, err := s.Orders()
	if err != nil {
		return err // before anything was changed
	}
	pauses := orders.Pauses.Next(change(orders.Pauses))
	if err := servers.Pause(context.Background(), s.Remote, pauses); err != nil {
		return fmt.Errorf("nobody knows whether this was heard, so say it again: %w", err)
	}
	s.copyPauses(pauses) // or the next tick does
	return nil
}

// Interrupt ends the ticks that wait for later slots of their minute.
func (s State) Interrupt(i controls.Interrupt) error {
	if s.Remote != nil {
		return servers.Interrupt(context.Background(), s.Remote, i)
	}
	return controls.ChangeFile(s.Dir, "", clock.Now(), func(o *controls.Controls) bool { o.Interrupt = i; return true })
}
