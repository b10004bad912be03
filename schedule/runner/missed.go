package runner

import (
	"cmp"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/ledger"
	"sched/schedule/outcome"
	"sched/schedule/text"
)

// What a slot was missed for, and how one is recorded that was started and left no trace.
const (
	killedBefore = "sched run was killed before it came to it"
	killedAsking = "sched run was killed while it asked a condition of it"
	traceless    = "it was started, and what it wrote down is gone"
)

// takeOver finds out what became of the slots in the gap, and of those that dead ticks promised to
// account for. It returns what this tick starts: the slots that are due, and those that run once.
func (t *Tick) takeOver(due []schedule.Slot, own *ledger.Gap, dead []*ledger.Journal, live []ledger.Promise) []schedule.Slot {
	known, err := t.known(own, dead, live)
	if err != nil {
		if own != nil || slices.ContainsFunc(dead, (*ledger.Journal).Interrupted) {
			t.Problem("what was missed is left to a later tick: %v", err)
		}
		t.unwritten = true // the journal of this tick stays, too, and with it the gap
		for _, journal := range dead {
			journal.Close()
		}
		return due
	}
	m := &missing{tick: t, known: known, missed: map[string][]miss{}, gaps: map[string][]*ledger.Gap{}}
	m.addGap(own)
	for _, journal := range dead {
		m.addJournal(journal)
	}
	slots := m.runOnce(due)
	m.record()
	t.debt = &debt{dead, m.rows, m.text()}
	return slots
}

// A missing collects the slots that have no outcome.
type missing struct {
	tick   *Tick
	known  known
	missed map[string][]miss        // those that dead ticks promised, by task
	gaps   map[string][]*ledger.Gap // those in which a task was due
	rows   []outcome.Record
	once   int // how many run in this tick
	told   []told
	tasks  map[string]*schedule.Task // of the schedule, by name; those that are active
}

type miss struct {
	slot   time.Time
	reason string
}

// told sums up what was missed for one reason.
type told struct {
	reason string
	slots  int
	tasks  map[string]bool
}

func (m *missing) addGap(gap *ledger.Gap) {
	if gap == nil {
		return
	}
	for name, times := range gap.Tasks {
		if task := m.task(name); task != nil && timesOf(task) == times {
			m.gaps[name] = append(m.gaps[name], gap)
		}
	}
}

// addJournal adds what a dead tick left. What it skipped has its outcome.
func (m *missing) addJournal(journal *ledger.Journal) {
	m.addGap(journal.Promise.Gap)
	for _, record := range journal.Outcomes {
		m.rows = append(m.rows, record)
	}
	for _, due := range journal.Promise.Due {
		switch {
		case m.known.alone(due.Task, due.Slot):
		case journal.Started[due]:
			m.rows = append(m.rows, m.row(due.Task, due.Slot, outcome.Lost, traceless))
			m.known.add(due.Task, due.Slot, due.Slot)
		case journal.Conditions[due] != "":
			m.missed[due.Task] = append(m.missed[due.Task], miss{due.Slot, killedAsking})
		default:
			m.missed[due.Task] = append(m.missed[due.Task], miss{due.Slot, killedBefore})
		}
	}
}

// runOnce chooses the slots that run in this tick although they were missed: of a task that asks for it
// the newest one that its conditions allow, unless it is due anyway.
func (m *missing) runOnce(due []schedule.Slot) []schedule.Slot {
	runs, order := map[*schedule.Task]bool{}, map[*schedule.Task]int{}
	for _, slot := range due {
		runs[slot.Task] = runs[slot.Task] || slot.Task.UnmetCondition(slot.At) == ""
	}
	slots := slices.Clone(due)
	for i, task := range m.tick.Schedule.Tasks {
		order[task] = i
		if !task.RunMissed || runs[task] || !m.tick.Schedule.Active(task) {
			continue
		}
		if newest := m.newest(task); !newest.slot.IsZero() {
			slots = append(slots, schedule.Slot{Task: task, At: newest.slot})
			m.known.add(task.Name, newest.slot, newest.slot)
			m.tell(task.Name, 1, newest.reason)
			m.once++
		}
	}
	slices.SortStableFunc(slots, func(a, b schedule.Slot) int {
		return cmp.Or(text.Later(a.At, m.tick.Minute).Compare(text.Later(b.At, m.tick.Minute)), order[a.Task]-order[b.Task])
	})
	return slots
}

// newest returns the newest missed slot of the task that may run now; none is zero.
func (m *missing) newest(task *schedule.Task) (newest miss) {
	first := m.tick.Minute.Add(-task.MissedWithin)
	for _, one := range m.missed[task.Name] {
		if one.slot.After(newest.slot) && !one.slot.Before(first) && !m.known.alone(task.Name, one.slot) && m.allowed(task, one.slot) {
			newest = one
		}
	}
	for _, gap := range m.gaps[task.Name] {
		for at := range task.When.Backward(text.Later(gap.From, first), gap.To) {
			if !at.After(newest.slot) {
				break
			}
			if !m.known.has(task.Name, at) && m.allowed(task, at) {
				newest = miss{at, m.tick.noTick(gap)}
			}
		}
	}
	return newest
}

// allowed reports whether a slot would have run had there been a tick.
func (m *missing) allowed(task *schedule.Task, at time.Time) bool {
	return task.UnmetCondition(at) == "" && !m.tick.wanted().Pauses.Covered(task.Name, task.EvenWhenPaused, at)
}

// task returns a task by its name; nil where the schedule has it no more, or it is switched off.
func (m *missing) task(name string) *schedule.Task {
	if m.tasks == nil {
		m.tasks = map[string]*schedule.Task{}
		for _, task := range m.tick.Schedule.Tasks {
			if m.tick.Schedule.Active(task) {
				m.tasks[task.Name] = task
			}
		}
	}
	return m.tasks[name]
}
