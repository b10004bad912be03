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
// See package run for how one run goes, and package schedule for what the schedule says.
package tick

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/redact"
	"sched/schedule/run"
	"sched/schedule/run/handover"
	"sched/schedule/run/holding"
	"sched/schedule/run/supervise"
	"sched/schedule/state"
	"sched/schedule/tick/admission"
	"sched/schedule/tick/claims"
	"sched/schedule/tick/memory"
	"sched/schedule/tick/plan"
	"sched/schedule/work"
)

// A Tick is one call of `sched run`: it starts what is due in one minute. The minute was read once
// and decides everything; how late the tick starts and how long it takes change no decision.
type Tick struct {
	Schedule *schedule.Schedule
	Valid    bool // Schedule is what the file says, not the last valid one
	Minute   time.Time
	Began    time.Time   // when this process read its clock, before it read the schedule; zero: when Run is called
	Only     string      // the name of the only task that starts; "" for all
	Slots    []time.Time // the only slots of the minute that start; nil for all
	Replay   bool        // the minute was given, not read: its slots start without waiting for their seconds
	Work     *work.Link  // to the `sched work` that started this tick; nil if cron did
	Storage  holding.Storage
	Host     Host
	Report   Report

	handover *handover.Supervisors // nil until supervisors is called
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
	if wrong := t.Schedule.Machine.Wrong; wrong != "" { // tasks that ask for such a label do not run here
		const format = "the labels of this machine, for which tasks ask in servers: %s"
		t.Report.Hourly(t.Storage.Dir, "labels", format, wrong)
	}
	r := t.prepare(stopContexts{noNewStarts, terminate, kill})
	defer t.Storage.DB.Close()

	// 1. The due slots. The supervisor starts beside that, and pauses are read.
	due := t.Due()
	t.startSupervisor(due)
	waitForControls := r.launcher.admission.Controls.ReadAhead(len(due) > 0)

	// 2. The plan: one transaction writes down which slots this tick starts.
	background, foreground := schedule.SplitBackground(r.planSlots(due))
	r.launcher.startSender(kill)

	// 3. Slots that have waited too long are skipped. Their hooks may send messages.
	r.skipExpired()

	// 4. Other servers are told that this one lives, while the tick goes on.
	endAnnouncing := r.beginAnnouncing()

	// 5. Background tasks start first, so that no foreground task delays them.
	// 6. Runs that somebody has asked for, in the background.
	now, later := schedule.SplitAfter(background, t.Minute)
	staying, endStay := r.stay(slices.Concat(later, foreground))
	r.startNow(now, foreground)

	// 7. Background tasks of later seconds of this minute start on time while foreground tasks run.
	var laterStarts sync.WaitGroup
	laterStarts.Go(func() {
		r.startLater(staying, later)
		r.conditions.background.Wait()
	})

	// 8. The tick looks after the runs of other ticks.
	waitForOthers := r.lookAfterOthers()

	// 9. Foreground tasks run one after another, then the runs that somebody has asked for.
	runner := &foregroundRunner{launcher: r.launcher, conditions: r.conditions, requests: r.requests, staying: staying}
	runner.run(foreground)
	if !r.nothingToDo && staying.Err() == nil { // else the next tick answers requests
		runner.runRequested()
	}
	laterStarts.Wait()
	endStay()
	runner.recordEnds()

	// 10. The end: the tick waits for steps 4 and 8, and for messages, and prunes the database.
	waitForOthers()
	r.launcher.supervisors.Close()
	endAnnouncing()
	waitForControls()
	r.end()
	return r.result(runner.failed)
}

// A TestRun is a run of a task that stands for no slot of its schedule.
type TestRun struct {
	Task   *schedule.Task
	Params map[string]string
	Origin string    // who asked for the run
	Output io.Writer // gets the output of the run as it comes
}

