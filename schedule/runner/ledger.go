package runner

import (
	"os"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/ledger"
	"sched/schedule/outcome"
	"sched/schedule/text"
)

// This file keeps the promise that every slot has one outcome. In its turn a tick compares its minute
// with the last one that a tick covered. It writes down for what it will account (history.Journal), and
// then that its minute is covered. So after a kill at any moment either the minute is not covered, and
// the next tick finds a gap, or its journal tells what is left to account for. Ticks with --at or --only
// cover nothing, and account for nothing.

// A debt is what ticks before this one left to account for, and this one does.
type debt struct {
	journals []*ledger.Journal // of ticks that are no more; nobody else reads them as long as we hold them
	rows     []outcome.Record
	text     string // for people; empty when nothing was missed
}

// account takes the turn of this tick. It returns the slots that the tick starts: those that are due,
// and those that were missed and run once.
func (t *Tick) account(due []schedule.Slot) []schedule.Slot {
	defer t.Link.turned()
	if t.Replay || t.Only != "" {
		t.journalGuards(due)
		return due
	}
	turn, err := ledger.LockLastTick(t.State.Dir)
	if spare := t.spareFor(err); spare != nil {
		turn, err = ledger.LockLastTick(spare.Dir)
	}
	if err != nil {
		t.Problem("this minute is not accounted for: %v", err)
		return due
	}
	defer turn.Unlock()

	last := t.lastCovered()
	if last.After(t.Minute) {
		zone := t.Schedule.Location
		t.Problem("this tick of %s was held up until %s was covered, and starts nothing", text.Minute(t.Minute, zone), text.Minute(last, zone))
		return nil
	}
	if last.Equal(t.Minute) && !t.again() {
		return nil
	}
	dead, live := t.journals()
	endGuards(dead)
	gap := t.gap(last, dead, live)
	slots := due
	if gap != nil || len(dead) > 0 {
		slots = t.takeOver(due, gap, dead, live)
	}
	if t.promise(slots, gap) {
		t.keepValid()
		if err := turn.Cover(t.Minute); err != nil {
			t.Problem("the last tick is not written down: %v", err)
		}
	}
	return slots
}

// again reports whether a tick starts what is due in a minute that another tick has covered: when cron or a
// person started it, but not when `sched work` did, where nobody asked for a second tick.
func (t *Tick) again() bool {
	minute := text.Minute(t.Minute, t.Schedule.Location)
	if t.Link != nil {
		t.Problem("another tick came first at %s, and this one starts nothing; does cron call sched, too?", minute)
		return false
	}
	if pid, works := worker(t.State.Dir); works {
		t.Problem("sched work (process %d) ticks this schedule, too: what is due at %s runs twice", pid, minute)
	}
	return true
}

// lastCovered returns the last minute that a tick covered; zero when none ever did. One that lies in
// the future was covered when the clock was wrong, and does not count. The clock is read again: a tick
// that was held up must not take the minutes that passed since for the future.
func (t *Tick) lastCovered() (last time.Time) {
	now := clock.Now()
	for _, folder := range t.State.folders() {
		minute := ledger.LastTick(folder.Dir)
		if minute.After(last) && !(minute.After(now) && minute.After(t.Minute)) {
			last = minute
		}
	}
	return last
}

// journals returns the journals of ticks that are no more, and what those promise that still live.
func (t *Tick) journals() (dead []*ledger.Journal, live []ledger.Promise) {
	for _, folder := range t.State.folders() {
		d, l, err := ledger.ReadJournals(folder.Dir)
		if err != nil {
			t.Problem("the journals of earlier ticks cannot be read: %v", err)
		}
		dead, live = append(dead, d...), append(live, l...)
	}
	return dead, live
}

