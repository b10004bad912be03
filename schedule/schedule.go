// Package schedule says what is due, and when.
//
// It is pure: it runs no processes, opens no connections and reads no clock. Time is an argument
// of everything. Load is the one place that reads files, and only those it is told to.
package schedule

import (
	"slices"
	"time"
)

// A Schedule is a parsed and valid schedule.yaml with everything it includes.
type Schedule struct {
	File        string // absolute
	Name        string
	Location    *time.Location
	Environment string
	Store       Store
	StateDir    string // absolute
	History     History
	Textfile    string // absolute: where each tick writes metrics; empty for nowhere
	Holidays    Holidays
	Maintenance string  // absolute: the file that keeps tasks from running while it exists; empty for none
	Tasks       []*Task // in the order of the file, groups and includes in their place

	Warnings []Problem // what is allowed and probably not meant
	Digest   string    // of the text of every file that was read, in hexadecimal

	sources []*source // the main file, then what it includes: what Merged is made of

	newestHoliday   Date // not of those of every year
	newestHolidayAt Place
}

// History says how much of the past is kept.
type History struct {
	Keep        time.Duration
	RunsPerTask int
}

// LookBack is how far back a tick looks for slots that no tick covered.
const LookBack = 31 * 24 * time.Hour

// A Slot is a task and one instant at which it is due, in UTC.
type Slot struct {
	Task *Task
	At   time.Time
}

// Due returns the slots of the minute that holds at: in the order of their instants, and those of
// one instant in file order. Tasks that are switched off, or not of this environment, have none.
// A slot at which the task's conditions are unmet is a slot all the same.
func (s *Schedule) Due(at time.Time) []Slot {
	minute := at.UTC().Truncate(time.Minute)
	var due []Slot
	for _, t := range s.Tasks {
		if !s.Active(t) {
			continue
		}
		for _, slot := range t.When.Slots(minute) {
			due = append(due, Slot{Task: t, At: slot.UTC()})
		}
	}
	slices.SortStableFunc(due, func(a, b Slot) int { return a.At.Compare(b.At) })
	return due
}

// Active reports whether the task runs here at all: it is enabled and of this environment.
func (s *Schedule) Active(t *Task) bool {
	return t.Enabled && (len(t.Environments) == 0 || slices.Contains(t.Environments, s.Environment))
}

// UnmetCondition says in words which condition keeps the task from running at the instant, and "" when none does.
func (t *Task) UnmetCondition(at time.Time) string {
	return t.Conditions.FirstUnmet(at.In(t.When.Location))
}
