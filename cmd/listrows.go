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
	Unmet              []string      `json:"unmet,omitempty"` // for each time of next the condition that will not be met; absent where all will be
	Last               *recordJSON   `json:"last"`
	Running            []runningJSON `json:"running"`
	Waiting            []waitingJSON `json:"waiting"`
	Paused             *pausedJSON   `json:"paused"`
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
	defer all.Close()
	p.waiting = a.waiting(s, all.Live)
	for _, state := range all.Live {
		if !state.Deferred() {
			p.addRunning(state)
		}
	}
	if err == nil {
		p.last, err = all.Last(ctx, taskNames(s))
	}
	if err != nil {
		a.problem("the history cannot be read: %v", err)
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
		Next: []string{}, Running: p.running[t.Name], Waiting: p.waiting[t.Name],
	}
	for _, cron := range t.When.Crons {
		row.Cron = append(row.Cron, cron.String())
	}
	for range n {
		next, ok := t.When.Next(at)
		if !ok || !active {
			break
		}
		row.times = append(row.times, next.In(t.When.Location))
		row.Next = append(row.Next, next.In(t.When.Location).Format(time.RFC3339))
		row.Unmet = append(row.Unmet, t.UnmetCondition(next))
		at = next
	}
	if !slices.ContainsFunc(row.Unmet, func(reason string) bool { return reason != "" }) {
		row.Unmet = nil
	}
	if last, ok := p.last[t.Name]; ok {
		json := toJSON(last)
		row.Last = &json
	}
	if row.Paused = pausedNow(p.pauses, t, a.now()); row.Paused != nil {
		for i := range row.Waiting {
			row.Waiting[i].paused = true
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

func (row taskJSON) unmet(i int) string {
	if row.Unmet == nil {
		return ""
	}
	return row.Unmet[i]
}
