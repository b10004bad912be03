package plan

import (
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

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

	// needsMore says that the results depend on pauses, or on slots of other servers, that were not
	// read yet. The ledger then drops the results, reads them, and plans anew with another backfill
	// (errUnread).
	needsMore bool
}

// A miss is a slot that was missed.
type miss struct {
	slot   time.Time
	reason string
}

// isAllowed reports whether a slot would have run if a tick had come, or, with missed: after_pause,
// would have waited for the end of a pause. A slot that another server has is not allowed.
func (b *backfill) isAllowed(task *schedule.Task, at time.Time) bool {
	switch {
	case task.UnmetCondition(at) != "" || b.elsewhere(task, at) != "":
		return false
	case task.RunAfterPause:
		return true
	}
	return b.pauseOf(task, at) == ""
}

// pauseOf returns the text of the pause that covered a slot; "" if no pause did. If the pauses were
// not read yet, it sets needsMore, and the plan begins anew.
func (b *backfill) pauseOf(task *schedule.Task, at time.Time) string {
	if b.ledger.paused == nil {
		b.needsMore = true
		return "nobody knows yet"
	}
	return b.ledger.paused.By(task, at)
}

// elsewhere says that another server has a slot; "" if none has, or if nobody knows. If the store
// was not asked yet, it sets needsMore, and the plan begins anew.
func (b *backfill) elsewhere(task *schedule.Task, at time.Time) string {
	slot := schedule.Slot{Task: task, At: at.UTC()}
	if task.OneServer && b.ledger.Shared && b.ledger.elsewhere == nil {
		b.needsMore = true
		b.ledger.asked = append(b.ledger.asked, slot)
	}
	return b.ledger.elsewhere[slot]
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
