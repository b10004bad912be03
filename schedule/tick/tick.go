// Package tick is one tick of the schedule:
//
//   - it decides which slots start: due times, conditions, pauses, locks;
//   - it decides in which order they start;
//   - it hands the background runs over to supervisors;
//   - it runs the foreground tasks one after another.
//
// Tick.Run shows a tick from top to bottom; docs/internals/how-a-run-works.md follows a run through
// it.
//
// A Ledger gives every slot one outcome, whatever is killed. In one transaction (state.Plan) a tick
// finds out which minutes no tick covered and which slots dead ticks have left, records what was
// missed, plans the slots of its own minute, and covers the minute.
//
// See package run for how one run goes, and package schedule for what the schedule says.
package tick

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/work"
)

// A Tick is one call of `sched run`: it starts what is due in one minute. The minute was read once
// and decides everything; how late the tick starts and how long it takes change no decision.
type Tick struct {
	Schedule *schedule.Schedule
	Valid    bool                                     // Schedule is what the file says, not the last valid one
	Parse    func([]byte) (*schedule.Schedule, error) // reads the archive of the last valid schedule
	Minute   time.Time
	Began    time.Time   // when this process read its clock, before it read the schedule; zero: when Run is called
	Only     string      // the name of the only task that starts; "" for all
	Slots    []time.Time // the only slots of the minute that start; nil for all
	Replay   bool        // the minute was given, not read: its slots start without waiting for their seconds
	Work     *work.Link  // to the `sched work` that started this tick; nil if cron did
	Storage  run.Storage
	Host     Host
	Report   Report

	handover *run.Supervisors // nil until supervisors is called
}

// A Host is the machine and the program that a tick runs on.
type Host struct {
	Server  string   // the name of this machine
	Version string   // of sched
	Self    string   // the path of sched, for the supervisors
	Environ []string // of the caller
}

// A Result is what the exit code of a tick depends on
// (docs/internals/decisions.md#a-tick-that-skipped-because-the-store-was-down-exits-with-1).
type Result struct {
	Failed         bool // a foreground task failed, or a background one before a supervisor had it
	SkippedUnknown bool // a slot was skipped because the store did not answer
	SkippedHeld    bool // a slot was skipped: other runs had its mutex or seats, or waited for them
	Covered        bool // another tick had the minute, so this one has started none of its slots
	// CoveredBy is the file of the schedule of that other tick; empty if nobody knows.
	CoveredBy string
}

// Run runs the tick, in ten steps. It returns when the foreground tasks have ended and the
// background tasks were handed over. When noNewStarts is done it starts no other task; when
// terminate is done it stops the running one, and when kill is done too it kills it.
func (t *Tick) Run(noNewStarts, terminate, kill context.Context) Result {
	t.checkLabels()
	r := t.prepare(stopContexts{noNewStarts, terminate, kill})
	defer t.Storage.DB.Close()

	// 1. The due slots. The supervisor starts beside that, and pauses are read.
	due := t.dueSlots(t.Schedule.Due(t.Minute))
	t.startSupervisor(due)
	waitForControls := r.controls.readAhead(len(due) > 0)

	// 2. The plan: one transaction writes down which slots this tick starts.
	background, foreground := schedule.SplitBackground(r.planSlots(due))
	r.launcher.startSender(kill)

	// 3. Slots that have waited too long are skipped. Their hooks may send messages.
	r.skipExpired()

	// 4. Other servers are told that this one lives, while the tick goes on.
	endAnnouncing := r.beginAnnouncing()

	// 5. Background tasks start first, so that no foreground task delays them. A run that has
	// waited for its mutex comes before them.
	now, later := schedule.SplitAfter(background, t.Minute)
	staying, endStay := r.stay(slices.Concat(later, foreground))
	soon, _ := schedule.SplitAfter(foreground, t.Minute)
	r.launcher.prefetch(soon)
	if !r.nothingToDo {
		r.resumeQueued()
		if len(now) > 0 {
			r.startLongestWaiting()
		}
	}
	r.startBackground(noNewStarts, now)

	// 6. Runs that somebody has asked for, in the background.
	if !r.nothingToDo {
		r.requests.startBackground()
	}
	r.records.flushQuietly()

	// 7. Background tasks of later seconds of this minute start on time while foreground tasks run.
	var laterStarts sync.WaitGroup
	laterStarts.Go(func() {
		r.startLater(staying, later)
		r.conditions.background.Wait()
	})

	// 8. Runs that a pause ends are stopped, the runs of dead processes are finished, and overdue
	// tasks are reported.
	var beside sync.WaitGroup
	if !r.nothingToDo {
		beside.Go(r.stopPaused)
	}
	beside.Go(func() {
		if !r.nothingToDo {
			r.collectLost()
		}
		r.reportOverdue()
	})

	// 9. Foreground tasks run one after another, then the runs that somebody has asked for.
	runner := r.foregroundRunner(staying)
	runner.run(foreground)
	if !r.nothingToDo && staying.Err() == nil { // else the next tick answers requests
		runner.runRequested()
	}
	laterStarts.Wait()
	endStay()
	runner.recordEnds()

	// 10. The end: the tick waits for steps 4 and 8, and for messages, and prunes the database.
	beside.Wait()
	r.launcher.supervisors.Close()
	endAnnouncing()
	waitForControls()
	r.end()
	return Result{
		Failed:         runner.failed || r.launcher.failed.Load(),
		SkippedUnknown: r.locks.skippedUnknown.Load(),
		SkippedHeld:    r.locks.skippedHeld.Load(),
		Covered:        r.ledger.Covered,
		CoveredBy:      r.ledger.CoveredBy,
	}
}

