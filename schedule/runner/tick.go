package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/ledger"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/work"

	"sched/schedule/history"
)

// A Tick is one call of `sched run`: it starts what is due in one minute. The minute was read once and decides everything;
// how late the tick starts and how long it takes change no decision.
type Tick struct {
	Schedule *schedule.Schedule
	Valid    bool                                     // Schedule is what the file says, not the last valid one instead
	Parse    func([]byte) (*schedule.Schedule, error) // reads the archive of the last valid one
	Minute   time.Time
	Began    time.Time  // when this process read its clock, before it read the schedule; zero: when it runs
	Only     string     // a task's name: leave the others alone; "" for all
	Replay   bool       // the minute was given, not read: its slots are taken as they come, without waiting for their seconds
	Work     *work.Link // to the `sched work` that started this tick; nil where cron did
	Storage  run.Storage
	Host     Host
	Report   Report
}

// A Host is the machine and the program that tick.
type Host struct {
	Server  string   // the name of this machine
	Version string   // of sched
	Self    string   // the path of sched, for the witnesses
	Environ []string // of the caller
}

// A Report is told what a tick does, as it happens, by several goroutines.
type Report struct {
	Begun   func(outcome.Record)          // a foreground run begins; may be nil
	Started func(outcome.Record)          // a background run was handed over
	Done    func(outcome.Record)          // a foreground run, or a skipped slot, has its outcome
	Problem func(format string, a ...any) // something is wrong that is not a task's own failure
	Detail  func(format string, a ...any) // something that only few want to know; may be nil
}

// A Result is what the caller of a tick must know of it.
type Result struct {
	Failed         bool // a foreground task failed
	SkippedUnknown bool // a slot was skipped since nobody knew whether it may run: that is no skip that all is well with
}

// Run runs the tick. It returns when the foreground tasks have ended and the background tasks were handed over. When
// noNewStarts is done it starts no other task; when terminate is done it stops the running one, and when kill is done
// too it kills it.
func (t *Tick) Run(noNewStarts, terminate, kill context.Context) Result {
	t.Storage.RememberStore()
	r := t.prepare()
	r.terminate = terminate
	due := r.dueSlots(t.Schedule.Due(t.Minute))
	defer r.controls.readAhead(len(due) > 0)()
	background, foreground := split(r.account(due))
	r.startSending(kill)
	defer r.announceWhile()()

	// Background tasks first, so that no foreground task delays them. Those of a later second of this minute are
	// started on time while foreground tasks run.
	now, later := untilSecond(background, t.Minute)
	staying, leave := r.stay(noNewStarts, 2, slices.Concat(later, foreground))
	r.startBackground(noNewStarts, now)
	r.startRequested(noNewStarts)
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
	r.skipHooks.Wait()
	r.sendHeld()
	r.sender.Wait(terminate, outbox.Patience)
	r.records.write()
	r.ledger.Close()
	return Result{Failed: queue.failed, SkippedUnknown: r.locks.skippedUnknown}
}

// running is a tick while it runs: what it has found out, and what it has begun.
type running struct {
	*Tick
	began       time.Time
	controls    *controlsCache
	maintenance *maintenance
	spare       *spare
	locks       *locks
	ledger      *ledger.Account
	records     *records
	conditions  *conditions
	terminate   context.Context // done when this process was asked to end
	sender      *outbox.Sender  // nil until startSending
	held        []heldBack      // that may be sent before the tick ends
	skipHooks   sync.WaitGroup  // of skipped slots
}

// prepare returns the tick before it has done anything.
func (t *Tick) prepare() *running {
	r := &running{Tick: t, began: t.Began, conditions: newConditions()}
	if r.began.IsZero() {
		r.began = clock.Now()
	}
	r.spare = &spare{storage: t.Storage, problem: t.Report.Problem}
	r.controls = &controlsCache{storage: t.Storage, report: t.Report}
	r.maintenance = &maintenance{schedule: t.Schedule, problem: t.Report.Problem}
	r.locks = &locks{storage: t.Storage, spare: r.spare, problem: t.Report.Problem}
	r.ledger = r.newAccount()
	r.records = &records{tick: t, spare: r.spare, ledger: r.ledger}
	return r
}

// newAccount is what the ledger must know of this tick.
func (r *running) newAccount() *ledger.Account {
	return &ledger.Account{
		Schedule: r.Schedule, Valid: r.Valid, Parse: r.Parse,
		Dir: r.Storage.Dir, Minute: r.Minute, Server: r.Host.Server, Covers: !r.Replay && r.Only == "",
		Spare:         r.spare,
		UnderWork:     func() (int, bool) { return work.Running(r.Storage.Dir) },
		StartedByWork: r.Work != nil,
		Paused: func(task *schedule.Task, at time.Time) bool {
			return r.controls.now().Pauses.Covered(task.Name, task.EvenWhenPaused, at)
		},
		EndConditions: endConditions,
		History:       func(db *history.DB) { r.records.saySetAside(db) },
		Problem:       r.Report.Problem,
	}
}

// account has the ledger account for this minute, and returns the slots that the tick starts. Then `sched work` may start the next tick.
func (r *running) account(due []schedule.Slot) []schedule.Slot {
	defer r.Work.Covered()
	return r.ledger.Open(due)
}

// dueSlots are the slots of the tasks that this tick does not leave alone.
func (t *Tick) dueSlots(slots []schedule.Slot) []schedule.Slot {
	if t.Only == "" {
		return slots
	}
	return slices.DeleteFunc(slots, func(s schedule.Slot) bool { return s.Task.Name != t.Only })
}

// split parts the slots that go to the background from those that do not.
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

// begun reports that a foreground run begins.
func (r Report) begun(record outcome.Record) {
	if r.Begun != nil {
		r.Begun(record)
	}
}

// detail says what only those want to know who asked for more.
func (r Report) detail(format string, a ...any) {
	if r.Detail != nil {
		r.Detail(format, a...)
	}
}
