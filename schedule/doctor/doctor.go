// Package doctor examines why a schedule works in a shell and not from cron: which program calls
// it, in which environment, and what the machine lacks. Checks know nothing of each other, only
// look, and have a deadline. Nothing is guessed: the environment is the one that a tick wrote down
// (KeepNote).
//
// A Machine says what a task would lack if it ran now, also for `sched check`.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
)

// A Level is how bad a result is.
type Level string

// The levels, from good to bad.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Bad     Level = "problem"
)

// A Result is what a check found.
type Result struct {
	Check string `json:"check"`
	Level Level  `json:"result"`
	Text  string `json:"text"`
	Hint  string `json:"hint"` // may be empty

	OfHost bool `json:"-"` // only the host of this container can mend it: Worst leaves it out
}

// A Subject is what is examined, and its surroundings. Checks may read it at the same time.
type Subject struct {
	Schedule *schedule.Schedule
	Broken   error // why the schedule in the file is invalid: Schedule is what ticks run then
	Now      time.Time
	Environ  []string // of the person
	Self     string   // the path of this sched
	Zone     string   // the machine's, as this process sees it
	Server   string   // the name of this machine, as ticks announce it
	Store    mutex.Store

	// LoadWith loads the schedule with the variables that lookup finds, and returns what is then
	// wrong with it.
	LoadWith func(lookup func(string) (string, bool)) error

	noteOnce sync.Once
	note     Note
	hasNote  bool

	crontabsOnce sync.Once
	cronLines    []cronLine
	crontabError error
}

// tickNote returns the note with the environment of the ticks; false if no tick wrote one.
func (s *Subject) tickNote() (Note, bool) {
	s.noteOnce.Do(func() { s.note, s.hasNote = ReadNote(s.Schedule.StateDir) })
	return s.note, s.hasNote
}

// A check looks at one thing. It returns a finding for each problem, or one finding that says what
// is fine.
type check struct {
	name string
	run  func(context.Context, *Subject) findings
}

// findings lack the names of their checks.
type findings []Result

func (f *findings) add(level Level, hint, format string, args ...any) {
	*f = append(*f, Result{Level: level, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// finding returns a single finding.
func finding(level Level, hint, format string, args ...any) (f findings) {
	f.add(level, hint, format, args...)
	return f
}

// orFine returns the findings. Without findings it returns one that says what is fine.
func (f findings) orFine(format string, args ...any) findings {
	if len(f) > 0 {
		return f
	}
	return fine(format, args...)
}

// fine returns a finding that says what is fine.
func fine(format string, args ...any) findings { return finding(OK, "", format, args...) }

// maxCheckTime bounds each check. Checks run at the same time, so it bounds the examination, too.
const maxCheckTime = 5 * time.Second

// Examine returns the checks' results in the order of the list. It takes at most maxCheckTime.
func Examine(ctx context.Context, s *Subject) (results []Result) {
	found := make([]findings, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { found[i] = c.within(ctx, s) })
	}
	all.Wait()
	for i, c := range checks {
		for _, r := range found[i] {
			r.Check = c.name
			results = append(results, r)
		}
	}
	return results
}

// within gives up on a check that takes too long: a network file system may never answer.
func (c check) within(ctx context.Context, s *Subject) findings {
	ctx, cancel := context.WithTimeout(ctx, maxCheckTime)
	defer cancel()
	done := make(chan findings, 1)
	go func() { done <- c.run(ctx, s) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
		return finding(Warning, "something that it looks at hangs: a network, or a file system",
			"no answer after %s", maxCheckTime)
	}
}

// checks are in the order of results: what calls sched, what it gives, the tasks, the machine.
var checks = []check{
	{"schedule", checkSchedule},
	{"crontab", checkCrontab},
	{"cron", checkCron},
	{"systemd", checkSystemd},
	{"ticks", checkTicks},
	{"double ticks", checkDoubles},
	{"variables", checkVariables},
	{"servers", checkServers},
	{"path", checkPath},
	{"time zone", checkZone},
	{"zone data", checkZoneData},
	{"limits", checkLimits},
	{"tasks", checkTasks},
	{"cgroups", checkCgroups},
	{"state folder", checkState},
	{"disk", checkDisk},
	{"history", checkHistory},
	{"clock", checkClock},
	{"clock changes", checkClockChanges},
	{"notifications", checkNotifications},
	{"metrics", checkMetrics},
	{"store", checkStore},
}

// Worst returns the worst level of the results, without results of the host.
func Worst(results []Result) Level {
	for _, level := range []Level{Bad, Warning} {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Level == level && !r.OfHost }) {
			return level
		}
	}
	return OK
}
