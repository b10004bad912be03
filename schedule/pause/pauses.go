// Package pause keeps what people set for all ticks of a schedule: pauses and an interrupt. It
// keeps them in the database of the state folder, or in the store with a copy on each server.
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

// Controls are what people set for all ticks of a schedule: pauses and an interrupt. They are in
// the store, or in the database of a machine without a store. With a store, the database has a copy
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

// Pauses are the pauses of each task and of Everything, by name: the last one that began when it
// was made, and those that were planned. Pauses that are over stay, and replace older copies
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
	i := slices.IndexFunc(p[name], func(one Pause) bool { return one.InEffect(at) })
	if i < 0 {
		return Pause{}, false
	}
	return p[name][i], true
}

// Last returns the pause of a name that was made last, without those that were planned.
func (p Pauses) Last(name string) Pause { return p.like(name, Pause{}) }

// ToCome returns the pauses of a name that begin after at.
func (p Pauses) ToCome(name string, at time.Time) []Pause {
	return slices.DeleteFunc(slices.Clone(p[name]), func(one Pause) bool { return !one.ToCome(at) })
}

// Of returns the pause in effect for a task: its own pause, the pause of everything unless the task
// has even_when_paused, or a pause of the schedule.
func (p Pauses) Of(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(one Pause) bool { return one.InEffect(at) })
}

// Ending is Of for times to come: only pauses with an end count.
func (p Pauses) Ending(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(one Pause) bool { return one.InEffect(at) && !one.Until.IsZero() })
}

// Covering is Of for times of the past. It knows a pause that has ended meanwhile, as long as no
// later pause of the same name was made.
func (p Pauses) Covering(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(one Pause) bool { return one.Covers(at) })
}

// Touch reports whether a pause of the task may cover a time between from and until, both included.
func (p Pauses) Touch(t *schedule.Task, from, until time.Time) bool {
	touches := func(one Pause) bool { return one.Touches(from, until) }
	if len(t.Pauses) > 0 || slices.ContainsFunc(p[t.Name], touches) {
		return true
	}
	return !t.EvenWhenPaused && slices.ContainsFunc(p[Everything], touches)
}

func (p Pauses) first(t *schedule.Task, at time.Time, is func(Pause) bool) (Pause, bool) {
	if i := slices.IndexFunc(p[t.Name], is); i >= 0 {
		return p[t.Name][i], true
	}
	if i := slices.IndexFunc(p[Everything], is); i >= 0 && !t.EvenWhenPaused {
		one := p[Everything][i]
		one.Everything = true
		return one, true
	}
	for _, planned := range t.Pauses {
		if from, until, ok := planned.At(at); ok && is(OfFile(planned, from, until)) {
			return OfFile(planned, from, until), true
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

// Stopping is Of for pauses that stop runs.
func (p Pauses) Stopping(t *schedule.Task, at time.Time) (Pause, bool) {
	return p.first(t, at, func(one Pause) bool { return one.Stop && one.InEffect(at) })
}

// like returns the pause of a name that is the same as another one, perhaps in another version; the
// zero value without one.
func (p Pauses) like(name string, other Pause) Pause {
	if i := slices.IndexFunc(p[name], other.Is); i >= 0 {
		return p[name][i]
	}
	return Pause{}
}

// put sets a pause of a name, in place of the one that is the same.
func (p Pauses) put(name string, one Pause) {
	p[name] = append(slices.DeleteFunc(slices.Clone(p[name]), one.Is), one)
}

// newer returns the pauses of others that are newer than the pauses in p, or not in p.
func (p Pauses) newer(others Pauses) Pauses {
	newer := Pauses{}
	for name, pauses := range others {
		for _, other := range pauses {
			if known := p.like(name, other); known.By == "" || other.Version > known.Version {
				newer.put(name, other)
			}
		}
	}
	return newer
}

// next gives changed pauses versions that replace the versions in p: now, or the next number.
func (p Pauses) next(changed Pauses, now time.Time) Pauses {
	next := Pauses{}
	for name, pauses := range changed {
		for _, one := range pauses {
			one.Version = max(now.UnixMicro(), p.like(name, one).Version+1)
			next.put(name, one)
		}
	}
	return next
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
