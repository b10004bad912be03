package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/history"
	"sched/schedule/ledger"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/work"
)

// A Tick is one call of `sched run`: it starts what is due in one minute. The minute was read once and decides everything;
// how late the tick starts and how long it takes change no decision.
type Tick struct {
	Schedule *schedule.Schedule
	Valid    bool                                     // Schedule is that of the file, not the last valid one instead
	Parse    func([]byte) (*schedule.Schedule, error) // reads the archive of the last valid one
	Minute   time.Time
	Began    time.Time  // when this process read its clock, before it read the schedule; zero: when it runs
	Only     string     // a task's name: leave the others alone; "" for all
	Replay   bool       // the minute was given, not read: its slots are taken as they come, without waiting for their seconds
	Work     *work.Link // to the `sched work` that started this tick; nil where cron did
	Doubled  func()     // is called where another tick has covered the minute; may be nil
	Storage  run.Storage
	Host     Host
	Report   Report
}

// A Host is the machine and the program that a tick runs on.
type Host struct {
	Server  string   // the name of this machine
	Version string   // of sched
	Self    string   // the path of sched, for the witnesses
	Environ []string // of the caller
}

// A Report receives what a tick does, as it happens. Several goroutines may call its functions at once.
type Report struct {
	Begun   func(outcome.Record)          // a foreground run begins; may be nil
	Started func(outcome.Record)          // a background run was handed over
	Done    func(outcome.Record)          // a foreground run, or a skipped slot, has its outcome
	Problem func(format string, a ...any) // something is wrong that is not a task's own failure
	Detail  func(format string, a ...any) // something that only few want to know; may be nil
}

// A Result is what the exit code of a tick depends on
// (docs/decisions.md#a-tick-that-skipped-since-the-store-was-down-exits-with-1).
type Result struct {
	Failed         bool // a foreground task failed, or a background one before its witness had it
	SkippedUnknown bool // a slot was skipped since the store did not answer
}

// Run runs the tick. It returns when the foreground tasks have ended and the background tasks were handed over. When
// noNewStarts is done it starts no other task; when terminate is done it stops the running one, and when kill is done
// too it kills it.
func (t *Tick) Run(noNewStarts, terminate, kill context.Context) Result {
	t.Storage.RememberStore()
	r := t.prepare()
	r.starter.terminate = terminate
	due := r.dueSlots(t.Schedule.Due(t.Minute))
	defer r.controls.readAhead(len(due) > 0)()
	background, foreground := split(r.account(due))
	r.deliveries.start(kill)
	defer r.announceWhile()()

	// Background tasks first, so that no foreground task delays them. Those of a later second of this minute are
	// started on time while foreground tasks run.
	now, later := untilSecond(background, t.Minute)
	staying, leave := r.stay(noNewStarts, 2, slices.Concat(later, foreground))
	r.startBackground(noNewStarts, now)
	r.requests.startBackground(noNewStarts)
	var beside sync.WaitGroup
	beside.Go(func() {
		r.startLater(staying, later)
		r.conditions.background.Wait()
		leave()
	})
	beside.Go(func() {
		r.collectLost(noNewStarts)
		if len(foreground) > 0 { // which may take long
			r.records.write()
		}
	})

	r.locks.lookAhead(foreground)
	queue := r.foregroundQueue(contexts{noNewStarts, staying, terminate, kill}, len(foreground))
	queue.run(foreground)
	if staying.Err() == nil { // else the next tick answers requests
		queue.runRequested()
	}
	queue.rest()
	leave()
	beside.Wait()
	r.end(terminate)
	return Result{Failed: queue.failed || r.starter.failed.Load(), SkippedUnknown: r.locks.skippedUnknown}
}

// running is a tick while it runs.
type running struct {
	*Tick
	began      time.Time
	controls   *controlsCache
	admission  *admission
	locks      *locks
	ledger     *ledger.Account
	records    *records
	deliveries *deliveries
	starter    *starter
	conditions *conditions
	requests   requests
}