// FinishUnrecorded fires the after-hooks of a task as if a run of it that nobody recorded had ended
// now with the code (nil: 0).
func (t *Tick) FinishUnrecorded(task *schedule.Task, code *int) (state.Row, error) {
	caller := run.NewCaller(t.Storage, state.Tick, t.Host.Environ)
	defer caller.Self.Close()
	return caller.FinishUnrecorded(rowOf(t.Host.Server, schedule.Slot{Task: task, At: t.Minute}), task, code)
}

// AnswerTriggered starts the runs that are to start at once, in the background, and nothing else.
// Runs that may not start yet are left to ticks. When noNewStarts is done it starts no more runs.
func (t *Tick) AnswerTriggered(noNewStarts, kill context.Context) {
	go t.supervisors().StartAhead(t.Storage)
	r := t.prepare(stopContexts{noNewStarts, noNewStarts, kill})
	defer r.close()
	r.launcher.startSender(kill)
	r.requests.startAtOnce()
	r.launcher.supervisors.Close()
	r.launcher.hooks.Wait()
	r.launcher.sender.Wait(noNewStarts, notify.Patience)
	r.launcher.records.writeAll(0)
}

// Collect finishes lost runs, and reports them and the background runs that failed, unless a tick
// has reported them. The next tick would do the same. It starts no run, and waits for no message.
func (t *Tick) Collect() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	r := t.prepare(stopContexts{noNewStarts: done, terminate: context.Background(), kill: done})
	defer r.close()
	r.launcher.startSender(done)
	r.collector.collectLost()
	r.launcher.supervisors.Close()
	r.launcher.records.writeAll(0)
	r.collector.reportEnded()
}

// Test runs a task now, whatever its schedule and its conditions. If the mutex is held, nothing
// runs, and the row has the outcome skipped. When terminate is done, the command is stopped. When
// kill is done, it is killed.
func (t *Tick) Test(terminate, kill context.Context, test TestRun) (state.Row, error) {
	r := t.prepare(stopContexts{terminate, terminate, kill})
	defer r.close()
	task := *test.Task
	// The person who tests the task sees that it fails: no pause is needed.
	task.OneServer, task.Background, task.PauseAfter = false, false, 0
	slot := schedule.Slot{Task: &task, At: t.Minute}
	row := rowOf(t.Host.Server, slot)
	row.Origin, row.Params, row.Test = test.Origin, test.Params, true
	lock, refusal := r.launcher.locks.Take(&row, slot)
	if refusal.Cause != claims.None {
		row.Outcome, row.Reason, row.Ended = outcome.Skipped, refusal.Reason, clock.Now()
		return row, nil
	}
	r.launcher.startSender(kill)
	begun, err := r.launcher.caller().Begin(row, &task, lock)
	if err != nil {
		if lock != nil {
			lock.Release(context.Background())
		}
		return row, fmt.Errorf("cannot begin: %w", err)
	}
	t.Report.begun(begun.Own.Row)
	var following sync.WaitGroup
	ended := make(chan struct{})
	secrets, err := redact.Of(begun.Own.Row, begun.Environ, true)
	if err != nil {
		fmt.Fprintf(test.Output, "sched: %v\n", err)
		test.Output = io.Discard
	}
	printed := redact.NewWriter(test.Output, secrets)
	following.Go(func() { follow(begun.Own.Row.Output, printed, ended) })
	row = supervise.Foreground(begun, terminate, kill)
	close(ended)
	following.Wait()
	printed.End()
	row = run.Finish(begun, row)
	r.launcher.sender.Wait(terminate, notify.Patience)
	r.launcher.records.writeAll(0)
	return row, nil
}

// Due returns the slots of the minute that this tick does not leave alone.
func (t *Tick) Due() []schedule.Slot {
	return slices.DeleteFunc(t.Schedule.Due(t.Minute), func(s schedule.Slot) bool {
		isOther := t.Only != "" && s.Task.Name != t.Only
		return isOther || t.Slots != nil && !slices.ContainsFunc(t.Slots, s.At.Equal)
	})
}

