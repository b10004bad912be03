// Package control does what people ask for through commands and the API: runs, retries, stops,
// pauses. A request is a row that any tick answers. A process that starts runs at once answers it,
// too. A kill at any moment leaves a whole request or nothing.
package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

// An Actor is somebody who asks for something. Controls.ReadOnly of its Source must be false.
type Actor struct {
	view.Source
	By        string   // for the history and the pauses
	Environ   []string // the variables of ticks, for runs that start at once; nil: only ticks can start runs
	OnlyTicks string   // why only ticks can start runs, when Environ is nil
}

// CheckRunnable returns an error for a task that no tick starts here: the task is switched off, for
// another environment, or lacks a variable.
func CheckRunnable(s *schedule.Schedule, t *schedule.Task) error {
	if t.Lacks != "" {
		return view.Fail(view.Conflict, "set it here, and for ticks", "%s cannot run: %s", t.Name, t.Lacks)
	}
	if s.Active(t) {
		return nil
	}
	hint := "`sched test " + t.Name + "` runs it all the same, now and here"
	switch {
	case s.InUse(t):
		hint = "ask on one of its servers; " + hint
	case !t.Enabled:
		hint += "; write `every: hand` in place of `enabled: false` for a task that only people start"
	}
	return view.Fail(view.Conflict, hint, "%s is %s", t.Name, s.Inactive(t))
}

// Reason returns a typed reason as it is kept: one line without control characters.
func Reason(typed string) string { return humanize.Line(strings.Join(strings.Fields(typed), " ")) }

// Because returns what somebody did (action), followed by the reason. Each of the two may be empty.
func Because(action, reason string) string {
	reason = Reason(reason)
	if action != "" && reason != "" {
		return action + ": " + reason
	}
	return action + reason
}

