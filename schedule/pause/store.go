package pause

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"sched/mutex"
)

const (
	// tableControls has the last pause of each task and of Everything, and the last interrupt.
	tableControls = "controls"

	// interruptKey is a key among the names of tasks: no task can have that name.
	interruptKey = "!"

	// pauseFor is how long the store keeps a pause. Servers with a copy put it back after that.
	pauseFor = 400 * 24 * time.Hour

	// interruptFor is longer than a tick stays for later slots of its minute.
	interruptFor = time.Hour

	// mostAhead is how far the version of a pause may be ahead of the clock of the store: see
	// check.
	mostAhead = time.Hour
)

// A toldInterrupt is an interrupt with the store's time at which it was made, because the clock of
// the server may be wrong.
type toldInterrupt struct {
	Interrupt
	Told time.Time `json:"told"`
}

// readStore returns the controls: of each pause the newest version in the store or in remembered.
// With mend it writes pauses that the store lacks back to it, as after a restart without data. now
// is the time of the store.
func readStore(ctx context.Context, store mutex.Store, remembered Pauses, mend bool) (found Controls, now time.Time, err error) {
	values, err := store.All(ctx, tableControls)
	if err != nil {
		return found, now, err
	}
	if now, err = store.Now(ctx); err != nil {
		return found, now, err
	}
	if i, ok := mutex.Decode[toldInterrupt](values[interruptKey]); ok && i.By != "" {
		found.Interrupt, found.Interrupt.Age = i.Interrupt, now.Sub(i.Told)
	}
	found.Pauses = readPauses(values)
	found.Pauses.check(now)
	remembered, lacks := maps.Clone(remembered), Pauses{}
	remembered.check(now)
	for name, pause := range remembered {
		if known, ok := found.Pauses[name]; !ok || pause.Version > known.Version {
			found.Pauses[name], lacks[name] = pause, pause
		}
	}
	if mend {
		putPauses(ctx, store, lacks) // best effort: a later tick tries again
	}
	return found, now, nil
}

// readPauses reads the pauses among the values of the table. It leaves out values that no sched
// wrote.
func readPauses(values map[string][]byte) Pauses {
	pauses := Pauses{}
	for name, value := range values {
		pause, ok := mutex.Decode[Pause](value)
		if ok && name != interruptKey && name == mutex.Clean(name) {
			pauses[name] = pause
		}
	}
	return pauses
}

// check sets versions in the future to 0. Versions are times (next), so no sched gave such a
// version.
func (p Pauses) check(now time.Time) {
	for name, pause := range p {
		if pause.Version < 0 || pause.Version > now.Add(mostAhead).UnixMicro() {
			pause.Version = 0
			p[name] = pause
		}
	}
}

// putPauses sets pauses for all servers, by the names of tasks or for Everything.
func putPauses(ctx context.Context, store mutex.Store, pauses Pauses) error {
	for name, pause := range pauses {
		text, err := json.Marshal(pause)
		if err != nil {
			return err
		}
		if err := store.Put(ctx, tableControls, name, text, pauseFor); err != nil {
			return err
		}
	}
	return nil
}

// putInterrupt ends the ticks of all servers that began before it. It replaces the last interrupt.
func putInterrupt(ctx context.Context, store mutex.Store, i Interrupt) error {
	now, err := store.Now(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(toldInterrupt{i, now})
	if err != nil {
		return err
	}
	return store.Put(ctx, tableControls, interruptKey, text, interruptFor)
}