// stopContexts are the three ways to stop a tick, each stronger than the one before.
type stopContexts struct {
	noNewStarts context.Context // when it is done, the tick starts no other task
	terminate   context.Context // when it is done, the tick stops the running tasks that it watches
	kill        context.Context // when it is done, the tick kills them
}

// A tickRun is a tick while it runs.
type tickRun struct {
	tick        *Tick
	stops       stopContexts
	began       time.Time
	nothingToDo bool        // nothing is due, and the database has no work for this tick
	owner       *state.Self // this tick in the database
	controls    *controlsCache
	admission   *admitter
	locks       *locks
	ledger      *Ledger
	records     *records
	launcher    *launcher
	conditions  *conditions
	requests    requests
}

// prepare returns the tick before it has done anything.
func (t *Tick) prepare(stops stopContexts) *tickRun {
	r := &tickRun{tick: t, stops: stops, began: t.Began, owner: t.Storage.DB.Self(state.Tick)}
	if r.began.IsZero() {
		r.began = clock.Now()
	}
	memory := &fallback{storage: t.Storage, problem: t.Report.Problem}
	r.controls = &controlsCache{
		source: pause.Source{Dir: t.Storage.Dir, Store: t.Storage.Store, DB: t.Storage.DB},
		report: t.Report,
	}
	r.admission = &admitter{tick: t, controls: r.controls, maintenance: newMaintenance(t)}
	r.ledger = r.newLedger()
	r.locks = &locks{
		tick:        t,
		fallback:    memory,
		began:       r.began,
		noNewStarts: stops.noNewStarts,
		asking:      make(chan struct{}, mutex.MaxConcurrent),
	}
	r.records = &records{tick: t, db: t.Storage.DB, fallback: memory}
	r.launcher = &launcher{
		tick:        t,
		stops:       stops,
		admission:   r.admission,
		locks:       r.locks,
		fallback:    memory,
		ledger:      r.ledger,
		records:     r.records,
		supervisors: t.supervisors(),
		self:        r.owner,
		skipping:    make(chan struct{}, maxSkipping),
	}
	r.conditions = newConditions(r.launcher)
	r.requests = requests{tick: t, launcher: r.launcher}
	return r
}

