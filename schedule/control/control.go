// Package control does what people ask for through commands and the API: runs, retries, stops,
// pauses. A request is a row that any tick answers. A process that starts runs at once answers it,
// too. A kill at any moment leaves a whole request or nothing.
package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/run/triggered"
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
const maxPlannedAhead = 366 * 24 * time.Hour

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
	case until.After(now.Add(maxPlannedAhead)):
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
		if groups := leftBehind(ctx, records, name); len(groups) > 0 {
			return view.Fail(view.Conflict, "kill -- "+strings.Join(groups, " "),
				"%s is over, but left processes behind", name)
		}
		if a.Controls.Store != nil { // another server may not have announced a run yet
			return view.Fail(view.Conflict, "", "%s is not running here, nor on another server as far as is known",
				name)
		}
		return view.Fail(view.Conflict, "", "%s is not running", name)
	}
	row, err := view.FindRecord(ctx, a.Source, name)
	if err != nil {
		return view.OrNotHere(ctx, a.Source, "stop", name, err)
	}
	became := view.Describe(row)
	if !row.Ran() {
		became = "was " + became
	}
	short := humanize.ShortRun(row.ID)
	return view.Fail(view.Conflict, "", "run %s of %s is not running: it %s", short, row.Task, became)
}

// maxLeft is how many of the last runs of a task are asked what they left behind.
const maxLeft = 10

