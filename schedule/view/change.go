package view

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/state"
)

// A Change is what somebody changed, or tried to change, by a command or through the API.
type Change struct {
	ID     string            `json:"id"`
	At     humanize.JSONTime `json:"at"`
	Who    string            `json:"who"`
	From   string            `json:"from"`   // an address, "socket" or "command"
	Action string            `json:"action"` // such as trigger, stop or pause: see docs/json.md
	Target string            `json:"target"` // the task or the run
	Reason string            `json:"reason"`
	Error  string            `json:"error"` // why it was not done; else empty
}

// Everything is the target of a change that concerns all tasks.
const Everything = "everything"

// FromCommand is the origin of a change that somebody typed on this machine.
const FromCommand = "command"

func changeOf(c state.Change) Change {
	return Change{
		ID:     strconv.FormatInt(c.ID, 10),
		At:     humanize.UTC(c.At),
		Who:    c.Who,
		From:   c.From,
		Action: c.Action,
		Target: c.Target,
		Reason: c.Reason,
		Error:  c.Error,
	}
}

// A ChangeQuery chooses changes. Its zero value chooses all that the log has.
type ChangeQuery struct {
	Target       string // also finds changes of everything
	Since, Until time.Time
	Limit        int // 0: all
}

// ChangesBelow returns the changes in a state folder below an id (0: all), at most limit, the
// newest first. The result more reports whether there are others.
func ChangesBelow(ctx context.Context, folder string, below int64, limit int) (changes []Change, more bool, err error) {
	db, err := state.OpenRead(folder, state.Patience)
	if err != nil {
		return nil, false, err
	}
	defer db.Close()
	lines, err := db.Audit().Newest(ctx, below, limit+1)
	for _, line := range lines[:min(limit, len(lines))] {
		changes = append(changes, changeOf(line))
	}
	return changes, len(lines) > limit, err
}

// Changes returns the changes that were made on this machine, the newest first.
func Changes(ctx context.Context, s Source, q ChangeQuery) ([]Change, error) {
	found := []Change{}
	if err := Readable(s.Schedule.StateDir); err != nil {
		return found, err
	}
	db, err := state.OpenRead(s.Schedule.StateDir, state.Patience)
	if err != nil {
		return found, err
	}
	defer db.Close()
	const block = 500
	for below := int64(0); ; {
		lines, err := db.Audit().Newest(ctx, below, block)
		for _, c := range lines {
			if c.At.Before(q.Since) || q.Limit > 0 && len(found) == q.Limit {
				return found, err
			}
			if (q.Until.IsZero() || c.At.Before(q.Until)) && concerns(c, q.Target) {
				found = append(found, changeOf(c))
			}
		}
		if err != nil || len(lines) < block {
			return found, err
		}
		below = lines[len(lines)-1].ID
	}
}

// concerns reports whether the change concerns the task. Every change concerns the task "".
func concerns(c state.Change, task string) bool {
	return task == "" || c.Target == Everything || slices.Contains(strings.Split(c.Target, ", "), task)
}

// recentChanges returns the changes of a task in the last day that no run of it has in its record.
func recentChanges(ctx context.Context, s Source, task string) []Change {
	const maxOthers = 5
	all, err := Changes(ctx, s, ChangeQuery{Target: task, Since: s.Now().Add(-24 * time.Hour)})
	if err != nil {
		s.LeftOut(err)
	}
	others := slices.DeleteFunc(all, func(c Change) bool {
		return c.Action == "trigger" || c.Action == "retry" || c.Action == "cancel"
	})
	return others[:min(maxOthers, len(others))]
}

// Text returns in words what was changed, by whom, when and why.
func (c Change) Text(zone *time.Location) string {
	words := humanize.SecondZone(c.At.Time, zone) + ": " + c.Action + " by " + c.Who
	if c.Target == Everything {
		words += ", of everything"
	}
	if c.Reason != "" {
		words += ": " + c.Reason
	}
	if c.Error != "" {
		words += " (not done: " + c.Error + ")"
	}
	return humanize.Line(words)
}
