// Package schedule is the model of schedule.yaml: what the rest of the program knows of it.
//
// Package schedule/load makes a Schedule of files. A Schedule is valid and complete: code that has
// one checks nothing again.
//
// The package is pure: it runs no processes, opens no connections and reads no clock, and no files
// but those that a notification names as ${file:PATH} (Notification.Expanded). Whether a user, a
// program or a server exists is not its concern.
package schedule

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/calendar"
	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// An Assertion is what the file says of its own due times (package assertion).
type Assertion struct {
	Text  string
	Place Place
}

// A Schedule is a valid schedule.yaml with everything that it includes.
type Schedule struct {
	File        string // absolute
	Name        string
	Location    *time.Location
	Environment string
	Server      string // the name of this machine, as far as the file says; else empty
	Store       Store
	StateDir    string // absolute
	History     History
	Pools       []Pool // in the order of the file
	Textfile    string // absolute: where each tick writes metrics; empty for nowhere
	Holidays    Holidays
	Logs        bool     // ticks and sched work print what tasks print
	Maintenance string   // absolute: the file that keeps tasks from running while it exists; empty for none
	Pauses      []*Pause // that the file plans, in its order
	Tasks       []*Task  // in the order of the file, groups and includes in their place

	// Without names the tasks that a file has problems with, if the schedule is the rest of that
	// file; else it is nil.
	Without []string

	// Lacking says that this is the whole schedule of a file whose text is right. It names
	// variables or files that are not there, so the tasks with Task.Lacks do not run.
	Lacking bool

	// Machine is this machine, as far as tasks ask. It has no name if no task says `servers`, and
	// no labels if no task asks for a label.
	Machine placement.Machine

	Warnings []Problem // things that are allowed and probably not meant
	BadLines []Problem // of a crontab: why the lines with these places are no tasks
	Digest   string    // of the text of every file that was read, in hexadecimal

	Sources []*yamldoc.Source // the files that were read, the main one first: what Archive is made of

	NewestHolidayAt Place // of the last of the Holidays that have a year
	Calendars       []NamedCalendar

	Assertions []Assertion // what the file says of its own due times
}

// A NamedCalendar is a calendar of the file, with its place in the file.
type NamedCalendar struct {
	*calendar.Calendar
	Place Place
}

// InPlace says what runs in place of an invalid file: it is this schedule.
func (s *Schedule) InPlace() string {
	switch {
	case s.Without == nil:
		return "the last valid schedule"
	case len(s.Without) == 0: // a message lacks a variable
		return "all its tasks, and a notification waits for its variable"
	}
	return "its tasks without a problem, so not " + strings.Join(s.Without, ", ")
}

// A Store is where servers share mutexes. Without Servers each machine uses its kernel's locks.
type Store struct {
	Servers []string // URLs, which may hold passwords
	Lease   time.Duration
}

// History says how much of the past is kept.
type History struct {
	Keep         time.Duration
	KeepFailures time.Duration // at least Keep; 0: as long as successes, and counted with them
	RunsPerTask  int
}

// LookBack is how far back a tick looks for slots that no tick covered.
const LookBack = 31 * 24 * time.Hour

// MaxMissedSlots is how many slots of a gap a task may ask to run at most. Each of them waits as a
// run, and no more runs of a task wait like that.
const MaxMissedSlots = 1000

// Due returns the slots of the minute that holds at, by instant and then in file order, of active
// tasks. A slot with unmet conditions is a slot all the same.
func (s *Schedule) Due(at time.Time) []Slot {
	minute := at.UTC().Truncate(time.Minute)
	var due []Slot
	for t := range s.ActiveTasks() {
		for _, slot := range t.When.Slots(minute) {
			due = append(due, Slot{Task: t, At: slot.UTC()})
		}
	}
	slices.SortStableFunc(due, func(a, b Slot) int { return a.At.Compare(b.At) }) // they are in file order
	return due
}