// Admitter returns what decides which slots of the tick may start.
func (t *Tick) Admitter() *admission.Admitter {
	return &admission.Admitter{
		Schedule: t.Schedule,
		Minute:   t.Minute,
		Replay:   t.Replay,
		Problem:  t.Report.Problem,
		Controls: &admission.Controls{
			Source:  pause.Source{Dir: t.Storage.Dir, Store: t.Storage.Store, DB: t.Storage.DB},
			Problem: t.Report.Problem,
			Detail:  t.Report.detail,
		},
	}
}

func (t *Tick) supervisors() *handover.Supervisors {
	if t.handover == nil {
		t.handover = &handover.Supervisors{Self: t.Host.Self, Environ: t.Host.Environ}
	}
	return t.handover
}

// StartAhead starts the supervisor of a tick whose minute begins in a moment, if background tasks
// will be due. The caller must call Run afterwards, or Withdraw.
func (t *Tick) StartAhead() { t.startSupervisor(t.Due()) }

// Withdraw ends a tick that will not run.
func (t *Tick) Withdraw() { t.supervisors().Close() }

// startSupervisor starts the supervisor beside everything else, if one of the slots belongs to a
// background task.
func (t *Tick) startSupervisor(due []schedule.Slot) {
	if background, _ := schedule.SplitBackground(due); len(background) > 0 {
		go t.supervisors().StartAhead(t.Storage)
	}
}

// A tickRun is a tick while it runs.
type tickRun struct {
	tick        *Tick
	began       time.Time
	nothingToDo bool // nothing is due, and the database has no work for this tick
	launcher    *launcher
	conditions  *conditions
	requests    requests
	collector   collector
}

func (t *Tick) prepare(stops stopContexts) *tickRun {
	r := &tickRun{tick: t, began: t.Began}
	if r.began.IsZero() {
		r.began = clock.Now()
	}
	inMemory := &memory.Fallback{Storage: t.Storage, Problem: t.Report.Problem}
	r.launcher = &launcher{
		schedule:  t.Schedule,
		storage:   t.Storage,
		host:      t.Host,
		report:    t.Report,
		moment:    moment{t.Minute, t.Replay, t.Only, t.Schedule.Location},
		stops:     stops,
		admission: t.Admitter(),
		locks: claims.New(claims.Tick{
			Storage:     t.Storage,
			Fallback:    inMemory,
			Server:      t.Host.Server,
			Began:       r.began,
			NoNewStarts: stops.noNewStarts,
			Replay:      t.Replay,
			Problem:     t.Report.Problem,
		}),
		fallback:    inMemory,
		records:     &records{schedule: t.Schedule, storage: t.Storage, report: t.Report, fallback: inMemory},
		supervisors: t.supervisors(),
		self:        t.Storage.DB.Self(state.Tick),
		skipping:    make(chan struct{}, maxSkipping),
	}
	r.launcher.ledger = r.newLedger()
	r.conditions = &conditions{
		launcher: r.launcher,
		places:   make(chan struct{}, maxConcurrent),
		newest:   map[*schedule.Task]chan struct{}{},
	}
	r.requests = requests{launcher: r.launcher}
	r.collector = collector{r.launcher, r.requests, &sync.WaitGroup{}}
	return r
}

func (r *tickRun) newLedger() *plan.Ledger {
	return &plan.Ledger{
		Schedule:   r.tick.Schedule,
		Valid:      r.tick.Valid,
		Dir:        r.tick.Storage.Dir,
		DB:         r.tick.Storage.DB,
		Self:       r.launcher.self,
		Shared:     r.tick.Storage.Store != nil,
		Minute:     r.tick.Minute,
		Server:     r.tick.Host.Server,
		Covers:     !r.tick.Replay && r.tick.Only == "",
		ReadPauses: func() plan.Paused { return r.launcher.admission.Controls.ReadPauses(r.tick.Schedule.Location) },
		Problem:    r.tick.Report.Problem,

		ReadElsewhere: r.readElsewhere,
	}
}

