// Package schedule is the model of schedule.yaml, and its loader.
//
// Load makes a Schedule of a file and what it includes: a list of Tasks, each with when, what and under which
// conditions it runs. A Schedule is valid and complete; code that has one checks nothing again. A file with a mistake
// makes none, but an InvalidError with every Problem at its place.
//
// The package is pure: it runs no processes, opens no connections and reads no clock. Time is an argument of
// everything. Load is the one place that reads files, and only those that it is named. Whether a user, a program or a
// server exists is not its concern, and neither is what became of a run.
//
// The model is in schedule.go, task.go, command.go, condition.go, holidays.go and notification.go. The loader begins in
// load.go; keys.go has every key of the file, and the files called read… the readers of their values. YAML itself is
// the concern of schedule/document, and instants are that of schedule/cron.
package schedule

import (
	"slices"
	"time"

	"sched/schedule/document"
)

// A Schedule is a valid schedule.yaml with everything that it includes.
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
	Changes  []Problem // what means something else than it did in the version of sched before this one
	Digest   string    // of the text of every file that was read, in hexadecimal

	sources []*document.Source // the files that were read, the main one first: what Copy is made of

	newestHoliday   Date // not of those of every year
	newestHolidayAt Place
}

// A Store is where the servers of a schedule share its mutexes. Without Servers each machine stands
// alone, with locks of its kernel.
type Store struct {
	Servers []string // URLs, which may hold passwords
	Lease   time.Duration
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
