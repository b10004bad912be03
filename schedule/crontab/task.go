// Package crontab brings crontabs to sched. It reads one as cron does (Parse), writes its lines as
// the tasks of a schedule.yaml (Convert, Schedule.YAML), proves that both are due at the same
// minutes (Prove), and writes a schedule as a crontab (Export).
//
// # Promises
//
//   - What a command is to its shell is kept byte for byte, unless Tidy was asked for; Prove
//     compares that, too.
//   - A line either becomes a task or is left with a Finding that says why. None is dropped in
//     silence.
//   - Names depend on a line and the lines before it alone, so lines that are added below change
//     none.
//   - It is pure: it opens no file, runs nothing and reads no clock.
//
// It installs nothing: see package install. anacrontab(5) and run-parts(8) are not crontabs.
package crontab

import (
	"slices"

	"sched/schedule/crontab/vixie"
)

// A Task is a line of a crontab as a task.
type Task struct {
	Entry  Entry
	Source string // the name of the crontab

	Name, Description string
	Comment           []string // lines above the task
	Cron              string
	Timezone          string // "" for the machine's zone
	Command           string
	Shell             string
	Dir, User         string
	Env               Variables
	Mail              []string // the addresses that get what it prints; none for nobody
	MailFailures      bool     // only what a failure printed
	Enabled           bool

	WithoutOverlapping bool
	Mutex              string // with WithoutOverlapping; "" for its own
	Waits              bool   // with WithoutOverlapping: it waits in place of being skipped
	WaitAtMost         string // with Waits; "" for the default
	Timeout, KillAfter string
	Output             string // a file; "" for none
	Append             bool
	Tidied             bool // keys were made of parts of the command

	Boot bool // cron starts the line at a boot

	// Times are what cron makes of the line; nil with Boot, or if cron has no such times.
	Times *vixie.Times
}

// A Schedule is what becomes of crontabs.
type Schedule struct {
	Keys     []Key // of the whole file
	Tasks    []*Task
	Findings []Finding
	MailsTo  bool // cron mails what the tasks without MAILTO print to their user, which the schedule does not
}

// Left reports whether a line is not in the schedule.
func (s *Schedule) Left() bool {
	return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Left })
}

// TaskOf returns the task to which a line belongs, with the comment above it, or else the task with
// the name. It returns nil if the schedule has neither.
func (s *Schedule) TaskOf(line int, name string) *Task {
	for _, t := range s.Tasks {
		if line == t.Entry.Line || slices.ContainsFunc(t.Entry.Keys, func(k Key) bool { return k.Line == line }) {
			return t
		}
	}
	if i := slices.IndexFunc(s.Tasks, func(t *Task) bool { return t.Name == name }); i >= 0 {
		return s.Tasks[i]
	}
	return nil
}
