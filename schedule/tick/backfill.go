package tick

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
)

// The reasons for which a slot was missed that a dead tick had planned.
const (
	goneBefore = "the sched run that had planned it is gone, and recorded nothing of it"
	goneAsking = "the sched run that had planned it is gone, perhaps while it asked its conditions"
)

// startedUnrecorded is the reason of a lost run that a dead tick had begun and could not record.
const startedUnrecorded = "it ran while the state folder could not be written, and sched run ended before it could be"

// A backfill collects outcomes for the slots that have none, and that nobody starts any more. A
// slot before this tick is
//
//   - left, if a dead tick had planned it;
//   - settled, if it has an outcome, or if a live tick will give it one;
//   - missed, if it is not settled, and it was left or lies in the gap;
//   - resumed, if it was left and its run begins in this tick.
type backfill struct {
	ledger *Ledger
	gap    *gap                      // nil for none
	tasks  map[string]*schedule.Task // the active tasks of the schedule, by name; see task

	// The slots before this tick, as they were found.
	settled    settledSlots
	leftMissed map[string][]miss // missed slots that dead ticks left, by task; the gap has the others
	lacking    map[string][]miss // skipped slots of tasks that lacked something until now, by task
	begun      map[slotKey]bool  // slots whose runs dead ticks began, and could not write down

	// The results.
	resumed    []schedule.Slot // slots that dead ticks left and that run in this tick
	rows       []state.Row     // of the slots that do not run
	runNow     int             // how many missed slots run in this tick
	stayMissed int             // how many missed slots do not
	reasons    missReasons

	// needsPauses says that the results depend on pauses, which were not read yet. The ledger then
	// drops the results, reads the pauses, and plans anew with another backfill (errPauses).
	needsPauses bool
}

// A miss is a slot that was missed.
type miss struct {
	slot   time.Time
	reason string
}

// settlePast finds out what became of the slots in the gap, and of the slots that dead ticks
// left. It returns the slots that this tick starts: due slots, and missed slots that run after all.
func (b *backfill) settlePast(ctx context.Context, slots []schedule.Slot, left []state.Row) ([]schedule.Slot, error) {
	if b.gap == nil && len(left) == 0 && len(b.lacking) == 0 {
		return slots, nil
	}
	var err error
	if b.settled, err = b.findSettled(ctx, left); err != nil {
		return nil, err
	}
	for _, row := range left {
		b.settleLeft(row)
	}
	slots = slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool { return b.begun[keyOf(s)] })
	starts := b.addMissedStarts(slots)
	b.recordMissed()
	return starts, nil
}

// factsOf returns what is known about a slot that a dead tick left. A slot that was to run may lie
// in the range that the tick recorded around it, which then stands for it, unless all missed slots
// of the task run. The task is nil if the schedule has it no longer.
func (b *backfill) factsOf(row state.Row, task *schedule.Task) run.Facts {
	isAccounted := b.settled.hasSingle(row.Task, row.Slot) ||
		b.settled.hasInRange(row.Task, row.Slot) && (task == nil || !task.RunAllMissed)
	return run.Facts{
		Unrecorded:  run.UnrecordedStarts(b.ledger.Dir, row),
		DueBy:       b.ledger.Minute,
		IsAccounted: isAccounted,
		MayBeLate:   !isAccounted && b.resumes(row, task),
	}
}

// settleLeft does what run.Next says with a slot that a dead tick left, and ends the condition
// commands that the tick left.
func (b *backfill) settleLeft(row state.Row) {
	task, key, reason := b.task(row.Task), slotKey{row.Task, row.Slot}, goneBefore
	if task != nil && len(task.ConditionCommands) > 0 {
		reason = goneAsking
	}
	action := run.Next(row, b.factsOf(row, task))
	if action != run.Lose { // else the process that lives is the command of the run
		endLeftConditions(row.ID, task)
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

// endLeftConditions ends the condition commands of a run that a dead tick left. A task that the
// schedule has no longer (nil) may have had some.
func endLeftConditions(run string, task *schedule.Task) {
	switch {
	case task == nil:
		endConditions(run, "")
	case len(task.ConditionCommands) > 0:
		endConditions(run, task.As.User)
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
func (b *backfill) resumes(row state.Row, task *schedule.Task) bool {
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
func (b *backfill) addMissedStarts(slots []schedule.Slot) []schedule.Slot {
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
		for _, miss := range b.newestMissed(task, limit) {
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
func (b *backfill) newestMissed(task *schedule.Task, limit int) (newest []miss) {
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
	newest = append(newest, b.newestInGap(task, first, limit)...)
	slices.SortFunc(newest, func(x, y miss) int { return y.slot.Compare(x.slot) })
	return newest[:min(limit, len(newest))]
}

// newestInGap is newestMissed for the slots of the gap from first on.
func (b *backfill) newestInGap(task *schedule.Task, first time.Time, limit int) (newest []miss) {
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

// keyLacking names the value that has the tasks that lacked a variable or a file in the last tick,
// if the schedule makes up for their slots.
const keyLacking = "lacking"

// findLacking finds the slots that were skipped because their tasks lacked a variable or a file, if
// that is there again since this tick. It notes which tasks lack something now.
func (b *backfill) findLacking(ctx context.Context) error {
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
	values := b.ledger.plan.Values()
	if _, err := values.Get(ctx, keyLacking, &before); err != nil {
		return err
	}
	if slices.Equal(before, now) {
		return nil
	}
	b.lacking = map[string][]miss{}
	recorded, err := b.ledger.plan.Runs().Slots(ctx, b.ledger.Minute.Add(-schedule.LookBack), b.ledger.Minute)
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

// isAllowed reports whether a slot would have run if a tick had come, or, with missed: after_pause,
// would have waited for the end of a pause.
func (b *backfill) isAllowed(task *schedule.Task, at time.Time) bool {
	switch {
	case task.UnmetCondition(at) != "":
		return false
	case task.RunAfterPause:
		return true
	}
	return b.pauseOf(task, at) == ""
}

// pauseOf returns the text of the pause that covered a slot; "" if no pause did. If the pauses were
// not read yet, it sets needsPauses, and the plan begins anew.
func (b *backfill) pauseOf(task *schedule.Task, at time.Time) string {
	if b.ledger.paused == nil {
		b.needsPauses = true
		return "nobody knows yet"
	}
	return b.ledger.paused.By(task, at)
}

// task returns a task by its name; nil if the schedule has no such task any more, or if the task is
// switched off.
func (b *backfill) task(name string) *schedule.Task {
	if b.tasks == nil {
		b.tasks = map[string]*schedule.Task{}
		for task := range b.ledger.Schedule.ActiveTasks() {
			b.tasks[task.Name] = task
		}
	}
	return b.tasks[name]
}
