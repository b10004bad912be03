package plan

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/tick/condition"
)

// settlePast finds out what became of the slots in the gap, and of the slots that dead ticks
// left. It returns the slots that this tick starts: due slots, and missed slots that run after all.
func settlePast(ctx context.Context, b *backfill, slots []schedule.Slot, left []state.Row) ([]schedule.Slot, error) {
	if b.gap == nil && len(left) == 0 && len(b.lacking) == 0 {
		return slots, nil
	}
	var err error
	if b.settled, err = findSettled(ctx, b, left); err != nil {
		return nil, err
	}
	for _, row := range left {
		settleLeft(b, row)
	}
	slots = slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool { return b.begun[keyOf(s)] })
	starts := addMissedStarts(b, slots)
	recordMissed(b)
	return starts, nil
}

// factsOf returns what is known about a slot that a dead tick left. A slot that was to run may lie
// in the range that the tick recorded around it, which then stands for it, unless all missed slots
// of the task run. The task is nil if the schedule has it no longer.
func factsOf(b *backfill, row state.Row, task *schedule.Task) run.Facts {
	isAccounted := b.settled.hasSingle(row.Task, row.Slot) ||
		b.settled.hasInRange(row.Task, row.Slot) && (task == nil || !task.RunAllMissed)
	return run.Facts{
		Unrecorded:  run.UnrecordedStarts(b.ledger.Dir, row),
		DueBy:       b.ledger.Minute,
		IsAccounted: isAccounted,
		MayBeLate:   !isAccounted && resumes(b, row, task),
	}
}

// settleLeft does what run.Next says with a slot that a dead tick left, and ends the condition
// commands that the tick left.
func settleLeft(b *backfill, row state.Row) {
	task, key, reason, user := b.task(row.Task), slotKey{row.Task, row.Slot}, goneBefore, ""
	mayAsk := task == nil // a task that the schedule has no longer may have had condition commands
	if task != nil && len(task.ConditionCommands) > 0 {
		reason, user, mayAsk = goneAsking, task.As.User, true
	}
	action := run.Next(row, factsOf(b, row, task))
	if mayAsk && action != run.Lose { // else the process that lives is the command of the run
		condition.End(row.ID, user)
	}
	switch action {
	case run.Nothing: // all is done
	case run.Lose: // its run began, and that could not be written down
		lost := b.endedRow(key, row.ID, outcome.Lost, startedUnrecorded)
		lost.Unreported = true
		b.rows = append(b.rows, lost)
		b.settled.add(row.Task, row.Slot, row.Slot)
		b.begun[key] = true
	case run.Wait: // the tick of its minute begins the run, which may have a claim
		b.ledger.runs[key] = plannedRun{run: row.ID}
	case run.Start:
		b.resumed = append(b.resumed, schedule.Slot{Task: task, At: row.Slot})
		b.settled.add(row.Task, row.Slot, row.Slot)
		b.reasons.count(row.Task, 1, reason)
		b.runNow++
		b.ledger.runs[key] = plannedRun{
			run:  row.ID,
			note: "the sched run that had claimed the slot is gone, and had not begun the run",
		}
	case run.Miss:
		b.leftMissed[row.Task] = append(b.leftMissed[row.Task], miss{row.Slot, reason})
	}
}

// maxResumeLateness is how late a slot still runs that a tick may have claimed for all servers
// before it was killed. For a task with missed: once, missed_within says that instead.
const maxResumeLateness = 3 * time.Minute

// resumes reports whether a slot that a dead tick left runs in this tick. If the dead tick had
// claimed it for all servers, no other server runs it. This tick claims it again for the same run,
// which changes nothing, and begins that run. If a task is due several times in a minute, its slot
// makes way for the next one instead
// (docs/internals/decisions.md#a-killed-tick-does-not-lose-what-it-had-claimed).
func resumes(b *backfill, row state.Row, task *schedule.Task) bool {
	if task == nil || !task.OneServer {
		return false
	}
	if task.GivesWay(row.Slot) && !task.RunAllMissed {
		return false
	}
	if !b.isAllowed(task, row.Slot) {
		return false
	}
	within := maxResumeLateness
	switch {
	case task.RunMissed:
		within = task.MissedWithin
	case task.StartDeadline > 0:
		within = min(within, task.StartDeadline)
	}
	return b.ledger.Minute.Sub(row.Slot) <= within
}

// addMissedStarts adds the slots that run in this tick although they were missed to the slots that
// are due:
//
//   - for a task with missed: once or after_pause, or with every: boot, the newest slot that its
//     conditions allow, unless the task is due anyway
//     (docs/internals/decisions.md#missed-once-and-the-slot-of-this-minute)
//   - for a task with missed: all, the newest such slots, at most MaxMissed
func addMissedStarts(b *backfill, slots []schedule.Slot) []schedule.Slot {
	isDue := map[*schedule.Task]bool{}
	for _, slot := range slots {
		isDue[slot.Task] = isDue[slot.Task] || slot.Task.UnmetCondition(slot.At) == ""
	}
	starts := slices.Concat(slots, b.resumed)
	for task := range b.ledger.Schedule.ActiveTasks() {
		makesUp := task.RunMissed || task.When.Boot
		if !makesUp || isDue[task] && !task.RunAllMissed {
			continue
		}
		limit := 1
		if task.RunAllMissed {
			limit = task.MaxMissed
		}
		for _, miss := range newestMissed(b, task, limit) {
			starts = append(starts, schedule.Slot{Task: task, At: miss.slot})
			b.settled.add(task.Name, miss.slot, miss.slot)
			b.reasons.count(task.Name, 1, miss.reason)
			b.runNow++
		}
	}
	b.ledger.sortStarts(starts)
	return starts
}

