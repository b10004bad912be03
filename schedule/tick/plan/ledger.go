package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A Ledger accounts for the slots of one tick: see the package comment. Ticks with --at or --only
// cover no minute, and account for no slot.
//
// The exported fields are the caller's to set, before Open. When Open has returned, the other
// methods are safe for concurrent use: nothing of the ledger changes any more.
type Ledger struct {
	Schedule *schedule.Schedule
	Valid    bool // Schedule is what the file says, not the last valid one instead

	Dir    string // the state folder
	DB     *state.DB
	Self   *state.Self // the tick, as the owner of what it plans
	Shared bool        // other servers are told of runs
	Minute time.Time
	Server string
	Covers bool // the tick accounts for its minute; false with --at or --only

	// ReadPauses may ask the database, so it is called while nothing is planned.
	ReadPauses func() Paused
	// ReadElsewhere asks the store which slots other servers have, and says so of each: of those
	// that are asked for, and of others of their tasks since the first of them. It is called while
	// nothing is planned, and only if Shared.
	ReadElsewhere func(asked []schedule.Slot) map[schedule.Slot]string
	// Problem reports what is wrong. It is called when the plan is done.
	Problem func(format string, a ...any)

	tx       *state.Plan // while Open plans
	paused   *Paused     // nil before it was needed
	Findings             // of the last plan

	elsewhere map[schedule.Slot]string // what ReadElsewhere returned; nil before it was needed
	asked     []schedule.Slot
}

// Findings are what a plan has found.
type Findings struct {
	Covered   bool                   // another tick has covered the minute
	CoveredBy string                 // the file of the schedule of that tick
	Idle      bool                   // nothing waited in the database for this tick
	Recorded  int                    // how many rows were added for slots that nobody starts
	Expired   []ExpiredSlot          // the tick skips them, because their tasks have hooks for that
	runs      map[slotKey]plannedRun // the runs that this tick begins or skips
	waiting   map[slotKey]state.Row  // the slots that waited when this tick began
	problems  []string               // the texts for Problem
}

// An ExpiredSlot is a slot that waited until it was too late, so it does not run.
type ExpiredSlot struct {
	Slot   schedule.Slot
	Kind   outcome.Kind
	Reason string
}

// Paused answers which slots are paused.
type Paused struct {
	// By returns the text of the pause that covered a slot of the past; "" for none.
	By func(task *schedule.Task, at time.Time) string
	// Touches reports whether a pause may cover a slot in the time from first through last.
	Touches func(task *schedule.Task, first, last time.Time) bool
}

// A slotKey is a slot, by the name of its task and its time in UTC.
type slotKey struct {
	task string
	slot time.Time
}

func keyOf(slot schedule.Slot) slotKey { return slotKey{slot.Task.Name, slot.At.UTC()} }

// A plannedRun is the run that a tick begins for a slot.
type plannedRun struct {
	run    string
	note   string // why it did not begin before; empty if it is on time
	hasRow bool   // the slot has a row already, as a run that somebody asked for, or as missed
}

// sortStarts sorts slots in the order in which they start: by their instants, and then in the order
// of the file. Slots of the past start with the full minute.
func (l *Ledger) sortStarts(slots []schedule.Slot) {
	order := map[*schedule.Task]int{}
	for i, task := range l.Schedule.Tasks {
		order[task] = i
	}
	slices.SortStableFunc(slots, func(x, y schedule.Slot) int {
		start := humanize.Later(x.At, l.Minute).Compare(humanize.Later(y.At, l.Minute))
		return cmp.Or(start, order[x.Task]-order[y.Task], x.At.Compare(y.At))
	})
}

// addProblem has Problem report something when the plan is done.
func (l *Ledger) addProblem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// RunOf returns the id of the run that was planned for a slot, with a note on why it did not begin
// before. Both are empty if no run was planned.
func (l *Ledger) RunOf(slot schedule.Slot) (run, note string) {
	p := l.runs[keyOf(slot)]
	return p.run, p.note
}

// WaitText says, for the end of a reason, of which slot a run is that waited; "" for another run.
func (l *Ledger) WaitText(run string) string {
	for _, row := range l.waiting {
		if row.ID == run {
			return fmt.Sprintf("; it is of %s: %s", humanize.MinuteZone(row.Slot, l.Schedule.Location), waitedFor(row))
		}
	}
	return ""
}

func waitedFor(row state.Row) string {
	if row.Wait.For == state.ForPause {
		return "it waited for the end of a pause"
	}
	return "it waited for the store"
}

// Delay has a slot wait for the end of a pause or for the store, for the reason why
// (docs/internals/decisions.md#a-slot-that-waits-is-a-row). isNew is false if the slot waited
// before. ok is false if the slot may not wait (mayWait), or if the database cannot be written: the
// caller must skip the slot then.
func (l *Ledger) Delay(slot schedule.Slot, waitsFor state.WaitsFor, why string) (isNew, ok bool) {
	key := keyOf(slot)
	before, waited := l.waiting[key]
	if !waited && !l.mayWait(slot) {
		return false, false
	}
	wait := state.Wait{For: waitsFor, Since: clock.Now(), Until: slot.At.Add(slot.Task.MaxLateness())}
	if waited && before.Wait.For == waitsFor {
		wait, why = before.Wait, before.Reason
	}
	ctx := context.Background()
	own, err := l.Self.Owned(ctx)
	if err == nil {
		before.ID = l.runs[key].run
		err = own.Apply(ctx, state.GiveBack(wait, why), &before)
	}
	return !waited, err == nil
}

// mayWait reports whether a slot of this tick may begin to wait. It may not
//
//   - if the tick accounts for nothing,
//   - if the slot has a row already,
//   - if it is too late for the slot,
//   - if the slot makes way for the next slot of its minute,
//   - or if too many slots of its task wait.
func (l *Ledger) mayWait(slot schedule.Slot) bool {
	task := slot.Task
	tooLate := l.Minute.After(slot.At.Add(task.MaxLateness()))
	if !l.Covers || l.runs[keyOf(slot)].hasRow || tooLate || task.GivesWay(slot.At) {
		return false
	}
	limit := maxDelayed
	if task.RunAllMissed {
		limit = max(limit, task.MaxMissed)
	}
	waiting := 0
	for key := range l.waiting {
		if key.task == task.Name {
			waiting++
		}
	}
	return waiting < limit
}

// maxDelayed is how many slots of a task wait for the store at most. The slots of a task that is
// due every minute could otherwise run a whole night one after another.
const maxDelayed = 60