// readElsewhere says of slots that no tick of this server covered that other servers have them. As
// far as the store does not answer, it says nothing, and the slots were missed.
func (r *tickRun) readElsewhere(asked []schedule.Slot) map[schedule.Slot]string {
	texts := map[schedule.Slot]string{}
	taken, _ := cluster.Taken(context.Background(), r.tick.Storage.Store, r.tick.Host.Server, asked)
	for slot, holder := range taken {
		texts[slot] = claims.ClaimReason(slot.Task, holder, r.tick.Host.Server)
	}
	return texts
}

// planSlots enters this minute into the ledger, and returns the slots that the tick starts. From
// then on `sched work` may start the next tick. If the state folder cannot be written, the tick
// goes on with a database in memory.
func (r *tickRun) planSlots(due []schedule.Slot) []schedule.Slot {
	defer r.tick.Work.Covered()
	r.settleCopied()
	slots, err := plan.Open(r.launcher.ledger, due)
	if _, fellBack := r.launcher.records.fallback.OpenFor(err); err != nil && !fellBack {
		r.tick.Report.Problem("this minute is not accounted for: %v", err)
	}
	r.nothingToDo = r.launcher.ledger.Idle && len(slots) == 0
	return slots
}

// settleCopied ends the rows of a copied state folder whose runs belong to the folder that was
// copied, before any other step of the tick could end their commands or fire their hooks. An error
// is left to the plan, which meets it, too.
func (r *tickRun) settleCopied() {
	rows, err := r.tick.Storage.DB.Owners().SettleCopied(context.Background())
	if err == nil && len(rows) > 0 {
		const format = "%s is a copy of another state folder: what goes on there is left alone, and is over here (%s)"
		r.tick.Report.Problem(format, r.tick.Storage.Dir, state.NamesOf(rows))
	}
}

func (r *tickRun) skipExpired() {
	for _, expired := range r.launcher.ledger.Expired {
		row := skippedRow(r.launcher.newRow(expired.Slot), expired.Reason)
		row.Kind = expired.Kind
		r.launcher.fireSkip(row, expired.Slot.Task, func(state.Row) {})
	}
}

// beginAnnouncing begins to announce this server to the other servers (cluster.Announcer), until
// end is called. The tick does not depend on it: a failure is only a detail, and an outage of the
// store is reported when locks are taken.
func (r *tickRun) beginAnnouncing() (end func()) {
	t := r.tick
	if t.Storage.Store == nil {
		return func() {}
	}
	a := &cluster.Announcer{
		Name:     t.Host.Server,
		Version:  t.Host.Version,
		Dir:      t.Storage.Dir,
		Minute:   t.Minute,
		Schedule: t.Schedule,
		DB:       t.Storage.DB,
		Store:    t.Storage.Store,
		Detail:   t.Report.detail,
		Hourly:   func(kind, format string, a ...any) { t.Report.Hourly(t.Storage.Dir, kind, format, a...) },
	}
	outage := func() error { return *cmp.Or(r.launcher.locks.Outage.Load(), new(error)) }
	ticking, cancel := context.WithCancel(context.Background())
	var announcing sync.WaitGroup
	announcing.Go(func() { a.Announce(ticking, outage) })
	return func() {
		r.launcher.records.flushQuietly() // a slot that was skipped is no run to announce
		cancel()
		announcing.Wait()
	}
}

// stay returns a context for the starts of slots that are due in later seconds of the minute. It is
// done
//
//   - when noNewStarts is done,
//   - or when somebody interrupts this tick. The tick looks for interrupts until end is called.
//
// If no slot is due in a later second, nobody looks for interrupts.
func (r *tickRun) stay(slots []schedule.Slot) (staying context.Context, end func()) {
	ctx := r.launcher.stops.noNewStarts
	isLater := func(s schedule.Slot) bool { return s.At.After(r.tick.Minute) }
	if !slices.ContainsFunc(slots, isLater) {
		return ctx, func() {}
	}
	staying, interrupt := context.WithCancelCause(ctx)
	watching, stopWatching := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer stopWatching()
		age := func() time.Duration { return clock.Now().Sub(r.began) }
		if i, ok := r.launcher.admission.Controls.Watch(watching, age); ok {
			interrupt(admission.Interruption{Interrupt: i})
		}
	}()
	return staying, func() {
		stopWatching()
		<-done
	}
}

