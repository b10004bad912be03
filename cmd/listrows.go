package cmd

import (
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"
)

type taskJSON struct {
	Name               string        `json:"name"`
	Cron               []string      `json:"cron"`
	Timezone           string        `json:"timezone"`
	Command            string        `json:"command"`
	Description        string        `json:"description"`
	Background         bool          `json:"background"`
	WithoutOverlapping bool          `json:"without_overlapping"`
	OneServer          bool          `json:"one_server"`
	Next               []string      `json:"next"`
	times              []time.Time   // the same, in the task's zone
	conditions         string        // those of time, in words
	Slots              []dueJSON     `json:"slots,omitempty"` // the next times at which it is due; absent where all of them meet the conditions
	Last               *recordJSON   `json:"last"`
	Running            []runningJSON `json:"running"`
	Waiting            []waitingJSON `json:"waiting"`
	Paused             *pausedJSON   `json:"paused"`
}

// A dueJSON is a time at which a task is due. Unmet is the condition that will keep it from running then; empty where none will.
type dueJSON struct {
	Slot  string `json:"slot"`
	Unmet string `json:"unmet"`
}

type runningJSON struct {
	Run   string `json:"run"`
	PID   *int   `json:"pid"` // null until the command has started
	Host  string `json:"host"`
	Since string `json:"since"` // empty where the holder of a lock did not write it down

	since time.Time // exactly
}

// past is what list says of what happened, by the name of the task.
type past struct {
	last    map[string]outcome.Record
	running map[string][]runningJSON
	waiting map[string][]waitingJSON
	pauses  controls.Pauses
}

// past reads the history of this machine. An error is only printed: a list without it is still a list.
func (a listCommand) past(s *schedule.Schedule) past {
	p := past{running: map[string][]runningJSON{}}
	all, err := a.openRecords(s)
	if err == nil {
		defer all.Close()
		p.last, err = all.Last(ctx, taskNames(s))
	}
	if err != nil {
		a.problem("the history cannot be read: %v", err)
	}
	p.waiting = a.waiting(s, all.Live)
	for _, state := range all.Live {
		if !state.Deferred() {
			p.addRunning(state)
		}
	}
	return p
}

func (p past) addRunning(state runfile.State) {
	p.running[state.Begin.Task] = append(p.running[state.Begin.Task], toRunningJSON(state))
}

func (a listCommand) listRow(t *schedule.Task, active bool, at time.Time, n int, p past) taskJSON {
	row := taskJSON{
		Name: t.Name, Timezone: t.When.Location.String(), Command: commandText(t.Command), Description: t.Description,
		Background: t.Background, WithoutOverlapping: t.WithoutOverlapping, OneServer: t.OneServer,
		conditions: t.Conditions.String(), Next: []string{}, Running: p.running[t.Name], Waiting: p.waiting[t.Name],
	}
	for _, cron := range t.When.Crons {
		row.Cron = append(row.Cron, cron.String())
	}
	if active {
		row.lookAhead(t, at, n, p.pauses)
	}
	if last, ok := p.last[t.Name]; ok {
		json := toJSON(last)
		row.Last = &json
	}
	if row.Paused = pausedNow(p.pauses, t, a.now()); row.Paused != nil {
		for i := range row.Waiting {
			row.Waiting[i].paused = row.Paused
		}
	}
	if row.Running == nil {
		row.Running = []runningJSON{}
	}
	if row.Waiting == nil {
		row.Waiting = []waitingJSON{}
	}
	return row
}

func toRunningJSON(state runfile.State) runningJSON {
	holder := run.HolderOf(state)
	since := ""
	if !holder.Since.IsZero() {
		since = holder.Since.UTC().Format(time.RFC3339)
	}
	return runningJSON{holder.Run, pidOrNil(holder.PID), holder.Host, since, holder.Since}
}

// pidOrNil is nil for 0, which stands for a command that has not started yet.
func pidOrNil(pid int) *int {
	if pid == 0 {
		return nil
	}
	return &pid
}

// lookAhead fills in the next n times at which the task will run, and those at which it is due.
func (row *taskJSON) lookAhead(t *schedule.Task, at time.Time, n int, pauses controls.Pauses) {
	from := at
	for range n {
		next, ok := nextRun(t, from, pauses)
		if !ok {
			break
		}
		row.times = append(row.times, next.In(t.When.Location))
		row.Next = append(row.Next, next.In(t.When.Location).Format(time.RFC3339))
		from = next
	}
	from = at
	for range n {
		slot, ok := t.When.Next(from)
		if !ok {
			break
		}
		row.Slots = append(row.Slots, dueJSON{slot.In(t.When.Location).Format(time.RFC3339), t.UnmetCondition(slot)})
		from = slot
	}
	if !slices.ContainsFunc(row.Slots, func(due dueJSON) bool { return due.Unmet != "" }) {
		row.Slots = nil
	}
}

// nextRun returns when a task will run next after a time, as far as time decides: its conditions, and pauses that have an end. When a
// pause without an end is over time does not tell, so it does not count.
func nextRun(t *schedule.Task, after time.Time, pauses controls.Pauses) (time.Time, bool) {
	for {
		next, ok := t.NextRun(after)
		if !ok {
			return next, false
		}
		pause, paused := pauses.Of(t.Name, t.EvenWhenPaused, next)
		if !paused || !pause.Until.After(next) {
			return next, true
		}
		after = pause.Until.Add(-1)
	}
}