// newLedger returns the ledger of this tick.
func (r *tickRun) newLedger() *Ledger {
	return &Ledger{
		Schedule:   r.tick.Schedule,
		Valid:      r.tick.Valid,
		Parse:      r.tick.Parse,
		Dir:        r.tick.Storage.Dir,
		DB:         r.tick.Storage.DB,
		Self:       r.owner,
		Shared:     r.tick.Storage.Store != nil,
		Minute:     r.tick.Minute,
		Server:     r.tick.Host.Server,
		Covers:     !r.tick.Replay && r.tick.Only == "",
		ReadPauses: func() Paused { return r.controls.readPauses(r.tick.Schedule.Location) },
		Problem:    r.tick.Report.Problem,
	}
}

// supervisors returns what gives the background runs of this tick to supervisors.
func (t *Tick) supervisors() *run.Supervisors {
	if t.handover == nil {
		t.handover = &run.Supervisors{Self: t.Host.Self, Environ: t.Host.Environ}
	}
	return t.handover
}

// StartAhead starts the supervisor of a tick whose minute begins in a moment, if background tasks
// will be due. The caller must call Run afterwards, or Withdraw.
func (t *Tick) StartAhead() { t.startSupervisor(t.dueSlots(t.Schedule.Due(t.Minute))) }

// Withdraw ends a tick that will not run.
func (t *Tick) Withdraw() { t.supervisors().Close() }

// startSupervisor starts the supervisor beside everything else, if one of the slots belongs to a
// background task.
func (t *Tick) startSupervisor(due []schedule.Slot) {
	if background, _ := schedule.SplitBackground(due); len(background) > 0 {
		go t.supervisors().StartAhead(t.Storage)
	}
}

// planSlots enters this minute into the ledger, and returns the slots that the tick starts. From
// then on `sched work` may start the next tick. If the state folder cannot be written, the tick
// goes on with a database in memory.
func (r *tickRun) planSlots(due []schedule.Slot) []schedule.Slot {
	defer r.tick.Work.Covered()
	r.tick.settleCopied()
	slots, err := r.ledger.Open(due)
	if _, fellBack := r.records.fallback.openFor(err); err != nil && !fellBack {
		r.tick.Report.Problem("this minute is not accounted for: %v", err)
	}
	r.nothingToDo = r.ledger.Idle && len(slots) == 0
	return slots
}

// skipExpired skips the slots that have waited until it was too late for them.
func (r *tickRun) skipExpired() {
	for _, expired := range r.ledger.Expired {
		row := skippedRow(r.launcher.newRow(expired.Slot), expired.Reason)
		row.Kind = expired.Kind
		r.launcher.fireSkip(row, expired.Slot.Task, func(state.Row) {})
	}
}

// end waits for hooks and notifications, and writes the records that are left. Notifications are
// left to the next tick if they take longer than notify.Patience, or if the tick is to terminate.
func (r *tickRun) end() {
	r.launcher.hooks.Wait()
	r.launcher.watchedHere.Wait()
	if !r.nothingToDo {
		// Now the tasks have run: their newer messages take over the number of messages that
		// at_most held back (docs/internals/decisions.md#at_most-sends-what-it-held-back).
		r.launcher.sender.Release()
	}
	r.launcher.sender.Wait(r.stops.terminate, notify.Patience)
	if !r.nothingToDo {
		r.records.writeAll(r.ledger.Recorded)
		r.reportEnded()
	}
	r.close()
}

// close closes the database, and reports that it was damaged.
func (r *tickRun) close() {
	r.launcher.self.Close()
	r.tick.Storage.DB.Close()
	if path := r.tick.Storage.DB.SetAside(); path != "" {
		r.tick.Report.Problem("the database was damaged; it is now %s, and a new one was begun", path)
	}
}

// dueSlots returns the slots that this tick does not leave alone.
func (t *Tick) dueSlots(slots []schedule.Slot) []schedule.Slot {
	return slices.DeleteFunc(slots, func(s schedule.Slot) bool {
		isOther := t.Only != "" && s.Task.Name != t.Only
		return isOther || t.Slots != nil && !slices.ContainsFunc(t.Slots, s.At.Equal)
	})
}

// dueBy returns the last moment for which requests and deferred retries start now.
func (t *Tick) dueBy() time.Time {
	if now := clock.Now().Truncate(time.Minute); t.Replay && now.Before(t.Minute) {
		return now
	}
	return t.Minute
}