// ChooseTasks returns the names of the given tasks and of the tasks with one of the tags, each
// once. A given task must be in the schedule or paused. Without names and tags it returns
// pause.Everything.
func (a Actor) ChooseTasks(paused pause.Pauses, names, tags []string) ([]string, error) {
	if len(names)+len(tags) == 0 {
		return []string{pause.Everything}, nil
	}
	isCurrent := func(p pause.Pause) bool { return a.InEffect(p) || a.ToCome(p) }
	for _, name := range names {
		_, err := view.FindTask(a.Schedule, name)
		if err != nil && !slices.ContainsFunc(paused[name], isCurrent) {
			return nil, err
		}
	}
	if err := CheckTags(a.Schedule, tags); err != nil {
		return nil, err
	}
	for _, t := range a.Schedule.Tasks {
		if slices.ContainsFunc(t.Tags, func(tag string) bool { return slices.Contains(tags, tag) }) {
			names = append(names, t.Name)
		}
	}
	var chosen []string
	for _, name := range names {
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

// CheckTags returns an error for a tag that no task has. The error names the nearest tag.
func CheckTags(s *schedule.Schedule, tags []string) error {
	var used []string
	for _, t := range s.Tasks {
		used = append(used, t.Tags...)
	}
	for _, tag := range tags {
		if !slices.Contains(used, tag) {
			return view.Fail(view.NotFound, view.DidYouMean(tag, used), "no task has the tag %q", tag)
		}
	}
	return nil
}

// MaxPlannedAhead is how far ahead a planned pause may end.
const MaxPlannedAhead = 366 * 24 * time.Hour

// CheckPlanned returns what is wrong with the times of a pause that is to begin at from. In its
// texts flag comes before from, for and until: "--" for commands, "" for the API.
func (a Actor) CheckPlanned(from, until time.Time, flag string) error {
	now := a.Now()
	text := func(at time.Time) string { return humanize.MinuteZone(at, a.Schedule.Location) }
	switch {
	case !from.After(now):
		const hint = "leave it out for a pause that begins now"
		return view.Fail(view.Invalid, hint, "%sfrom is in the past: it is %s", flag, text(now))
	case until.IsZero():
		return view.Fail(view.Invalid, "", "a planned pause needs an end: %sfor or %suntil", flag, flag)
	case !until.After(from):
		return view.Fail(view.Invalid, "", "the pause would end before it begins, at %s", text(from))
	case until.After(now.Add(MaxPlannedAhead)):
		return view.Fail(view.Invalid, "", "the pause would end more than a year ahead, at %s", text(until))
	}
	return nil
}

// A PauseWish says what a pause is to be.
type PauseWish struct {
	From   time.Time // when it begins; zero for now
	Until  time.Time // when it ends by itself; zero: it lasts until somebody resumes
	Stop   bool      // the runs that go on when it begins are stopped
	Reason string
}

// LogReason returns the reason for the log of changes. It begins with the times of a planned pause.
func (w PauseWish) LogReason(zone *time.Location) string {
	if w.From.IsZero() {
		return Reason(w.Reason)
	}
	return Because("from "+humanize.MinuteZone(w.From, zone)+" until "+humanize.MinuteZone(w.Until, zone), w.Reason)
}

// PlannedEnded begins the reason in the log of changes when a planned pause was taken back.
const PlannedEnded = "what was planned"

// Pause pauses the tasks of those names, or pause.Everything. A pause that begins now replaces the
// pauses in effect of the same name. A planned pause replaces the pause that was planned for the
// same time. Pause returns the new pause, and the pauses as they were before.
func (a Actor) Pause(names []string, wish PauseWish) (made pause.Pause, before pause.Pauses, err error) {
	now := a.Now().UTC().Round(0)
	made = pause.Pause{
		By:     a.By,
		Server: a.Server,
		Since:  now,
		Until:  wish.Until.UTC(),
		Reason: Reason(wish.Reason),
		Stop:   wish.Stop,
	}
	if !wish.From.IsZero() {
		made.Planned, made.Since = true, wish.From.UTC()
	}
	err = a.Controls.Pause(func(all pause.Pauses) pause.Pauses {
		before = maps.Clone(all)
		changed := pause.Pauses{}
		for _, name := range names {
			changed[name] = []pause.Pause{made}
			for _, old := range all[name] {
				if old.Planned && !made.Planned && old.InEffect(now) {
					old.Ended = now
					changed[name] = append(changed[name], old)
				}
			}
		}
		return changed
	})
	return made, before, err
}

// Resume ends the pauses of those names for which isChosen is true (InEffect, ToCome). It returns
// these pauses as they were.
func (a Actor) Resume(names []string, isChosen func(pause.Pause) bool) (ended pause.Pauses, err error) {
	err = a.Controls.Pause(func(all pause.Pauses) pause.Pauses {
		ended = pause.Pauses{}
		changed := pause.Pauses{}
		for _, name := range names {
			for _, p := range all[name] {
				if isChosen(p) {
					ended[name] = append(ended[name], p)
					p.Ended = a.Now().UTC().Round(0)
					changed[name] = append(changed[name], p)
				}
			}
		}
		return changed
	})
	return ended, err
}

// InEffect reports whether a pause is in effect now, for Resume.
func (a Actor) InEffect(p pause.Pause) bool { return p.InEffect(a.Now()) }

// ToCome reports whether a pause begins later, for Resume.
func (a Actor) ToCome(p pause.Pause) bool { return p.ToCome(a.Now()) }

// NotRunningError returns the error for a task or run that does not live here: it says why there is
// nothing to stop.
func (a Actor) NotRunningError(ctx context.Context, name string) error {
	records, _ := a.Records(ctx)
	defer records.Close()
	for _, r := range records.Pending() {
		if r.Task == name {
			return view.RefuseWaiting(a.Source, r)
		}
	}
	if _, err := view.FindTask(a.Schedule, name); err == nil {
		return view.Fail(view.Conflict, "", "%s is not running", name)
	}
	row, err := view.FindRecord(ctx, a.Source, name)
	if err != nil {
		return err
	}
	became := view.Describe(row)
	if !row.Ran() {
		became = "was " + became
	}
	short := humanize.ShortRun(row.ID)
	return view.Fail(view.Conflict, "", "run %s of %s is not running: it %s", short, row.Task, became)
}

// NotStoppedError returns the answer to what run.Caller.Stop returned; nil if the run was stopped.
//
//	error           outcome            answer
//	ErrNotFound                        the run had ended
//	nil             none               the run had ended
//	ErrNotRunning                      it was not stopped, and how it ended
//	nil             not stopped        it was not stopped, and how it ended
//	another                            the error, which says why the run goes on
func NotStoppedError(r state.Row, s run.Stopping, err error) error {
	short := humanize.ShortRun(r.ID)
	switch {
	case errors.Is(err, state.ErrNotFound) || err == nil && s.Record.Outcome == "":
		return view.Fail(view.Conflict, "", "run %s of %s had ended", short, r.Task)
	case errors.Is(err, run.ErrNotRunning) || err == nil && s.Record.Outcome != outcome.Stopped:
		became := view.Describe(s.Record)
		return view.Fail(view.Conflict, "", "run %s of %s was not stopped: it %s", short, r.Task, became)
	case err != nil:
		return view.Fail(view.Conflict, "", "run %s of %s: %w", short, r.Task, err)
	}
	return nil
}