// newestMissed returns the newest missed slots of the task that may run now, at most limit of them.
func newestMissed(b *backfill, task *schedule.Task, limit int) (newest []miss) {
	first := b.ledger.Minute.Add(-task.MissedWithin)
	for key, row := range b.ledger.waiting { // a slot that waits for the end of a pause stands for all older ones
		if key.task == task.Name && row.Wait.For == state.ForPause && !key.slot.Before(first) {
			first = key.slot.Add(time.Second)
		}
	}
	for _, miss := range b.leftMissed[task.Name] {
		isOpen := !miss.slot.Before(first) && !b.settled.hasSingle(task.Name, miss.slot)
		if isOpen && b.isAllowed(task, miss.slot) {
			newest = append(newest, miss)
		}
	}
	for _, miss := range b.lacking[task.Name] { // each has an outcome, which stays
		if !miss.slot.Before(first) && b.isAllowed(task, miss.slot) {
			newest = append(newest, miss)
		}
	}
	newest = append(newest, newestInGap(b, task, first, limit)...)
	slices.SortFunc(newest, func(x, y miss) int { return y.slot.Compare(x.slot) })
	return newest[:min(limit, len(newest))]
}

// newestInGap is newestMissed for the slots of the gap from first on.
func newestInGap(b *backfill, task *schedule.Task, first time.Time, limit int) (newest []miss) {
	if !b.gap.has(task.Name) {
		return nil
	}
	reason := b.gap.reason(b.ledger.Schedule.Location)
	for at := range task.When.Backward(humanize.Later(b.gap.countedFrom, first), b.gap.end) {
		if len(newest) == limit {
			break
		}
		if !b.settled.has(task.Name, at) && b.isAllowed(task, at) {
			newest = append(newest, miss{at, reason})
		}
	}
	return newest
}

// The reasons for which a slot was missed that a dead tick had planned.
const (
	goneBefore = "the sched run that had planned it is gone, and recorded nothing of it"
	goneAsking = "the sched run that had planned it is gone, perhaps while it asked its conditions"
)

// startedUnrecorded is the reason of a lost run that a dead tick had begun and could not record.
const startedUnrecorded = "it ran while the state folder could not be written, and sched run ended before it could be"

// findSettled collects the settled slots in the time of a gap, and of the slots that dead ticks
// left.
func findSettled(ctx context.Context, b *backfill, left []state.Row) (settledSlots, error) {
	s := settledSlots{}
	from, to := b.ledger.Minute, b.ledger.Minute.Add(time.Minute)
	if b.gap != nil {
		from = b.gap.countedFrom
	}
	for _, row := range left { // some may lie ahead: the clock was set back
		if row.Slot.Before(from) {
			from = row.Slot
		}
		to = humanize.Later(to, row.Slot.Add(time.Second))
	}
	for key := range b.ledger.waiting {
		s.add(key.task, key.slot, key.slot)
	}
	slots, err := b.ledger.tx.Runs().Slots(ctx, from, to)
	for _, slot := range slots {
		s.add(slot.Task, slot.At, slot.Until)
	}
	return s, err
}

// keyLacking names the value that has the tasks that lacked a variable or a file in the last tick,
// if the schedule makes up for their slots.
const keyLacking = "lacking"

// findLacking finds the slots that were skipped because their tasks lacked a variable or a file, if
// that is there again since this tick. It notes which tasks lack something now.
func findLacking(ctx context.Context, b *backfill) error {
	var now, before []string
	makesUp := false
	for task := range b.ledger.Schedule.ActiveTasks() {
		makesUp = makesUp || task.RunMissed
		if task.RunMissed && task.Lacks != "" {
			now = append(now, task.Name)
		}
	}
	if !makesUp {
		return nil
	}
	values := b.ledger.tx.Values()
	if _, err := values.Get(ctx, keyLacking, &before); err != nil {
		return err
	}
	if slices.Equal(before, now) {
		return nil
	}
	b.lacking = map[string][]miss{}
	recorded, err := b.ledger.tx.Runs().Slots(ctx, b.ledger.Minute.Add(-schedule.LookBack), b.ledger.Minute)
	for _, slot := range recorded {
		task := b.task(slot.Task)
		isBack := task != nil && task.Lacks == "" && slices.Contains(before, slot.Task)
		if isBack && slot.Lacking {
			skipped := miss{slot.At, "a variable or a file was not there (for ticks)"}
			b.lacking[slot.Task] = append(b.lacking[slot.Task], skipped)
		}
	}
	return cmp.Or(err, values.Set(ctx, keyLacking, now))
}
