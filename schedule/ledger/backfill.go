package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// The reasons for which a slot was missed, and that of one which was started and left no trace.
const (
	killedBefore = "sched run was killed before it came to it"
	killedAsking = "sched run was killed while it asked a condition of it"
	traceless    = "it was started, and what it wrote down is gone"
)

// takeOver finds out what became of the slots in the gap, and of those for which dead ticks promised to account. It returns
// the slots that this tick starts: those that are due, and those that run once.
func (a *Account) takeOver(due []schedule.Slot, gap *Gap, dead []*Journal, live []Promise) []schedule.Slot {
	accounted, err := a.accountedSince(gap, dead, live)
	if err != nil {
		if !a.Unwritable(err) && (gap != nil || slices.ContainsFunc(dead, (*Journal).Interrupted)) {
			a.Problem("what was missed is left to a later tick: %v", err)
		}
		a.unwritten = true // the journal of this tick stays, too, and with it the gap
		for _, journal := range dead {
			journal.Close()
		}
		return due
	}
	b := &backfill{account: a, accounted: accounted, missed: map[string][]miss{}, gaps: map[string][]*Gap{}, claims: map[Due]string{}}
	b.addGap(gap)
	for _, journal := range dead {
		maps.Copy(b.claims, journal.Claims)
	}
	for _, journal := range dead {
		b.addJournal(journal)
	}
	slots := b.runOnce(due)
	b.addRows()
	a.dead, a.backfill, a.missed = dead, append(a.backfill, b.rows...), b.summary()
	return slots
}

// A backfill collects outcomes for the slots that have none.
type backfill struct {
	account   *Account
	accounted accounted
	missed    map[string][]miss // those that dead ticks promised, by task
	gaps      map[string][]*Gap // those in which a task was due
	claims    map[Due]string    // what dead ticks had claimed, and the runs that did
	claimed   []schedule.Slot   // those of them that run in this tick
	rows      []outcome.Record
	once      int // how many run in this tick
	reasons   []reasonCount
	tasks     map[string]*schedule.Task // the active ones of the schedule, by name
}

// A miss is a slot that was missed.
type miss struct {
	slot   time.Time
	reason string
}

func (b *backfill) addGap(gap *Gap) {
	if gap == nil {
		return
	}
	for name, times := range gap.Tasks {
		if task := b.task(name); task != nil && timesOf(task) == times {
			b.gaps[name] = append(b.gaps[name], gap)
		}
	}
}

// addJournal adds what a dead tick left open. What it skipped has its outcome in the journal. After a clock was set back there
// may be slots that are yet to come: those are left to their minute, and to a live tick those that it promised, too. A slot that
// was to run once may lie in the range that the tick recorded around it, which then stands for it.
func (b *backfill) addJournal(journal *Journal) {
	b.addGap(journal.Promise.Gap)
	for _, record := range journal.Outcomes {
		b.rows = append(b.rows, record)
		if record.Outcome == outcome.Skipped && !journal.Fired[Due{record.Task, record.Slot}] {
			b.account.unfired = append(b.account.unfired, record)
		}
	}
	var left []Due
	for _, due := range journal.Promise.Due {
		switch {
		case b.accounted.itself(due.Task, due.Slot):
			left = append(left, due)
		case journal.Started[due]:
			b.rows = append(b.rows, b.row(due.Task, due.Slot, outcome.Lost, traceless))
			b.accounted.add(due.Task, due.Slot, due.Slot)
		case !due.Slot.Before(b.account.Minute.Add(time.Minute)):
			left = append(left, due)
		case b.accounted.inRange(due.Task, due.Slot):
			left = append(left, due)
		case b.runsClaimed(due):
			b.runClaimed(due)
		case journal.Conditions[due] != "":
			b.missed[due.Task] = append(b.missed[due.Task], miss{due.Slot, killedAsking})
		default:
			b.missed[due.Task] = append(b.missed[due.Task], miss{due.Slot, killedBefore})
		}
	}
	journal.Leave(left)
}

// runOnce chooses the slots that run in this tick although they were missed: of a task with missed:
// once or after_pause the newest one that its conditions allow, unless it is due anyway
// (docs/internals/decisions.md#missed-once-and-the-slot-of-this-minute).
func (b *backfill) runOnce(due []schedule.Slot) []schedule.Slot {
	runs, order := map[*schedule.Task]bool{}, map[*schedule.Task]int{}
	for _, slot := range due {
		runs[slot.Task] = runs[slot.Task] || slot.Task.UnmetCondition(slot.At) == ""
	}
	slots, minute := slices.Concat(due, b.claimed), b.account.Minute
	for i, task := range b.account.Schedule.Tasks {
		order[task] = i
		if !(task.RunMissed || task.When.Boot) || runs[task] || !b.account.Schedule.Active(task) {
			continue
		}
		if newest := b.newest(task); !newest.slot.IsZero() {
			slots = append(slots, schedule.Slot{Task: task, At: newest.slot})
			b.accounted.add(task.Name, newest.slot, newest.slot)
			b.count(task.Name, 1, newest.reason)
			b.once++
		}
	}
	slices.SortStableFunc(slots, func(x, y schedule.Slot) int {
		return cmp.Or(humanize.Later(x.At, minute).Compare(humanize.Later(y.At, minute)), order[x.Task]-order[y.Task])
	})
	return slots
}

// newest returns the newest missed slot of the task that may run now; none is zero.
func (b *backfill) newest(task *schedule.Task) (newest miss) {
	first := b.account.Minute.Add(-task.MissedWithin)
	for due, w := range b.account.waiting { // that one runs when its pause is over
		if due.Task == task.Name && w.Wait.For == state.ForPause && !due.Slot.Before(first) {
			first = due.Slot.Add(time.Second)
		}
	}
	for _, one := range b.missed[task.Name] {
		if one.slot.After(newest.slot) && !one.slot.Before(first) && !b.accounted.itself(task.Name, one.slot) && b.allowed(task, one.slot) {
			newest = one
		}
	}
	for _, gap := range b.gaps[task.Name] {
		for at := range task.When.Backward(humanize.Later(gap.From, first), gap.To) {
			if !at.After(newest.slot) {
				break
			}
			if !b.accounted.has(task.Name, at) && b.allowed(task, at) {
				newest = miss{at, gap.reason(b.account.Schedule.Location)}
			}
		}
	}
	return newest
}

// allowed reports whether a slot would have run had there been a tick.
func (b *backfill) allowed(task *schedule.Task, at time.Time) bool {
	return task.UnmetCondition(at) == "" && (task.RunAfterPause || !b.account.Paused(task, at))
}

// task returns a task by its name; nil where the schedule has it no more, or it is switched off.
func (b *backfill) task(name string) *schedule.Task {
	if b.tasks == nil {
		b.tasks = map[string]*schedule.Task{}
		for _, task := range b.account.Schedule.Tasks {
			if b.account.Schedule.Active(task) {
				b.tasks[task.Name] = task
			}
		}
	}
	return b.tasks[name]
}