// Task returns the task with the name, active or not; nil if no task has it.
func (s *Schedule) Task(name string) *Task {
	i := slices.IndexFunc(s.Tasks, func(t *Task) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return s.Tasks[i]
}

// Active reports whether the task runs here at all: it is enabled, of this environment, and for
// this server.
func (s *Schedule) Active(t *Task) bool { return s.InUse(t) && s.Here(t) }

// ActiveTasks yields the active tasks in file order.
func (s *Schedule) ActiveTasks() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, t := range s.Tasks {
			if s.Active(t) && !yield(t) {
				return
			}
		}
	}
}

// Expecting returns the active tasks with an `expect`.
func (s *Schedule) Expecting() (tasks []*Task) {
	for t := range s.ActiveTasks() {
		if t.Expect != (Expect{}) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// InUse reports whether the task runs on some server: it is enabled and of this environment.
func (s *Schedule) InUse(t *Task) bool {
	return t.Enabled && (len(t.Environments) == 0 || slices.Contains(t.Environments, s.Environment))
}

// Inactive says why the task does not run here: "switched off", "not for staging: …"; empty for an
// active task.
func (s *Schedule) Inactive(t *Task) string {
	switch {
	case !t.Enabled:
		return "switched off"
	case !s.InUse(t):
		return "not for " + s.Environment + ": environments is " + strings.Join(t.Environments, ", ")
	case !s.Here(t):
		return fmt.Sprintf("not for this server: servers is %s, and this is %s",
			strings.Join(t.Servers, ", "), s.Machine)
	}
	return ""
}

// Here reports whether the task is for this server.
func (s *Schedule) Here(t *Task) bool { return len(t.Servers) == 0 || s.Machine.IsAny(t.Servers) }

// Files returns the absolute paths of the schedule's files, the main one first; none for a text.
func (s *Schedule) Files() []string {
	paths := make([]string, len(s.Sources))
	for i, source := range s.Sources {
		paths[i] = source.Name
		if !filepath.IsAbs(source.Name) {
			paths[i] = filepath.Join(filepath.Dir(s.File), source.Name)
		}
	}
	return paths
}

// Archive returns the texts of the schedule's files as one text. load.Archive makes the same
// schedule of it. Variables stand in it as ${VAR}, so no secret of the environment is in it. The
// archive of one file is that file after a comment.
func (s *Schedule) Archive() ([]byte, error) {
	if len(s.Sources) == 0 {
		return nil, errors.New("the schedule was not made from text")
	}
	return yamldoc.Pack(s.Sources), nil
}

// Triggers returns the triggers of all tasks by the task that they start, in file order.
func (s *Schedule) Triggers() map[string][]Trigger {
	byTask := map[string][]Trigger{}
	for _, t := range s.Tasks {
		for _, trigger := range t.Triggers() {
			byTask[trigger.Task] = append(byTask[trigger.Task], trigger)
		}
	}
	return byTask
}

// AssignPauses completes the pauses of the file, and gives each task the pauses that are for it.
func (s *Schedule) AssignPauses() {
	for _, p := range s.Pauses {
		p.Everything = len(p.Tasks)+len(p.Tags) == 0
		p.File = filepath.Base(s.File)
	}
	for _, t := range s.Tasks {
		t.Pauses = nil
		for _, p := range s.Pauses {
			if t.Obeys(p) {
				t.Pauses = append(t.Pauses, p)
			}
		}
	}
}

// A Slot is a task and one instant at which it is due, in UTC.
type Slot struct {
	Task *Task
	At   time.Time
}

// ClaimKey is the key of the claim of a slot. It does not contain the mutex, which tasks with other
// slots may share.
func (s Slot) ClaimKey() string { return s.Task.Name + "@" + s.At.UTC().Format("20060102T150405Z") }

// ClaimedUntil returns until when the claim of a slot is kept, on every server: an hour after the
// last time at which a tick may start the slot.
func (s Slot) ClaimedUntil() time.Time {
	last := s.At
	if s.Task.RunMissed || s.Task.WaitWhenStoreDown {
		last = last.Add(s.Task.MissedWithin)
	}
	return last.Add(time.Hour)
}