// startNow starts the background slots of the full minute, and the background runs that somebody
// has asked for. A run that has waited for its mutex comes before them.
func (r *tickRun) startNow(now, foreground []schedule.Slot) {
	soon, _ := schedule.SplitAfter(foreground, r.tick.Minute)
	r.launcher.prefetch(soon)
	if !r.nothingToDo {
		r.collector.freeLocks(slices.Concat(now, soon))
		r.collector.resumeQueued()
		if len(now) > 0 {
			r.collector.startLongestWaiting()
		}
	}
	r.startBackground(r.launcher.stops.noNewStarts, now)
	if !r.nothingToDo {
		r.requests.startBackground()
	}
	r.launcher.records.flushQuietly()
}

// startBackground hands over the runs of background slots. Slots with condition commands come last,
// and nothing waits for them.
func (r *tickRun) startBackground(ctx context.Context, slots []schedule.Slot) {
	free, conditional := schedule.SplitConditional(slots)
	r.launcher.startAll(ctx, free)
	for _, slot := range conditional {
		r.conditions.start(ctx, slot)
	}
}

// startLater hands over the background runs of slots in later seconds of the minute. The runs of
// one instant are handed over together.
//
// A task may be due several times in a minute. A tick with such slots runs until the last of them
// has started. Each slot starts on time, or not at all once the next slot of its task is due
// (schedule.TooLate). The context is the one of tickRun.stay.
func (r *tickRun) startLater(ctx context.Context, slots []schedule.Slot) {
	for len(slots) > 0 {
		if reason := r.launcher.moment.awaitInstant(ctx, slots[0]); reason != "" {
			r.launcher.skipAll(slots, reason)
			return
		}
		now, later := schedule.SplitAfter(slots, slots[0].At)
		r.startBackground(ctx, now)
		r.launcher.records.flushQuietly()
		slots = later
	}
}

// lookAfterOthers stops the runs that a pause ends, finishes the runs of dead processes, and
// reports overdue and recovered tasks, beside everything else.
func (r *tickRun) lookAfterOthers() (wait func()) {
	var beside sync.WaitGroup
	reportRecovered := watchRecoveries(r.launcher)
	if !r.nothingToDo {
		beside.Go(r.collector.stopPaused)
	}
	beside.Go(func() {
		if !r.nothingToDo {
			r.collector.collectLost()
		}
		r.collector.freeing.Wait()
		reportOverdue(r.launcher, r.nothingToDo)
		reportRecovered()
	})
	return beside.Wait
}

// end waits for hooks and notifications, and writes the records that are left. Notifications are
// left to the next tick if they take longer than notify.Patience, or if the tick is to terminate.
func (r *tickRun) end() {
	r.launcher.hooks.Wait()
	r.launcher.watchedHere.Wait()
	if !r.nothingToDo && !r.tick.Report.Apart {
		// Now the tasks have run: their newer messages take over the number of messages that
		// at_most held back (docs/internals/decisions.md#at_most-sends-what-it-held-back).
		r.launcher.sender.Release()
	}
	r.launcher.sender.Wait(r.launcher.stops.terminate, notify.Patience)
	if !r.nothingToDo {
		r.launcher.records.writeAll(r.launcher.ledger.Recorded)
	}
	if !r.nothingToDo && !r.tick.Report.Apart {
		r.collector.reportEnded()
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

// result returns what became of the tick. The parameter failed says that a foreground task failed.
func (r *tickRun) result(failed bool) Result {
	return Result{
		Failed:         failed || r.launcher.failed.Load(),
		SkippedUnknown: r.launcher.locks.SkippedUnknown.Load(),
		SkippedHeld:    r.launcher.locks.SkippedHeld.Load(),
		Covered:        r.launcher.ledger.Covered,
		CoveredBy:      r.launcher.ledger.CoveredBy,
	}
}
