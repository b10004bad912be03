package ledger

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// An Account is the part of one tick in the ledger. While it holds the lock of the file last-tick,
// a tick compares its minute with the last one that a tick covered
// (docs/internals/decisions.md#the-next-tick-finds-gaps). It writes down for which slots it will
// account (Journal), and then that its minute is covered. So after a kill at any moment either the
// minute is not covered, and the next tick finds a gap, or its journal says what is left to account
// for. Ticks with --at or --only cover nothing, and account for nothing.
//
// The exported fields are the caller's to set, before Open. The methods are not safe for concurrent use, but for
// Started, Claiming, AskConditions and Settle.
type Account struct {
	Schedule *schedule.Schedule
	Valid    bool                                     // Schedule is what the file says, not the last valid one instead
	Parse    func([]byte) (*schedule.Schedule, error) // reads the last valid one

	Dir    string    // the state folder
	DB     *state.DB // its database; the caller closes it before NoteSettled
	Mark   string    // of the database, before this process opened it (state.Mark)
	Minute time.Time
	Server string
	Covers bool // false for a tick with --at or --only

	Unwritable    func(error) bool                             // reports whether the error says that the folder cannot be written, and says so once
	Paused        func(task *schedule.Task, at time.Time) bool // whether a pause covered a slot of the past
	EndConditions func(run string)                             // ends the condition commands that a dead tick started for a run
	Problem       func(format string, a ...any)                // says what is wrong

	covered   bool              // another tick had the minute
	journal   *Journal          // of what this tick has promised; nil when it promised nothing
	dead      []*Journal        // of ticks that are no more; this process holds their locks
	backfill  []outcome.Record  // outcomes for slots that those left, and that no tick covered
	unfired   []outcome.Record  // see Unfired
	runs      map[Due]resumed   // see RunOf
	waiting   map[Due]state.Row // the slots that waited when this tick began
	missed    string            // what was missed, in words; empty when nothing was
	unwritten bool              // not all of it is in the history, so the journals stay for a later tick
	tried     bool              // it has tried to keep the schedule
	kept      bool              // the database has the schedule as the last valid one
}

// Open accounts for the minute of the tick. It returns the slots that the tick starts: those that are due, and those that
// were missed and run once. It returns none when another tick has covered the minute.
func (a *Account) Open(due []schedule.Slot) []schedule.Slot {
	if !a.Covers {
		a.promiseConditions(due)
		return due
	}
	last, err := LockLastTick(a.Dir)
	if err != nil {
		if !a.Unwritable(err) {
			a.Problem("this minute is not accounted for: %v", err)
		}
		return due
	}
	defer last.Unlock()
	if !a.mayStart() {
		return nil
	}
	dead, live := a.journals()
	for _, journal := range dead {
		journal.eachOpenCondition(a.EndConditions)
	}
	if a.clockWasSetBack() {
		due = a.withoutOutcome(due, live)
	}
	waiting, gap := a.keptSlots(dead, live), a.gap(dead, live)
	due = slices.DeleteFunc(slices.Clone(due), func(s schedule.Slot) bool { return a.isKept(s) }) // of a clock that was set back
	due, boots := a.atBoot(due)
	slots := due
	if gap != nil || len(dead) > 0 {
		slots = a.takeOver(due, gap, dead, live)
	}
	slots = append(a.newestPaused(waiting, slots, live), slots...)
	promised := a.promise(slots, gap)
	if boots && !(promised && a.noteBoot()) {
		slots = withoutBoot(slots, a.Minute)
	}
	if promised {
		if said, _ := state.Settled(a.Dir, words(validSchedule(a.Schedule))); !said { // else it can wait until Close
			a.keepValid()
		}
		if err := last.Cover(a.Minute); err != nil {
			a.Problem("the last tick is not written down: %v", err)
		}
	}
	return slots
}

// mayStart reports whether this tick is neither too late nor one too many for its minute
// (docs/internals/decisions.md#it-starts-nothing-in-a-minute-that-is-covered).
func (a *Account) mayStart() bool {
	last, zone := a.lastCovered(), a.Schedule.Location
	if last.After(a.Minute) {
		a.Problem("this tick of %s was held up until %s was covered, and starts nothing", humanize.MinuteZone(a.Minute, zone), humanize.MinuteZone(last, zone))
		return false
	}
	a.covered = last.Equal(a.Minute)
	return !a.covered
}

// Covered reports whether another tick had covered the minute when this one came.
func (a *Account) Covered() bool { return a.covered }

// lastCovered returns the last minute that a tick covered; zero when none ever did. One that lies
// in the future was covered when the clock was wrong, and does not count
// (docs/internals/decisions.md#wrong-clocks). The clock is read again: a tick that was held up must
// not take the minutes that passed since for the future.
func (a *Account) lastCovered() (last time.Time) {
	if last = LastTick(a.Dir); last.After(clock.Now()) && last.After(a.Minute) {
		return time.Time{}
	}
	return last
}