// prepare returns the tick before it has done anything.
func (t *Tick) prepare() *running {
	r := &running{Tick: t, began: t.Began}
	if r.began.IsZero() {
		r.began = clock.Now()
	}
	spare := &spare{storage: t.Storage, problem: t.Report.Problem}
	r.controls = &controlsCache{storage: t.Storage, report: t.Report}
	r.admission = &admission{t, r.controls, &maintenance{schedule: t.Schedule, problem: t.Report.Problem}}
	r.locks = &locks{storage: t.Storage, spare: spare, problem: t.Report.Problem}
	r.ledger = r.newAccount(spare)
	r.records = &records{tick: t, spare: spare, ledger: r.ledger}
	r.deliveries = &deliveries{tick: t, records: r.records}
	r.starter = &starter{
		Tick: t, admission: r.admission, locks: r.locks, spare: spare, ledger: r.ledger, records: r.records, deliveries: r.deliveries,
		skipping: make(chan struct{}, maxSkipping),
	}
	r.conditions = newConditions(r.starter)
	r.requests = requests{r.starter}
	return r
}

// newAccount returns the ledger's part of this tick.
func (r *running) newAccount(spare *spare) *ledger.Account {
	return &ledger.Account{
		Schedule: r.Schedule, Valid: r.Valid, Parse: r.Parse,
		Dir: r.Storage.Dir, Minute: r.Minute, Server: r.Host.Server, Covers: !r.Replay && r.Only == "",
		Spare:         spare,
		UnderWork:     func() (int, bool) { return work.Running(r.Storage.Dir) },
		StartedByWork: r.Work != nil,
		Doubled:       r.Doubled,
		Paused: func(task *schedule.Task, at time.Time) bool {
			return r.controls.now().Pauses.Covered(task.Name, task.EvenWhenPaused, at)
		},
		EndConditions: endConditions,
		History:       func(db *history.DB) { r.records.reportSetAside(db) },
		Problem:       r.Report.Problem,
	}
}

// account enters this minute into the ledger, and returns the slots that the tick starts. From then on `sched work` may start the
// next tick.
func (r *running) account(due []schedule.Slot) []schedule.Slot {
	defer r.Work.Covered()
	return r.ledger.Open(due)
}

// end waits for hooks and notifications, and writes what is left to record. Notifications that take longer than outbox.Patience,
// or than until terminate is done, are left to the next tick.
func (r *running) end(terminate context.Context) {
	r.starter.skipHooks.Wait()
	r.deliveries.sendHeld()
	r.deliveries.sender.Wait(terminate, outbox.Patience)
	r.records.write()
	r.ledger.Close()
}

// dueSlots returns the slots of the tasks that this tick does not leave alone.
func (t *Tick) dueSlots(slots []schedule.Slot) []schedule.Slot {
	if t.Only == "" {
		return slots
	}
	return slices.DeleteFunc(slots, func(s schedule.Slot) bool { return s.Task.Name != t.Only })
}

// split returns the slots of background tasks, and those of foreground tasks.
func split(slots []schedule.Slot) (background, foreground []schedule.Slot) {
	for _, slot := range slots {
		if slot.Task.Background {
			background = append(background, slot)
		} else {
			foreground = append(foreground, slot)
		}
	}
	return background, foreground
}

// startBackground hands over the runs of background slots. Those with condition commands come last, and nothing waits for them.
func (r *running) startBackground(ctx context.Context, slots []schedule.Slot) {
	var free, conditional []schedule.Slot
	for _, slot := range slots {
		if len(slot.Task.ConditionCommands) > 0 {
			conditional = append(conditional, slot)
		} else {
			free = append(free, slot)
		}
	}
	r.starter.startAll(ctx, free)
	for _, slot := range conditional {
		r.conditions.start(ctx, slot)
	}
}

// begun reports that a foreground run begins.
func (r Report) begun(record outcome.Record) {
	if r.Begun != nil {
		r.Begun(record)
	}
}

// detail reports what only those want to know who asked for more.
func (r Report) detail(format string, a ...any) {
	if r.Detail != nil {
		r.Detail(format, a...)
	}
}