// leftBehind returns the process groups that the last runs of a task left behind, as kill(1) takes
// them.
func leftBehind(ctx context.Context, records *view.Records, task string) (groups []string) {
	if records.Err != nil || !process.FindsByRun {
		return nil
	}
	ran, _ := records.Find(ctx, past.Query{Task: task, Outcomes: outcome.Ran, Limit: maxLeft})
	for _, row := range ran {
		for _, group := range holding.LiveGroups(row) {
			groups = append(groups, fmt.Sprintf("-%d", group))
		}
	}
	return groups
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

// Trigger returns the request for one more run of a task at a time, with these values of its
// params. Submit then stores the request. The reason may be empty.
func (a Actor) Trigger(task string, at time.Time, params map[string]string, reason string) (state.Row, error) {
	t, err := view.FindTask(a.Schedule, task)
	if err != nil {
		return state.Row{}, err
	}
	if err := cmp.Or(CheckRunnable(a.Schedule, t), CheckValues(t, params)); err != nil {
		return state.Row{}, err
	}
	return newRequest(t, at, params, Because(schedule.WithValues(triggeredBy+a.By, params), reason)), nil
}

// Retry returns the request for one more run of the task of a run that has ended. The new run
// starts as the task is defined then, for the slot of the old run, and with its params unless they
// are replaced. Submit then stores the request.
func (a Actor) Retry(ctx context.Context, wish RetryWish) (Retry, error) {
	was, err := a.endedRun(ctx, wish.Run)
	if err != nil {
		return Retry{}, err
	}
	t, err := view.FindTask(a.Schedule, was.Task)
	if err != nil {
		short := humanize.ShortRun(was.ID)
		return Retry{}, view.Fail(view.Conflict, "",
			"run %s was of %s, which is no longer in the schedule", short, was.Task)
	}
	if err := CheckRunnable(a.Schedule, t); err != nil {
		return Retry{}, err
	}
	params, err := valuesOf(t, was, wish.Params)
	if err != nil {
		return Retry{}, err
	}
	origin := "retry of " + humanize.ShortRun(was.ID)
	row := newRequest(t, wish.At, params, Because(schedule.WithValues(origin+" by "+a.By, params), wish.Reason))
	row.Cause, row.NoChain = was.Cause, was.NoChain
	row.Repeats = humanize.Later(was.CommandSlot(), was.LastSlot)
	if was.LastSlot.IsZero() {
		row.Nominal, row.Moved = was.Nominal, was.Moved
	}
	records, err := a.Records(ctx)
	if err != nil { // then the records are empty
		a.Problem("%v", err)
	}
	defer records.Close()
	isSame := func(r state.Row) bool { return strings.HasPrefix(r.Origin, origin) }
	return Retry{
		Row:          row,
		Original:     was,
		Changed:      changedKeys(was.Snapshot, t),
		WaitsAlready: slices.ContainsFunc(append(records.Pending(), wish.Others...), isSame),
	}, nil
}

// endedRun returns the row of the run that name stands for (see past.OneRun). Its error says why
// there is no run to retry: the run has not ended, name is the name of a task, or no run fits.
func (a Actor) endedRun(ctx context.Context, name string) (state.Row, error) {
	live, lost, ofTask, err := a.History(ctx, past.Query{Task: name, Limit: 1})
	if err != nil {
		return state.Row{}, err
	}
	begun := slices.DeleteFunc(slices.Concat(live, lost), state.Row.Pending)
	row, err := view.OneRow(begun, name)
	switch {
	case err != nil:
		return state.Row{}, err
	case row.ID != "":
		return state.Row{}, notEndedError(row, lost)
	case len(ofTask) > 0:
		if _, err := view.FindTask(a.Schedule, name); err != nil {
			hint := "what is remembered of it is in `sched history " + name + "`"
			return state.Row{}, view.Fail(view.NotFound, hint, "%w any more", err.(*view.Error).Err)
		}
		newest := humanize.ShortRun(ofTask[0].ID)
		hint := fmt.Sprintf("its newest run is %s; `sched trigger %s` asks for a new one", newest, name)
		return state.Row{}, view.Fail(view.NotFound, hint, "no run of %s failed: name one of its runs", name)
	}
	row, err = view.FindRecord(ctx, a.Source, name)
	if err != nil {
		err = view.OrNotHere(ctx, a.Source, "retry", name, err)
	}
	return row, err
}

// RequestWaits reports whether a run of the task waits that this actor has asked for without a
// reason and without params, as a hook does.
func (a Actor) RequestWaits(ctx context.Context, task string) (bool, error) {
	records, err := a.Records(ctx)
	if err != nil {
		return false, err
	}
	defer records.Close()
	return slices.ContainsFunc(records.Live, func(r state.Row) bool {
		return r.Task == task && r.Waits() && r.Origin == triggeredBy+a.By
	}), nil
}

// AtOnce returns the request as one that starts as soon as it is submitted, if this process can
// start runs as ticks do.
func (a Actor) AtOnce(r state.Row) state.Row {
	if a.Environ != nil {
		r.Wait.NotBefore = time.Time{}
	}
	return r
}

// Submit stores requests: all, or after an error none. Runs that start at once (AtOnce) start then.
// TickOf has the ticks that answer the others.
func (a Actor) Submit(requests ...state.Row) error {
	if len(requests) == 0 {
		return nil
	}
	db, err := state.Open(a.Schedule.StateDir, state.Patience)
	if err == nil {
		_, err = db.Runs().Request(context.Background(), requests...)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		var tasks []string
		for _, r := range requests {
			tasks = append(tasks, r.Task)
		}
		hint := "`sched test " + tasks[0] + "` runs it now"
		return view.Fail(view.Conflict, hint, "%s cannot be asked for: %w", strings.Join(tasks, ", "), err)
	}
	startsAtOnce := func(r state.Row) bool { return r.Wait.NotBefore.IsZero() }
	if slices.ContainsFunc(requests, startsAtOnce) { // after an error the next tick starts the run
		_ = triggered.Start(a.Schedule.StateDir, a.Schedule.File, a.Environ)
	}
	return nil
}

// TickOf returns the minute of the tick that will answer a request that is submitted now.
func (a Actor) TickOf(r state.Row) time.Time {
	return view.TickAt(humanize.Later(r.Slot, a.Now().Add(1))) // the tick of this minute has been
}

// Cancel takes back a run that waits and has not begun, and records it as skipped for the reason,
// which may be empty. It reports false when the run does not wait any more.
func (a Actor) Cancel(r state.Row, reason string) (done bool, err error) {
	db, err := state.Open(a.Schedule.StateDir, state.Patience)
	if err != nil {
		return false, err
	}
	result := state.Result{Outcome: outcome.Skipped, Reason: Because("cancelled by "+a.By, reason), Ended: a.Now()}
	done, err = db.Runs().Settle(context.Background(), r.ID, result)
	return done, errors.Join(err, db.Close())
}
