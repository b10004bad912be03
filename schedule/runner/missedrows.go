package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/ledger"
	"sched/schedule/outcome"
	"sched/schedule/text"
)

// A gap of a month holds millions of slots. For each task the newest ones have a row each, and all
// older ones one row together.
const (
	mostRowsOfATask = 100
	mostRows        = 1000 // of all tasks; not counting those for the older ones
)

// record makes the rows of the slots that stay missed.
func (m *missing) record() {
	rows := min(mostRows/max(len(m.gaps), 1), mostRowsOfATask)
	for _, name := range m.names() {
		for _, one := range m.missed[name] {
			if !m.known.alone(name, one.slot) { // run once, or promised by two journals
				m.add(name, one.slot, one.slot, 1, one.reason)
			}
		}
		for _, gap := range m.gaps[name] {
			m.recordGap(m.task(name), gap, rows)
		}
	}
}

// names returns the tasks with something missed: those of the schedule, and those it has no more.
func (m *missing) names() (names []string) {
	for _, task := range m.tick.Schedule.Tasks {
		if len(m.missed[task.Name]) > 0 || len(m.gaps[task.Name]) > 0 {
			names = append(names, task.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.missed)) {
		if m.task(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// recordGap adds a row for each of the newest slots in the gap, and one for all older ones.
func (m *missing) recordGap(task *schedule.Task, gap *ledger.Gap, rows int) {
	reason, oldest := m.tick.noTick(gap), gap.To
	for at := range task.When.Backward(gap.From, gap.To) {
		if m.known.has(task.Name, at) {
			continue
		}
		if rows == 0 {
			first := m.known.first(task, gap.From)
			n := task.When.Count(first, oldest) - m.known.count(task, first, oldest)
			m.add(task.Name, first, at, n, reason)
			return
		}
		m.add(task.Name, at, at, 1, reason)
		oldest = at
		rows--
	}
}

// add adds the row of the n slots of a task from at through until.
func (m *missing) add(name string, at, until time.Time, n int, reason string) {
	row := m.row(name, at, outcome.Missed, reason)
	if n > 1 {
		row.Slots, row.Until = n, until
		row.Reason = fmt.Sprintf("%d times until %s: %s", n, text.Minute(until, m.tick.Schedule.Location), reason)
	}
	m.rows = append(m.rows, row)
	m.known.add(name, at, until)
	m.tell(name, n, reason)
}

func (m *missing) row(name string, at time.Time, became outcome.Outcome, reason string) outcome.Record {
	row := outcome.Record{
		Run: outcome.MissedID(name, at), Task: name, Mutex: name, Slot: at,
		Server: m.tick.Server, Ended: clock.Now(), Outcome: became, Reason: reason,
	}
	if task := m.task(name); task != nil {
		row.Mutex, row.Background = task.Mutex, task.Background
	}
	return row
}

func (m *missing) tell(name string, slots int, reason string) {
	i := slices.IndexFunc(m.told, func(t told) bool { return t.reason == reason })
	if i < 0 {
		i = len(m.told)
		m.told = append(m.told, told{reason, 0, map[string]bool{}})
	}
	m.told[i].slots += slots
	m.told[i].tasks[name] = true
}

// text says in one line what was missed.
func (m *missing) text() string {
	if len(m.told) == 0 {
		return ""
	}
	var parts []string
	for _, one := range m.told {
		parts = append(parts, fmt.Sprintf("%s: %s of %s", one.reason, text.Count(one.slots, "slot"), text.Count(len(one.tasks), "task")))
	}
	words := "missed: " + strings.Join(parts, "; ")
	switch m.once {
	case 0:
	case 1:
		words += "; 1 of them runs now"
	default:
		words += fmt.Sprintf("; %d of them run now", m.once)
	}
	return words
}

// noTick says why the slots of a gap were missed.
func (t *Tick) noTick(gap *ledger.Gap) string {
	zone, last := t.Schedule.Location, gap.To.Add(-time.Minute)
	reason := "no tick ran at " + text.Minute(last, zone)
	if gap.Since.Before(last) {
		reason = fmt.Sprintf("no tick ran from %s to %s", text.Minute(gap.Since, zone), text.Minute(last, zone))
	}
	if gap.From.After(gap.Since) {
		reason += ", and what was due before " + text.Minute(gap.From, zone) + " is not counted"
	}
	return reason
}