// gap returns the time in which no tick came, and nil when nothing was due in it.
func (t *Tick) gap(last time.Time, dead []*ledger.Journal, live []ledger.Promise) *ledger.Gap {
	if !last.IsZero() && !last.Before(t.Minute.Add(-time.Minute)) {
		return nil
	}
	for _, journal := range dead {
		live = append(live, journal.Promise)
	}
	for _, promise := range live { // of a tick that was killed before it could cover its minute
		if promise.Minute.After(last) && !promise.Minute.After(t.Minute) {
			last = promise.Minute
		}
	}
	since := last.Add(time.Minute)
	if last.IsZero() || !since.Before(t.Minute) {
		return nil
	}
	gap := &ledger.Gap{Since: since, From: since, To: t.Minute, Tasks: map[string]string{}}
	if bound := t.Minute.Add(-min(schedule.LookBack, t.Schedule.History.Keep)).Truncate(time.Minute); gap.From.Before(bound) {
		gap.From = bound
	}
	times := t.timesBefore()
	for _, task := range t.Schedule.Tasks {
		if !t.Schedule.Active(task) || times[task.Name] != timesOf(task) {
			continue
		}
		if next, ok := task.When.Next(gap.From.Add(-time.Second)); ok && next.Before(gap.To) {
			gap.Tasks[task.Name] = timesOf(task)
		}
	}
	if len(gap.Tasks) == 0 {
		return nil
	}
	return gap
}

// promise writes the journal of this tick, where it needs one, and reports whether it has what it needs.
func (t *Tick) promise(slots []schedule.Slot, gap *ledger.Gap) bool {
	if len(slots) == 0 && gap == nil {
		return true
	}
	p := ledger.Promise{Minute: t.Minute.UTC(), Gap: gap}
	for _, slot := range slots {
		p.Due = append(p.Due, ledger.Due{Task: slot.Task.Name, Slot: slot.At.UTC()})
	}
	journal, err := ledger.BeginJournal(t.State.Dir, p)
	if spare := t.spareFor(err); spare != nil {
		journal, err = ledger.BeginJournal(spare.Dir, p)
	}
	if err != nil {
		t.Problem("what this tick starts is not accounted for, should it be killed: %v", err)
		t.unwritten = true
		return false
	}
	t.journal = journal
	return true
}

// journalGuards writes a journal for a tick that accounts for nothing, where it asks conditions: should it be
// killed, the next tick finds and ends them.
func (t *Tick) journalGuards(due []schedule.Slot) {
	background, foreground := t.due(due)
	if !slices.ContainsFunc(append(background, foreground...), func(s schedule.Slot) bool { return len(s.Task.ConditionCommands) > 0 }) {
		return
	}
	err := os.MkdirAll(t.State.Dir, 0o700)
	if err == nil {
		t.journal, err = ledger.BeginJournal(t.State.Dir, ledger.Promise{})
	}
	if err != nil {
		t.Problem("should this tick be killed, nobody ends its conditions: %v", err)
	}
}

// timesBefore tells when the tasks were due that the last tick knew, by their names.
func (t *Tick) timesBefore() map[string]string {
	before := t.Schedule // the last tick had the same, or the copy that this one has
	if first := stamp(t.Schedule); t.Valid && string(readStart(lastValidPath(t.State.Dir), len(first))) != string(first) {
		text, err := LastValid(t.State.Dir, t.Schedule.File)
		if err == nil {
			before, err = t.Parse(text)
		}
		if err != nil {
			return nil // nobody knows, so no task is blamed
		}
	}
	times := map[string]string{}
	for _, task := range before.Tasks {
		if before.Active(task) {
			times[task.Name] = timesOf(task)
		}
	}
	return times
}

// timesOf is the same for two tasks that are due at the same times.
func timesOf(task *schedule.Task) string {
	return task.When.String() + " " + task.When.Location.String()
}

// keepValid keeps the schedule of this tick as the last valid one. Ticks that cover nothing leave the
// one of the last tick that did, by which the next tells which tasks are new.
func (t *Tick) keepValid() {
	covers := !t.Replay && t.Only == ""
	if !t.Valid || t.kept || t.spare != nil || !covers && !ledger.LastTick(t.State.Dir).IsZero() {
		return
	}
	t.kept = true
	if err := KeepValid(t.State.Dir, t.Schedule); err != nil {
		t.Problem("the last valid schedule is not kept: %v", err)
	}
}

// settle is called when the rows are in the history.
func (t *Tick) settle(d *debt) {
	if d == nil || t.unwritten {
		return
	}
	for _, journal := range d.journals {
		journal.End()
	}
	if d.text != "" {
		t.Problem("%s", d.text)
	}
}

// closeJournal ends the journal when all that it promised is kept. One that could not be kept stays
// for a later tick.
func (t *Tick) closeJournal() {
	if t.unwritten {
		t.journal.Close()
	} else {
		t.journal.End()
	}
}
