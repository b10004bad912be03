// Package pause keeps what people set for all ticks of a schedule: pauses and an interrupt. It
// keeps them in the database of the state folder, or in the store with a copy on each server. It
// also looks for the maintenance file.
package pause

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/state"
)

// Controls are what people set for all ticks of a schedule. With a store, the database has a copy
// of the pauses (docs/internals/decisions.md#a-pause-outlives-its-redis).
type Controls struct {
	Pauses    Pauses
	Interrupt Interrupt // the last interrupt
}

// Everything stands for all tasks, in place of a task's name.
const Everything = state.Everything

// BySched is who paused a task that has failed too often (pause_after).
const BySched = "sched"

// A Pause keeps tasks from starting.
type Pause = state.Pause

// Pauses are the pauses of each task and of Everything, by name: the newest pause that began when
// it was made, and every planned pause. Pauses that are over stay, and replace older copies
// (docs/internals/decisions.md#a-pause-that-is-over-is-kept).
type Pauses map[string][]Pause

// An Interrupt ends the ticks that had begun before it. The zero value is no interrupt.
type Interrupt struct {
	By     string    `json:"by"`
	Server string    `json:"server"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`

	Age time.Duration `json:"-"` // how old it was when it was read, by the clock that wrote At
}

// Same reports whether both are the same interrupt.
func (i Interrupt) Same(other Interrupt) bool {
	return i.By == other.By && i.Server == other.Server && i.At.Equal(other.At)
}

// String returns in words who interrupted on which server and why.
func (i Interrupt) String() string {
	words := "interrupted by " + i.By + " on " + i.Server
	if i.Reason != "" {
		words += ": " + i.Reason
	}
	return words
}

// InEffect returns the pause of a name, a task's or Everything, that is in effect.
func (p Pauses) InEffect(name string, at time.Time) (Pause, bool) {
	i := slices.IndexFunc(p[name], func(pause Pause) bool { return pause.InEffect(at) })
	if i < 0 {
		return Pause{}, false
	}
	return p[name][i], true
}

// Last returns the newest pause of a name that began when it was made; the zero Pause for none.
// Pause.Same holds between any two pauses that are not planned, so the zero Pause finds them.
func (p Pauses) Last(name string) Pause { return p.known(name, Pause{}) }

// ToCome returns the pauses of a name that begin after at.
func (p Pauses) ToCome(name string, at time.Time) []Pause {
	return slices.DeleteFunc(slices.Clone(p[name]), func(pause Pause) bool { return !pause.ToCome(at) })
}

// ForTask returns the pause in effect for a task: its own pause, the pause of everything unless the
// task has even_when_paused, or a pause of the schedule.
func (p Pauses) ForTask(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(pause Pause) bool { return pause.InEffect(at) })
}

// Stopping is ForTask for pauses that stop runs.
func (p Pauses) Stopping(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(pause Pause) bool { return pause.Stop && pause.InEffect(at) })
}

// Foreseen is ForTask for times to come: only pauses with an end count.
func (p Pauses) Foreseen(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(pause Pause) bool { return pause.InEffect(at) && !pause.Until.IsZero() })
}

// Covering is ForTask for times of the past. It knows a pause that has ended meanwhile, as long as
// no later pause of the same name was made.
func (p Pauses) Covering(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(pause Pause) bool { return pause.Covers(at) })
}

// Touch reports whether a pause of the task may cover a time between from and until, both included.
func (p Pauses) Touch(t *schedule.Task, from, until time.Time) bool {
	touches := func(pause Pause) bool { return pause.Touches(from, until) }
	if len(t.Pauses) > 0 || slices.ContainsFunc(p[t.Name], touches) {
		return true
	}
	return !t.EvenWhenPaused && slices.ContainsFunc(p[Everything], touches)
}

// first returns the first pause of a task that matches, in the order of ForTask. A pause of the
// schedule is computed for the time at; matches then decides about it as about the others.
func (p Pauses) first(t *schedule.Task, at time.Time, matches func(Pause) bool) (Pause, bool) {
	if i := slices.IndexFunc(p[t.Name], matches); i >= 0 {
		return p[t.Name][i], true
	}
	if i := slices.IndexFunc(p[Everything], matches); i >= 0 && !t.EvenWhenPaused {
		pause := p[Everything][i]
		pause.Everything = true
		return pause, true
	}
	for _, planned := range t.Pauses {
		from, until, ok := planned.At(at)
		if pause := OfFile(planned, from, until); ok && matches(pause) {
			return pause, true
		}
	}
	return Pause{}, false
}

