package pause

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/state"
)

// A Source is where controls are kept: in the database of the state folder Dir, or in a Store with
// a copy of the pauses in Dir.
type Source struct {
	Dir   string
	Store mutex.Store // nil for a machine that stands alone
	DB    *state.DB   // of Dir, if a tick has it open; nil: each call opens it

	ReadOnly bool // Read writes neither the copy, nor pauses that the store has lost
}

// interruptValue is the value of the database with the last interrupt.
const interruptValue = "interrupt"

// of is the name of the schedule whose controls the store has; "" for the controls of this machine
// alone.
func (s Source) of() string {
	if s.Store == nil {
		return ""
	}
	return s.Store.Config().Namespace
}

// Read returns the controls as they are now, and keeps a copy of the store's pauses. After an error
// (no answer, or an unreadable database) it returns the controls that this machine knew last.
func (s Source) Read() (Controls, error) {
	copied, err := s.local()
	if s.Store == nil {
		return copied, err
	}
	current, now, err := readStore(context.Background(), s.Store, copied.Pauses, !s.ReadOnly)
	if err != nil {
		return copied, err
	}
	copied.Pauses.check(now)
	if !s.ReadOnly && len(copied.Pauses.newer(current.Pauses)) > 0 {
		s.copyPauses(current.Pauses, now)
	}
	return current, nil
}

// local reads the database with the connection of the tick. Without such a connection, or if the
// tick cannot write, it opens the database to read.
func (s Source) local() (c Controls, err error) {
	if s.DB != nil {
		if c, err = read(s.DB, s.of()); !state.Unwritable(err) {
			return c, err
		}
	}
	return look(s.Dir, s.of())
}

// ReadHere returns the controls in the database of a schedule's state folder. With a store that is
// the copy of the pauses; ReadHere does not ask the store. It changes nothing.
func ReadHere(s *schedule.Schedule) (Controls, error) {
	of := ""
	if len(s.Store.Servers) > 0 {
		of = s.Name
	}
	return look(s.StateDir, of)
}

func look(dir, of string) (c Controls, err error) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return c, unknown(err)
	}
	defer db.Close()
	return read(db, of)
}

func read(db *state.DB, of string) (c Controls, err error) {
	ctx := context.Background()
	if c.Pauses, err = db.Pauses(of).All(ctx); err == nil && of == "" {
		_, err = db.Values().Get(ctx, interruptValue, &c.Interrupt)
	}
	if c.Interrupt.By != "" {
		c.Interrupt.Age = clock.Now().Sub(c.Interrupt.At)
	}
	return c, unknown(err)
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("nobody knows what is paused, so nothing is: %w", err)
}

// copyPauses keeps a copy of pauses. After a failure the next tick tries again.
func (s Source) copyPauses(pauses Pauses, now time.Time) {
	s.change(func(all Pauses) Pauses { //nolint: see above
		all.check(now)
		return all.newer(pauses)
	})
}

// change sets, in the database, the pauses that the function returns.
func (s Source) change(change func(all Pauses) Pauses) error {
	return s.write(func(db *state.DB) error {
		return db.Pauses(s.of()).Change(context.Background(), func(all map[string]Pause) map[string]Pause { return change(all) })
	})
}

// write writes with the connection of the tick, else with its own.
func (s Source) write(op func(*state.DB) error) error {
	if s.DB != nil {
		return op(s.DB)
	}
	db, err := state.Open(s.Dir, state.Patience)
	if err != nil {
		return err
	}
	return errors.Join(op(db), db.Close())
}

// Pause replaces pauses by the pauses that change returns. Pause may call change twice. After an
// error the change may have been made or not; repeating is safe.
func (s Source) Pause(change func(Pauses) Pauses) error {
	if s.Store == nil {
		return s.change(func(all Pauses) Pauses { return all.next(change(all), clock.Now()) })
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

// Interrupt ends the ticks that wait for later slots of their minute: on this machine, or on all
// servers of the store.
func (s Source) Interrupt(i Interrupt) error {
	if s.Store != nil {
		return putInterrupt(context.Background(), s.Store, i)
	}
	return s.write(func(db *state.DB) error { return db.Values().Set(context.Background(), interruptValue, i) })
}
