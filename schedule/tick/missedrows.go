package tick

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A gap of a month holds millions of slots. For each task the newest ones have a row each, and all
// older ones one row together.
const (
	maxRowsOfTask = 100
	maxRows       = 1000 // of all tasks; not counting the rows for the older slots
)

// addRows makes the rows of the slots that stay missed.
func (b *backfill) addRows() {
	rows := maxRowsOfTask
	if b.gap != nil {
		rows = min(maxRows/len(b.gap.tasks), maxRowsOfTask)
	}
	for _, name := range b.names() {
		for _, one := range b.missed[name] {
			if !b.settled.has(name, one.slot) { // else it runs once
				b.add(name, one.slot, one.slot, 1, one.reason, b.pausedText(name, one.slot))
			}
		}
		if b.inGap(name) {
			b.addGapRows(b.task(name), rows)
		}
	}
}

// names returns the tasks with something missed: tasks of the schedule, and tasks that it has no
// more.
func (b *backfill) names() (names []string) {
	for _, task := range b.ledger.Schedule.Tasks {
		if len(b.missed[task.Name]) > 0 || b.inGap(task.Name) {
			names = append(names, task.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.missed)) {
		if b.task(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// addGapRows adds a row for each of the newest slots in the gap, and one for all older ones: one
// for each pause in which such slots were, and for each time between.
func (b *backfill) addGapRows(task *schedule.Task, rows int) {
	from, reason := b.gap.countedFrom, b.gap.reason(b.ledger.Schedule.Location)
	for at := range task.When.Backward(from, b.gap.end) {
		if b.settled.has(task.Name, at) {
			continue
		}
		if rows == 0 {
			b.addRanges(task, b.settled.firstOpen(task, from), at, reason)
			return
		}
		b.add(task.Name, at, at, 1, reason, b.paused(task, at))
		rows--
	}
}

// addRanges adds rows for the slots of a task from first through last that are not settled: a row
// for those that were missed or paused together.
func (b *backfill) addRanges(task *schedule.Task, first, last time.Time, reason string) {
	known := b.ledger.paused
	if known == nil {
		b.needsPauses = true // the plan begins anew
		return
	}
	if !known.Touches(task, first, last) {
		end := last.Add(time.Second) // the slots need no look at each: there may be millions
		b.add(task.Name, first, last, task.When.Count(first, end)-b.settled.inRanges(task, first, end), reason, "")
		return
	}
	var ranges []slotRange
	between := 0 // slots with rows of their own: Record takes them out of the row around them
	for at := range task.When.Forward(first, last.Add(time.Second)) {
		if b.settled.inRange(task.Name, at) {
			continue
		}
		if b.settled.itself(task.Name, at) {
			between++
			continue
		}
		paused := b.paused(task, at)
		if i := len(ranges) - 1; i >= 0 && ranges[i].paused == paused {
			ranges[i].until = at
			ranges[i].slots += between + 1
		} else {
			ranges = append(ranges, slotRange{at, at, 1, paused})
		}
		between = 0
	}
	for _, one := range ranges {
		b.add(task.Name, one.at, one.until, one.slots, reason, one.paused)
	}
}

// A slotRange is slots of a task that were missed, or that a pause covered.
type slotRange struct {
	at, until time.Time
	slots     int
	paused    string // "" if no pause covered them
}

// pausedText says which pause covered a slot that a dead tick left.
func (b *backfill) pausedText(name string, at time.Time) string {
	if task := b.task(name); task != nil {
		return b.paused(task, at)
	}
	return ""
}

// add adds the row of the n slots of a task from at through until, which were missed, or skipped
// because they were paused.
func (b *backfill) add(name string, at, until time.Time, n int, reason, paused string) {
	became := outcome.Missed
	if paused != "" {
		became, reason = outcome.Skipped, paused
	}
	row := b.row(name, outcome.MissedID(name, at), at, became, reason)
	if n > 1 {
		row.ID, row.Slots, row.LastSlot = outcome.RangeID(name, at), n, until.UTC()
		row.Reason = fmt.Sprintf("%s%s: %s", outcome.Several(n), humanize.MinuteZone(until, b.ledger.Schedule.Location), reason)
	}
	b.rows = append(b.rows, row)
	b.settled.add(name, at, until)
	if paused == "" {
		b.count(name, n, reason)
		b.slots += n
	}
}

// row returns the row of a slot that does not run.
func (b *backfill) row(name, id string, at time.Time, became outcome.Outcome, reason string) state.Row {
	row := state.Row{ID: id, Task: name, Mutex: name, Slot: at.UTC(), Server: b.ledger.Server, Phase: state.Ended,
		Result: state.Result{Outcome: became, Reason: reason, Ended: clock.Now()}}
	if task := b.task(name); task != nil {
		row.Mutex, row.Background = task.Mutex, task.Background
	}
	return row
}

// A reasonCount is how many slots of which tasks were missed for one reason.
type reasonCount struct {
	reason string
	slots  int
	tasks  map[string]bool
}

func (b *backfill) count(name string, slots int, reason string) {
	i := slices.IndexFunc(b.reasons, func(r reasonCount) bool { return r.reason == reason })
	if i < 0 {
		i = len(b.reasons)
		b.reasons = append(b.reasons, reasonCount{reason, 0, map[string]bool{}})
	}
	b.reasons[i].slots += slots
	b.reasons[i].tasks[name] = true
}

// summary says in one line what was missed.
func (b *backfill) summary() string {
	var parts []string
	for _, r := range b.reasons {
		parts = append(parts, fmt.Sprintf("%s: %s of %s", r.reason, humanize.Count(r.slots, "slot"), humanize.Count(len(r.tasks), "task")))
	}
	summary := "missed: " + strings.Join(parts, "; ")
	switch b.once {
	case 0:
	case 1:
		summary += "; 1 of them runs now"
	default:
		summary += fmt.Sprintf("; %d of them run now", b.once)
	}
	return summary
}
