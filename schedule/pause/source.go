package pause

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// namespace returns the name under which the store has the controls; "" for the controls of this
// machine alone.
func (s Source) namespace() string {
	if s.Store == nil {
		return ""
	}
	return s.Store.Config().Namespace
}

// Read returns the controls as they are now, and keeps a copy of the store's pauses. After an error
// (no answer, or an unreadable database) it returns the controls that this machine knew last.
func (s Source) Read() (Controls, error) {
	local, err := s.readLocal()
	if s.Store == nil {
		return local, err
	}
	current, now, err := readStore(context.Background(), s.Store, local.Pauses, !s.ReadOnly)
	if err != nil {
		return local, err
	}
	local.Pauses.resetFutureVersions(now)
	if !s.ReadOnly && len(local.Pauses.newerIn(current.Pauses)) > 0 {
		s.copyPauses(current.Pauses, now)
	}
	return current, nil
}

// readLocal reads the database with the connection of the tick. Without such a connection, or if
// the tick cannot write, it opens the database to read.
func (s Source) readLocal() (Controls, error) {
	if s.DB != nil {
		if c, err := controlsIn(s.DB, s.namespace()); !state.Unwritable(err) {
			return c, err
		}
	}
	return controlsAt(s.Dir, s.namespace())
}

// ReadHere returns the controls in the database of a schedule's state folder. With a store that is
// the copy of the pauses; ReadHere does not ask the store. It changes nothing.
func ReadHere(s *schedule.Schedule) (Controls, error) {
	namespace := ""
	if len(s.Store.Servers) > 0 {
		namespace = s.Name
	}
	return controlsAt(s.StateDir, namespace)
}

// controlsAt opens the database of a state folder, and returns the controls in it.
func controlsAt(dir, namespace string) (Controls, error) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return Controls{}, unknownError(err)
	}
	defer db.Close()
	return controlsIn(db, namespace)
}

// controlsIn returns the controls in a database. The copy of a store's pauses has no interrupt.
func controlsIn(db *state.DB, namespace string) (c Controls, err error) {
	ctx := context.Background()
	if c.Pauses, err = db.Pauses(namespace).All(ctx); err != nil {
		return c, unknownError(err)
	}
	if namespace == "" {
		if _, err = db.Values().Get(ctx, interruptValue, &c.Interrupt); err != nil {
			return c, unknownError(err)
		}
	}
	if c.Interrupt.By != "" {
		c.Interrupt.Age = clock.Now().Sub(c.Interrupt.At)
	}
	return c, nil
}

// unknownError says what follows from an error: without pauses, tasks run.
func unknownError(err error) error {
	return fmt.Errorf("nobody knows what is paused, so nothing is: %w", err)
}

// copyPauses writes a copy of pauses into the database. After an error the next tick tries again.
func (s Source) copyPauses(pauses Pauses, now time.Time) {
	_ = s.changeLocal(func(all Pauses) Pauses {
		all.resetFutureVersions(now)
		return all.newerIn(pauses)
	})
}

// changeLocal sets, in the database, the pauses that change returns.
func (s Source) changeLocal(change func(all Pauses) Pauses) error {
	return s.writeLocal(func(db *state.DB) error {
		changeMap := func(all map[string][]Pause) map[string][]Pause { return change(all) }
		return db.Pauses(s.namespace()).Change(context.Background(), clock.Now(), changeMap)
	})
}

// writeLocal writes to the database with the connection of the tick, else with its own.
func (s Source) writeLocal(op func(*state.DB) error) error {
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
		return s.changeLocal(func(all Pauses) Pauses { return all.withVersions(change(all), clock.Now()) })
	}
	current, err := s.Read()
	if err != nil {
		return err // nothing was changed yet
	}
	now, err := s.Store.Now(context.Background())
	if err != nil {
		return err
	}
	pauses := current.Pauses.withVersions(change(current.Pauses), now)
	if err := putPauses(context.Background(), s.Store, pauses); err != nil {
		return fmt.Errorf("nobody knows whether this was heard, so say it again: %w", err)
	}
	s.copyPauses(pauses, now)
	return nil
}

// Interrupt ends the ticks that wait for later slots of their minute: on this machine, or on all
// servers of the store. It replaces the last interrupt.
func (s Source) Interrupt(i Interrupt) error {
	ctx := context.Background()
	if s.Store == nil {
		return s.writeLocal(func(db *state.DB) error { return db.Values().Set(ctx, interruptValue, i) })
	}
	now, err := s.Store.Now(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(storedInterrupt{i, now})
	if err != nil {
		return err
	}
	return s.Store.Put(ctx, tableControls, interruptKey, text, interruptFor)
}

// A storedInterrupt is an interrupt as the store has it: with the time of the store (Told) at which
// it was made, because the clock of the server may be wrong.
type storedInterrupt struct {
	Interrupt
	Told time.Time `json:"told"`
}

// readStore returns the controls, and the time of the store (now). Of each pause it returns the
// newest version: the version in the store, or the version that this machine remembers. With mend
// it writes remembered pauses that the store lacks back to the store, as after a restart without
// data.
func readStore(
	ctx context.Context, store mutex.Store, remembered Pauses, mend bool,
) (current Controls, now time.Time, err error) {
	values, err := store.All(ctx, tableControls)
	if err != nil {
		return current, now, err
	}
	if now, err = store.Now(ctx); err != nil {
		return current, now, err
	}
	if i, ok := mutex.Decode[storedInterrupt](values[interruptKey]); ok && i.By != "" {
		current.Interrupt, current.Interrupt.Age = i.Interrupt, now.Sub(i.Told)
	}
	current.Pauses = pausesIn(values).usable(now)
	newer := current.Pauses.newerIn(remembered.usable(now))
	for name, pauses := range newer {
		for _, one := range pauses {
			current.Pauses.put(name, one)
		}
	}
	if mend {
		_ = putPauses(ctx, store, newer) // after an error a later tick tries again
	}
	return current, now, nil
}

// pausesIn returns the pauses among the values of the store. It leaves out what sched has not
// written.
func pausesIn(values map[string][]byte) Pauses {
	pauses := Pauses{}
	for key, value := range values {
		one, ok := mutex.Decode[Pause](value)
		name, _, _ := strings.Cut(key, plannedFor)
		isWrittenBySched := key != interruptKey && key == mutex.CleanText(key) && key == keyOf(name, one)
		if ok && isWrittenBySched {
			pauses.put(name, one)
		}
	}
	return pauses
}

// plannedFor stands between the name and the beginning in the key of a planned pause: no task can
// have it in its name.
const plannedFor = "@"

// keyOf returns the key of a pause in the store.
func keyOf(name string, p Pause) string {
	if !p.Planned {
		return name
	}
	return name + plannedFor + p.Since.UTC().Format(time.RFC3339)
}

// putPauses sets pauses for all servers, by the names of tasks or for Everything.
func putPauses(ctx context.Context, store mutex.Store, pauses Pauses) error {
	for name, all := range pauses {
		for _, one := range all {
			text, err := json.Marshal(one)
			if err != nil {
				return err
			}
			if err := store.Put(ctx, tableControls, keyOf(name, one), text, pauseFor); err != nil {
				return err
			}
		}
	}
	return nil
}
