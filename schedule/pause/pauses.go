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

// Pauses are the last pause of each task and of Everything, by name. Pauses that are over stay, and
// replace older copies (docs/internals/decisions.md#a-pause-that-is-over-is-kept).
type Pauses map[string]Pause

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

// Of returns the pause in effect for a task: its own pause or, unless even is true
// (even_when_paused), the pause of everything.
func (p Pauses) Of(task string, even bool, at time.Time) (Pause, bool) {
	if own := p[task]; own.InEffect(at) {
		return own, true
	}
	all := p[Everything]
	return all, !even && all.InEffect(at)
}

// Ending is Of for times to come: only pauses with an end count.
func (p Pauses) Ending(task string, even bool, at time.Time) (Pause, bool) {
	pause, paused := p.Of(task, even, at)
	return pause, paused && pause.Until.After(at)
}

// Covered reports whether the last pause of the task or of everything covers a time of the past.
func (p Pauses) Covered(task string, even bool, at time.Time) bool {
	return p[task].Covers(at) || !even && p[Everything].Covers(at)
}

// Tasks returns the names of the tasks with a pause of their own in effect, sorted.
func (p Pauses) Tasks(at time.Time) (names []string) {
	for name, pause := range p {
		if name != Everything && pause.InEffect(at) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// newer returns the pauses of others that are newer than the pauses in p, or not in p.
func (p Pauses) newer(others Pauses) Pauses {
	newer := Pauses{}
	for name, other := range others {
		if known, ok := p[name]; !ok || other.Version > known.Version {
			newer[name] = other
		}
	}
	return newer
}

// next gives changed pauses versions that replace the versions in p: now, or the next number.
func (p Pauses) next(changed Pauses, now time.Time) Pauses {
	next := Pauses{}
	for name, pause := range changed {
		pause.Version = max(now.UnixMicro(), p[name].Version+1)
		next[name] = pause
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
	shown, rerr := filepath.Rel(folder, file)
	if rerr != nil || shown == ".." || strings.HasPrefix(shown, "../") {
		shown = file
	}
	return "maintenance: " + shown + " exists", nil
}
