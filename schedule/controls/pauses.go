package controls

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule/text"
)

// Controls are what people set for all ticks of a schedule: pauses and an interrupt. They are in
// the store, or in the file orders.json of a machine that stands alone. With a store, the file is a
// copy (docs/decisions.md#a-pause-outlives-its-redis).
type Controls struct {
	Of        string    `json:"of,omitempty"` // whose copy this is: the name of a schedule with a store; else empty
	Pauses    Pauses    `json:"pauses,omitempty"`
	Interrupt Interrupt `json:"interrupt,omitzero"` // the last one
}

// Everything stands for all tasks where the name of one could be.
const Everything = "*"

// Pauses are the last pause of each task and of Everything, by name. Those that are over stay, and
// replace older copies (docs/decisions.md#a-pause-that-is-over-is-kept).
type Pauses map[string]Pause

// A Pause keeps tasks from starting.
type Pause struct {
	Version int64     `json:"version"` // of two copies the larger counts: see next
	By      string    `json:"by"`
	Server  string    `json:"server"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until,omitzero"` // zero: until `sched resume`
	Ended   time.Time `json:"ended,omitzero"` // when `sched resume` ended it
	Reason  string    `json:"reason,omitempty"`
}

// An Interrupt ends the ticks that had begun before it. The zero value stands for none.
type Interrupt struct {
	By     string    `json:"by"`
	Server string    `json:"server"`
	At     time.Time `json:"at"`

	Age time.Duration `json:"-"` // how long ago it was when it was read, by the clock that wrote At
}

// Same reports whether both are the same interrupt.
func (i Interrupt) Same(other Interrupt) bool {
	return i.By == other.By && i.Server == other.Server && i.At.Equal(other.At)
}

// String returns in words who interrupted on which server.
func (i Interrupt) String() string { return "interrupted by " + i.By + " on " + i.Server }

// InEffect reports whether the pause keeps its tasks from starting at that time.
func (p Pause) InEffect(at time.Time) bool {
	return p.By != "" && p.Ended.IsZero() && (p.Until.IsZero() || at.Before(p.Until))
}

// Covers reports whether the pause was, or is, in effect at a time of the past.
func (p Pause) Covers(at time.Time) bool {
	over := !p.Ended.IsZero() && !at.Before(p.Ended) || !p.Until.IsZero() && !at.Before(p.Until)
	return p.By != "" && !at.Before(p.Since) && !over
}

// Text returns in words who paused since when and why, in the zone, with the date where that is not the one of near.
func (p Pause) Text(near time.Time, zone *time.Location) string {
	words := fmt.Sprintf("paused by %s on %s since %s", p.By, p.Server, text.MinuteNear(p.Since, near, zone))
	if !p.Until.IsZero() {
		words += ", until " + p.End(near, zone)
	}
	if p.Reason != "" {
		words += ": " + p.Reason
	}
	return words
}

// End returns in words when the pause ends by itself, a short one to the second. It must have an end (Until).
func (p Pause) End(near time.Time, zone *time.Location) string {
	end := text.MinuteNear(p.Until, near, zone)
	if p.Until.Sub(p.Since) < 2*time.Minute {
		end += p.Until.Format(":05")
	}
	return end
}

// Of returns the pause in effect for a task: its own or, unless even (even_when_paused), of
// everything.
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

// Tasks returns the names of those tasks that have a pause of their own in effect, sorted.
func (p Pauses) Tasks(at time.Time) (names []string) {
	for name, pause := range p {
		if name != Everything && pause.InEffect(at) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Add takes from others what is newer than what p has, and reports whether anything is.
func (p *Pauses) Add(others Pauses) (changed bool) {
	for name, other := range others {
		if known, ok := (*p)[name]; ok && other.Version <= known.Version {
			continue
		}
		if *p == nil {
			*p = Pauses{}
		}
		(*p)[name], changed = other, true
	}
	return changed
}

// next gives changed pauses versions that replace those of p: now, or the next number.
func (p Pauses) next(changed Pauses, now time.Time) Pauses {
	next := Pauses{}
	for name, pause := range changed {
		pause.Version = max(now.UnixMicro(), p[name].Version+1)
		next[name] = pause
	}
	return next
}