// journals returns the journals of ticks that are no more, and what those promise that still live.
func (a *Account) journals() (dead []*Journal, live []Promise) {
	dead, live, err := ReadJournals(a.Dir)
	if err != nil {
		a.Problem("the journals of earlier ticks cannot be read: %v", err)
	}
	return dead, live
}

// promise writes the journal of this tick, where it needs one. It reports false where it could not.
func (a *Account) promise(slots []schedule.Slot, gap *Gap) bool {
	if len(slots) == 0 && gap == nil {
		return true
	}
	p := Promise{Minute: a.Minute.UTC(), Gap: gap}
	for _, slot := range slots {
		p.Due = append(p.Due, Due{Task: slot.Task.Name, Slot: slot.At.UTC()})
	}
	journal, err := BeginJournal(a.Dir, p)
	if err != nil {
		if !a.Unwritable(err) {
			a.Problem("what this tick starts is not accounted for, should it be killed: %v", err)
		}
		a.unwritten = true
		return false
	}
	a.journal = journal
	for due, resumed := range a.runs { // the journals that say so may be ended before these begin
		journal.Claim(due.Task, due.Slot, resumed.run)
	}
	return true
}

// promiseConditions writes a journal for a tick that accounts for nothing, where it runs condition commands: should it be
// killed, the next tick finds and ends them.
func (a *Account) promiseConditions(due []schedule.Slot) {
	if !slices.ContainsFunc(due, func(s schedule.Slot) bool { return len(s.Task.ConditionCommands) > 0 }) {
		return
	}
	err := statedir.MakeDir(a.Dir)
	if err == nil {
		a.journal, err = BeginJournal(a.Dir, Promise{})
	}
	if err != nil {
		a.Problem("should this tick be killed, nobody ends its conditions: %v", err)
	}
}

// Started writes down that the run of a slot began: from here on its row accounts for it.
func (a *Account) Started(task string, slot time.Time) {
	a.journal.Start(task, slot)
}

// AskConditions writes down that the condition commands of a slot are about to run, for a run with this id.
func (a *Account) AskConditions(task string, slot time.Time, run string) {
	a.journal.Condition(task, slot, run)
}

// Settle writes down the outcome of a slot that has no run.
func (a *Account) Settle(record outcome.Record) {
	a.journal.Settle(record)
}

// HooksFired writes down that the on_skip hooks of a slot have ended: no later tick fires them.
func (a *Account) HooksFired(record outcome.Record) { a.journal.HooksFired(record) }

// Unfired returns the records of the slots that dead ticks skipped without having fired their on_skip hooks. They are
// part of the backfill, too.
func (a *Account) Unfired() []outcome.Record { return a.unfired }

// Backfill returns the outcomes that are to be put into the history for slots that no tick covered, or that dead
// ticks left. It returns them once.
func (a *Account) Backfill() []outcome.Record {
	rows := a.backfill
	a.backfill = nil
	return rows
}

// Written is called when the backfill is in the history: what dead ticks had promised is kept.
func (a *Account) Written() {
	if a.unwritten {
		return
	}
	for _, journal := range a.dead {
		journal.End()
	}
	if a.missed != "" {
		a.Problem("%s", a.missed)
	}
	a.dead, a.missed = nil, ""
}

// NotWritten is called when what ended could not be put into the history: the journals stay for a later tick.
func (a *Account) NotWritten() { a.unwritten = true }

// Close ends the journal when all that it promised is kept. What could not be kept stays for a later tick, as it does
// when this process is killed.
func (a *Account) Close() {
	if a.unwritten {
		a.journal.Close()
	} else {
		a.journal.End()
	}
	for _, journal := range a.dead {
		journal.Close()
	}
	a.keepValid()
}

// keepValid keeps the schedule of this tick as the last valid one, for the day when an edit breaks
// the file. Ticks that cover nothing leave the one of the last tick that did, by which the next
// tells which tasks are new.
func (a *Account) keepValid() {
	if !a.Valid || a.tried || !a.Covers && !LastTick(a.Dir).IsZero() {
		return
	}
	valid := validSchedule(a.Schedule)
	said, unchanged := state.Settled(a.Dir, words(valid))
	if unchanged {
		return
	}
	a.tried = true
	err := a.DB.Values().KeepValid(context.Background(), valid, a.Schedule.Archive)
	if waits, werr := a.DB.Runs().AnyWaits(context.Background()); werr != nil || waits {
		a.Mark = "" // the next tick looks, too
	}
	if a.kept = err == nil; !a.kept && !(said && state.Unwritable(err)) && !a.Unwritable(err) { // on a full disk it is kept already
		a.Problem("the last valid schedule is not kept: %v", err)
	}
}

// NoteSettled notes that the database has what this tick keeps in it, so that an idle tick need not
// open it. It comes last, after the database was closed. After a failure the next tick looks again.
func (a *Account) NoteSettled() {
	if a.kept {
		state.Settle(a.Dir, a.Mark, words(validSchedule(a.Schedule))) //nolint: see above
	}
}