// OfFile returns a pause that the schedule has, from one time to another.
func OfFile(p *schedule.Pause, from, until time.Time) Pause {
	return Pause{
		By:         p.File,
		Since:      from.UTC(),
		Until:      until.UTC(),
		Reason:     p.Reason,
		Planned:    true,
		Stop:       p.Stop,
		Everything: p.Everything,
		InFile:     true,
	}
}

// Tasks returns the names of the tasks with a pause of their own in effect, sorted.
func (p Pauses) Tasks(at time.Time) (names []string) {
	for name := range p {
		if _, ok := p.InEffect(name, at); ok && name != Everything {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// known returns the version of a pause (Pause.Same) that p has; the zero Pause for none.
func (p Pauses) known(name string, version Pause) Pause {
	if i := slices.IndexFunc(p[name], version.Same); i >= 0 {
		return p[name][i]
	}
	return Pause{}
}

// put sets a pause of a name, in place of another version of it.
func (p Pauses) put(name string, pause Pause) {
	p[name] = append(slices.DeleteFunc(slices.Clone(p[name]), pause.Same), pause)
}

// newerIn returns the pauses of others that are newer than the versions in p, or not in p.
func (p Pauses) newerIn(others Pauses) Pauses {
	newer := Pauses{}
	for name, pauses := range others {
		for _, other := range pauses {
			if known := p.known(name, other); known == (Pause{}) || other.Version > known.Version {
				newer.put(name, other)
			}
		}
	}
	return newer
}

// withVersions returns changed pauses with version numbers that replace the versions in p: now, or
// the next number.
func (p Pauses) withVersions(changed Pauses, now time.Time) Pauses {
	numbered := Pauses{}
	for name, pauses := range changed {
		for _, pause := range pauses {
			pause.Version = max(now.UnixMicro(), p.known(name, pause).Version+1)
			numbered.put(name, pause)
		}
	}
	return numbered
}

// Maintenance returns in words that the maintenance file of a schedule exists. It returns "" if the
// file does not exist, or if file is "". The folder is the folder of the schedule. After an error
// nobody knows whether the file exists.
func Maintenance(file, folder string) (reason string, err error) {
	if file == "" {
		return "", nil
	}
	_, err = os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("nobody knows whether there is maintenance: %w", err)
	}
	shown, relErr := filepath.Rel(folder, file)
	if relErr != nil || shown == ".." || strings.HasPrefix(shown, "../") {
		shown = file
	}
	return "maintenance: " + shown + " exists", nil
}

// usable returns a copy without the planned pauses that ended long ago (Pause.Forgotten), and
// without versions in the future.
func (p Pauses) usable(now time.Time) Pauses {
	kept := Pauses{}
	for name, pauses := range p {
		for _, one := range pauses {
			if !one.Forgotten(now) {
				kept.put(name, one)
			}
		}
	}
	kept.resetFutureVersions(now)
	return kept
}

// resetFutureVersions sets versions in the future to 0. Versions are times (withVersions), so no
// sched gave such a version.
func (p Pauses) resetFutureVersions(now time.Time) {
	for _, pauses := range p {
		for i, one := range pauses {
			if one.Version < 0 || one.Version > now.Add(maxAhead).UnixMicro() {
				pauses[i].Version = 0
			}
		}
	}
}

const (
	// tableControls has the last pause of each task and of Everything, and the last interrupt.
	tableControls = "controls"

	// interruptKey is the key of the interrupt. The other keys begin with names of tasks: no task
	// can have this name.
	interruptKey = "!"

	// pauseFor is how long the store keeps a pause. Servers with a copy put it back after that.
	pauseFor = 400 * 24 * time.Hour

	// interruptFor is longer than a tick stays for later slots of its minute.
	interruptFor = time.Hour

	// maxAhead is how far the version of a pause may be ahead of the clock of the store
	// (resetFutureVersions).
	maxAhead = time.Hour
)
