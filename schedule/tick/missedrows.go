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

// A gap of a month may have millions of slots. For each task each of the newest slots has a row,
// and all older slots have one row together.
const (
	maxRowsOfTask = 100
	maxRows       = 1000 // of all tasks; not counting the rows for the older slots
)

// recordMissed makes the rows of the slots that stay missed.
func (b *backfill) recordMissed() {
	rowsOfTask := maxRowsOfTask
	if b.gap != nil {
		rowsOfTask = min(maxRows/len(b.gap.tasks), maxRowsOfTask)
	}
	for _, name := range b.tasksWithMisses() {
		for _, miss := range b.leftMissed[name] {
			if !b.settled.has(name, miss.slot) { // else it runs in this tick
				b.recordRange(name, b.oneSlot(name, miss.slot), miss.reason)
			}
		}
		if b.gap.has(name) {
			b.recordGap(b.task(name), rowsOfTask)
		}
	}
}

// tasksWithMisses returns the names of the tasks with missed slots: first tasks of the schedule,
// then tasks that are no longer in it.
func (b *backfill) tasksWithMisses() (names []string) {
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
func (b *backfill) recordGap(task *schedule.Task, limit int) {
	from, reason := b.gap.countedFrom, b.gap.reason(b.ledger.Schedule.Location)
	for at := range task.When.Backward(from, b.gap.end) {
		if b.settled.has(task.Name, at) {
			continue
		}
		if limit == 0 {
			b.recordOlder(task, b.settled.firstOpen(task, from), at, reason)
			return
		}
		b.recordRange(task.Name, b.oneSlot(task.Name, at), reason)
		limit--
	}
}

// recordOlder makes the rows of the slots of a task from first through last that are not settled: a
// row for those that were missed or paused together.
func (b *backfill) recordOlder(task *schedule.Task, first, last time.Time, reason string) {
	pauses := b.ledger.paused
	if pauses == nil {
		b.needsPauses = true
		return
	}
	if !pauses.Touches(task, first, last) { // no look at each slot: there may be millions
		end := last.Add(time.Second)
		n := task.When.Count(first, end) - b.settled.countInRanges(task, first, end)
		b.recordRange(task.Name, slotRange{first: first, last: last, slots: n}, reason)
		return
	}
	for _, r := range b.pausedRanges(task, first, last) {
		b.recordRange(task.Name, r, reason)
	}
}

// pausedRanges returns the slots of a task from first through last that are not settled: one range
// for those that were missed or paused together. A range counts every slot between its ends, also
// slots with rows of their own: Record subtracts these. With m for a missed slot, p for a paused
// one, and s for one with a row of its own:
//
//	m m s m p    a range of 4 missed slots, and one of 1 paused slot
//	m s p        a range of 1 missed slot, and one of 1 paused slot: s lies in neither
func (b *backfill) pausedRanges(task *schedule.Task, first, last time.Time) (ranges []slotRange) {
	between := 0 // slots with rows of their own since the end of the last range
	for at := range task.When.Forward(first, last.Add(time.Second)) {
		if b.settled.hasInRange(task.Name, at) {
			continue
		}
		if b.settled.hasSingle(task.Name, at) {
			between++
			continue
		}
		pause := b.pauseOf(task, at)
		if i := len(ranges) - 1; i >= 0 && ranges[i].pause == pause {
			ranges[i].last = at
			ranges[i].slots += between + 1
		} else {
			ranges = append(ranges, slotRange{first: at, last: at, slots: 1, pause: pause})
		}
		between = 0
	}
	return ranges
}

// A slotRange has the slots of a task from first through last that were missed, or that one pause
// covered.
type slotRange struct {
	first, last time.Time
	slots       int
	pause       string // the text of the pause; "" if the slots were missed
}

// oneSlot returns the range of one slot. A task that the schedule no longer has is not paused.
func (b *backfill) oneSlot(name string, at time.Time) slotRange {
	r := slotRange{first: at, last: at, slots: 1}
	if task := b.task(name); task != nil {
		r.pause = b.pauseOf(task, at)
	}
	return r
}

// recordRange makes the row of slots of a task that were missed for the reason, or skipped because
// they were paused.
func (b *backfill) recordRange(name string, r slotRange, reason string) {
	became := outcome.Missed
	if r.pause != "" {
		became, reason = outcome.Skipped, r.pause
	}
	row := b.endedRow(slotKey{name, r.first}, outcome.MissedID(name, r.first), became, reason)
	if r.slots > 1 {
		row.ID, row.Slots, row.LastSlot = outcome.RangeID(name, r.first), r.slots, r.last.UTC()
		last := humanize.MinuteZone(r.last, b.ledger.Schedule.Location)
		row.Reason = fmt.Sprintf("%s%s: %s", outcome.Several(r.slots), last, reason)
	}
	b.rows = append(b.rows, row)
	b.settled.add(name, r.first, r.last)
	if r.pause == "" {
		b.reasons.count(name, r.slots, reason)
		b.stayMissed += r.slots
	}
}

// endedRow returns the row of a slot that does not run.
func (b *backfill) endedRow(key slotKey, id string, became outcome.Outcome, reason string) state.Row {
	row := state.Row{
		ID:     id,
		Task:   key.task,
		Mutex:  key.task,
		Slot:   key.slot.UTC(),
		Server: b.ledger.Server,
		Phase:  state.Ended,
		Result: state.Result{Outcome: became, Reason: reason, Ended: clock.Now()},
	}
	if task := b.task(key.task); task != nil {
		row.Mutex, row.Background = task.Mutex, task.Background
	}
	return row
}

// A reasonCount counts the slots, and has the names of the tasks, that were missed for one reason.
type reasonCount struct {
	reason string
	slots  int
	tasks  map[string]bool
}

// missReasons are the counts for each reason, in the order in which the reasons came.
type missReasons []reasonCount

// count counts missed slots of a task.
func (m *missReasons) count(task string, slots int, reason string) {
	i := slices.IndexFunc(*m, func(r reasonCount) bool { return r.reason == reason })
	if i < 0 {
		i = len(*m)
		*m = append(*m, reasonCount{reason: reason, tasks: map[string]bool{}})
	}
	(*m)[i].slots += slots
	(*m)[i].tasks[task] = true
}

// summary says in one line what was missed, and how many of these slots run now.
func (m missReasons) summary(runNow int) string {
	var parts []string
	for _, r := range m {
		slots, tasks := humanize.Count(r.slots, "slot"), humanize.Count(len(r.tasks), "task")
		parts = append(parts, fmt.Sprintf("%s: %s of %s", r.reason, slots, tasks))
	}
	summary := "missed: " + strings.Join(parts, "; ")
	if runNow == 1 {
		summary += "; 1 of them runs now"
	} else if runNow > 1 {
		summary += fmt.Sprintf("; %d of them run now", runNow)
	}
	return summary
}
