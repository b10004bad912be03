package plan

import (
	"maps"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
)

// A gap of a month may have millions of slots. For each task each of the newest slots has a row,
// and all older slots have one row together.
const (
	maxRowsOfTask = 100
	maxRows       = 1000 // of all tasks; not counting the rows for the older slots
)

func recordMissed(b *backfill) {
	rowsOfTask := maxRowsOfTask
	if b.gap != nil {
		rowsOfTask = min(maxRows/len(b.gap.tasks), maxRowsOfTask)
	}
	for _, name := range tasksWithMisses(b) {
		for _, miss := range b.leftMissed[name] {
			if !b.settled.has(name, miss.slot) { // else it runs in this tick
				recordRange(b, name, oneSlot(b, name, miss.slot), miss.reason)
			}
		}
		if b.gap.has(name) {
			recordGap(b, b.task(name), rowsOfTask)
		}
	}
}

// tasksWithMisses returns the names of the tasks with missed slots: first tasks of the schedule,
// then tasks that are no longer in it.
func tasksWithMisses(b *backfill) (names []string) {
	for _, task := range b.ledger.Schedule.Tasks {
		if len(b.leftMissed[task.Name]) > 0 || b.gap.has(task.Name) {
			names = append(names, task.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.leftMissed)) {
		if b.ledger.Schedule.Task(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// recordGap makes the rows of the slots in the gap: a row for each of the newest slots, at most
// limit, and rows that stand for several older slots.
func recordGap(b *backfill, task *schedule.Task, limit int) {
	from, reason := b.gap.countedFrom, b.gap.reason(b.ledger.Schedule.Location)
	for at := range task.When.Backward(from, b.gap.end) {
		if b.settled.has(task.Name, at) {
			continue
		}
		if limit == 0 {
			recordOlder(b, task, b.settled.firstOpen(task, from), at, reason)
			return
		}
		recordRange(b, task.Name, oneSlot(b, task.Name, at), reason)
		limit--
	}
}

// recordOlder makes the rows of the slots of a task from first through last that are not settled: a
// row for those that were missed or paused together, or that other servers have.
func recordOlder(b *backfill, task *schedule.Task, first, last time.Time, reason string) {
	isElsewhere := b.elsewhere(task, first) != ""
	for slot := range b.ledger.elsewhere {
		isElsewhere = isElsewhere || slot.Task == task && !slot.At.After(last)
	}
	pauses := b.ledger.paused
	if pauses == nil {
		b.needsMore = true
		return
	}
	if !isElsewhere && !pauses.Touches(task, first, last) { // no look at each slot: there may be millions
		end := last.Add(time.Second)
		n := task.When.Count(first, end) - b.settled.countInRanges(task, first, end)
		recordRange(b, task.Name, slotRange{first: first, last: last, slots: n}, reason)
		return
	}
	for _, r := range pausedRanges(b, task, first, last) {
		recordRange(b, task.Name, r, reason)
	}
}

// pausedRanges returns the slots of a task from first through last that are not settled: one range
// for those that were missed or paused together, or that other servers have. A range counts every
// slot between its ends, also slots with rows of their own: Record subtracts these. With m for a
// missed slot, p for a paused one, and s for one with a row of its own:
//
//	m m s m p    a range of 4 missed slots, and one of 1 paused slot
//	m s p        a range of 1 missed slot, and one of 1 paused slot: s lies in neither
func pausedRanges(b *backfill, task *schedule.Task, first, last time.Time) (ranges []slotRange) {
	between := 0 // slots with rows of their own since the end of the last range
	for at := range task.When.Forward(first, last.Add(time.Second)) {
		if b.settled.hasInRange(task.Name, at) {
			continue
		}
		if b.settled.hasSingle(task.Name, at) {
			between++
			continue
		}
		next := oneSlot(b, task.Name, at)
		if next.kind == outcome.Elsewhere {
			next.skipped = "other servers have these slots"
		}
		if i := len(ranges) - 1; i >= 0 && ranges[i].skipped == next.skipped {
			ranges[i].last = at
			ranges[i].slots += between + 1
		} else {
			ranges = append(ranges, next)
		}
		between = 0
	}
	return ranges
}

// A slotRange has the slots of a task from first through last that were missed, or that were
// skipped for one reason: one pause covered them, or other servers have them.
type slotRange struct {
	first, last time.Time
	slots       int
	skipped     string // the reason; "" if the slots were missed
	kind        outcome.Kind
}

// oneSlot returns the range of one slot. A task that the schedule no longer has is not paused.
func oneSlot(b *backfill, name string, at time.Time) slotRange {
	r := slotRange{first: at, last: at, slots: 1}
	if task := b.task(name); task != nil {
		r.skipped = b.pauseOf(task, at)
		if elsewhere := b.elsewhere(task, at); elsewhere != "" {
			r.skipped, r.kind = elsewhere, outcome.Elsewhere
		}
	}
	return r
}

// recordRange makes the row of slots of a task that were missed for the reason, or skipped.
func recordRange(b *backfill, name string, r slotRange, reason string) {
	became := outcome.Missed
	if r.skipped != "" {
		became, reason = outcome.Skipped, r.skipped
	}
	row := b.endedRow(slotKey{name, r.first}, outcome.MissedID(name, r.first), became, reason)
	row.Kind = r.kind
	if r.slots > 1 {
		row.ID, row.Slots, row.LastSlot = outcome.RangeID(name, r.first), r.slots, r.last.UTC()
		last := humanize.MinuteZone(r.last, b.ledger.Schedule.Location)
		row.Reason = last + ": " + reason // behind how many there are: see Row.SayCount
	}
	b.rows = append(b.rows, row)
	b.settled.add(name, r.first, r.last)
	if r.skipped == "" {
		b.reasons.count(name, r.slots, reason)
		b.stayMissed += r.slots
	}
}
