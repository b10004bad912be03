package tick

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/run/handover"
	"sched/schedule/run/holding"
	"sched/schedule/run/supervise"
	"sched/schedule/state"
	"sched/schedule/tick/admission"
	"sched/schedule/tick/claims"
	"sched/schedule/tick/memory"
	"sched/schedule/tick/plan"
)

// stopContexts are the three ways to stop a tick, each stronger than the one before.
type stopContexts struct {
	noNewStarts context.Context // when it is done, the tick starts no other task
	terminate   context.Context // when it is done, the tick stops the running tasks that it watches
	kill        context.Context // when it is done, the tick kills them
}

// A launcher prepares the runs of slots, hands the background runs over to a supervisor, and
// records the slots that do not start. Safe for concurrent use.
type launcher struct {
	schedule  *schedule.Schedule
	storage   holding.Storage
	host      Host
	report    Report
	moment    moment
	stops     stopContexts
	admission *admission.Admitter
	locks     *claims.Locks
	ledger    *plan.Ledger
	records   *records
	sender    *notify.Sender // of messages; nil until startSender
	self      *state.Self    // this tick in the database
	failed    atomic.Bool    // a run could not begin, or could not be handed over

	// For the runs that a supervisor gets.
	supervisors   *handover.Supervisors
	batch         runBatch
	handedOverIDs sync.Map // of the runs that this tick hands over; the values mean nothing

	// For a state folder that cannot be written.
	fallback     *memory.Fallback
	inMemory     *state.Self // this tick in the database in memory; nil until that is used
	openInMemory sync.Once
	watchedHere  sync.WaitGroup // the background runs that this process watches itself

	// For the hooks that no run fires.
	hooks    sync.WaitGroup // the on_skip and on_overdue hooks that run
	skipping chan struct{}  // has an element for each slot whose on_skip hooks run
}

// startSender begins to deliver notifications beside everything else, so that no server that hangs
// delays a task. When kill is done the undelivered ones are left to a later tick.
func (l *launcher) startSender(kill context.Context) {
	l.sender = notify.NewSender(kill, l.storage.DB, l.host.Environ)
	l.sender.Undelivered, l.sender.Task = l.records.reportUndelivered, l.schedule.Task
	l.sender.Delivered = func(sent *notify.Delivery, target string) {
		l.report.detail("%s: %s: sent %s", sent.Message.Task, sent.Hook, target)
	}
}

// startAll hands over the background runs of slots whose tasks have no condition commands.
func (l *launcher) startAll(ctx context.Context, slots []schedule.Slot) {
	l.prefetch(slots)
	defer l.locks.ReleasePrefetched(slots)
	defer l.report.flush()
	defer l.handOverBatch()
	for i, slot := range slots {
		if ctx.Err() != nil {
			l.skipAll(slots[i:], admission.WhyDone(ctx))
			return
		}
		if slot.Task.NeedsLocks() && l.storage.Store != nil { // the store may be slow
			l.handOverBatch()
		}
		if prepared, ok := l.prepare(slot); ok && l.batch.add(prepared) == maxBatch {
			l.handOverBatch()
		}
	}
}

// prepare prepares the run of a slot whose task has no condition commands. It returns false if
// there is nothing to begin: the slot was skipped or failed, or its run waits already.
func (l *launcher) prepare(slot schedule.Slot) (*run.Prepared, bool) {
	row := l.newRow(slot)
	if reason, byPause := l.admission.Refusal(slot); reason != "" {
		l.refuse(row, slot.Task, reason, byPause)
		return nil, false
	}
	return l.lockAndPrepare(row, slot)
}

// lockAndPrepare takes the lock of a slot that may start, and prepares its run. If the run has to
// wait for the lock, it begins without it.
func (l *launcher) lockAndPrepare(row state.Row, slot schedule.Slot) (*run.Prepared, bool) {
	lock, refusal := l.locks.Take(&row, slot)
	if refusal.Cause == claims.Unknown && slot.Task.WaitWhenStoreDown && l.waitForStore(slot, refusal.Err) {
		return nil, false
	}
	if refusal.Cause == claims.Held && slot.Task.MaxWait > 0 && slot.Task.Background {
		if waiting, ok := l.beginWaiting(row, slot, refusal); ok {
			l.handOverBegun(waiting)
		}
		return nil, false
	}
	if refusal.Cause != claims.None {
		if refusal.Cause == claims.Unknown {
			l.locks.SkippedUnknown.Store(true)
		} else if refusal.Cause == claims.Held {
			l.locks.SkippedHeld.Store(true)
			if held, ok := errors.AsType[*mutex.HeldError](refusal.Err); ok {
				refusal.Reason += l.ledger.WaitText(held.Holder.Run)
			}
			if claimed := skippedRow(row, refusal.Reason); slot.Task.OneServer && l.storage.Store != nil {
				l.hooks.Go(func() { _ = cluster.PublishSkip(context.Background(), l.storage.Store, claimed) })
			}
		}
		row.Kind = refusal.Kind
		l.skip(row, slot.Task, refusal.Reason)
		return nil, false
	}
	return l.prepareRun(row, slot.Task, lock)
}

// beginWaiting begins the run of a slot whose mutex or seats other runs have: its supervisor waits
// for them. While another run of the task waits already the slot is skipped, unless the task
// catches up.
func (l *launcher) beginWaiting(row state.Row, slot schedule.Slot, refusal claims.Refusal) (*run.Run, bool) {
	if reason := claims.WaitsAlready(l.storage.DB, slot.Task); reason != "" && !slot.Task.CatchesUp {
		l.skip(row, slot.Task, reason)
		return nil, false
	}
	row.Wait, row.Attempt.Boot = waitOf(slot.Task), clock.BootID()
	row.Wait.Until = l.admission.LatestStart(slot, row.Wait.Since).UTC()
	begun, err := l.caller().Begin(row, slot.Task, nil)
	if err != nil {
		row.Wait = state.Wait{}
		l.skip(row, slot.Task, fmt.Sprintf("%s; it cannot wait: %v", refusal.Reason, err))
		return nil, false
	}
	return begun, true
}

// waitOf returns the wait of a run that begins to wait for its mutex now, in this boot.
func waitOf(task *schedule.Task) state.Wait {
	now := clock.Now().UTC()
	after, _ := clock.SinceBoot()
	return state.Wait{For: state.ForMutex, Since: now, AfterBoot: after, Until: now.Add(task.MaxWait)}
}

// waitForStore leaves a slot for which the store had no answer to later ticks. It reports false if
// the slot cannot be left. The first tick that leaves the slot reports that.
func (l *launcher) waitForStore(slot schedule.Slot, why error) bool {
	isNew, ok := l.ledger.Delay(slot, state.ForStore, why.Error())
	if isNew && ok {
		latest := humanize.MinuteZone(slot.At.Add(slot.Task.MaxLateness()), l.schedule.Location)
		l.report.Problem("%s waits for the store, until %s at the latest: %v", slot.Task.Name, latest, why)
	}
	return ok
}

// refuse gives its outcome to a slot that may not start at this moment. If a pause or a maintenance
// keeps the slot, and its task says so, the slot waits for the end of the pause instead
// (docs/internals/decisions.md#a-slot-that-waits-is-a-row).
func (l *launcher) refuse(row state.Row, task *schedule.Task, reason string, byPause bool) {
	if byPause && task.RunAfterPause {
		isNew, ok := l.ledger.Delay(schedule.Slot{Task: task, At: row.Slot}, state.ForPause, reason)
		if isNew && ok {
			l.report.detail("%s waits for the end of a pause: %s", task.Name, reason)
		}
		if ok {
			return
		}
	}
	if task.Lacks != "" {
		row.Kind = outcome.Lacking
		reason += " (for ticks)" // a person may have the variable
	}
	l.skip(row, task, reason)
}

// prefetch has the store asked ahead for the slots of an instant for which that can be
// (claims.Locks.Prefetch).
func (l *launcher) prefetch(slots []schedule.Slot) {
	var asks []claims.Ask
	for _, slot := range slots {
		if l.asksAhead(slot) {
			asks = append(asks, claims.Ask{Slot: slot, Row: l.newRow(slot)})
		}
	}
	l.locks.Prefetch(asks)
}

// asksAhead reports whether the store is to be asked ahead for a slot: not for slots that may not
// start at this moment, and not for slots with condition commands, which are claimed after a yes.
func (l *launcher) asksAhead(slot schedule.Slot) bool {
	task := slot.Task
	asks := task.OneServer || task.Background && task.HoldsWhileRunning()
	if !asks || l.storage.Store == nil || len(task.ConditionCommands) > 0 || l.locks.PrefetchedRun(slot) != "" {
		return false
	}
	reason, _ := l.admission.Refusal(slot)
	return reason == ""
}

// prepareRun prepares the run of a slot whose lock is taken. It returns false if that failed. If
// the state folder cannot be written, it prepares the run in the database in memory, and the tick
// exits with a failure.
func (l *launcher) prepareRun(row state.Row, task *schedule.Task, lock mutex.Lock) (*run.Prepared, bool) {
	p, err := l.caller().Prepare(row, task, lock)
	if storage, fellBack := l.fallback.OpenFor(err); fellBack {
		l.failed.Store(true)
		p, err = l.callerIn(storage).Prepare(row, task, lock)
	}
	if err != nil {
		l.failed.Store(true)
		l.handOverBatch()
		l.records.addEnded(run.FailUnbegun(l.caller().Process, row, task, lock, err))
		return nil, false
	}
	return p, true
}

func (l *launcher) caller() run.Caller { return l.callerIn(l.storage) }

// callerIn is caller for the storage of the tick, or for the storage in memory.
func (l *launcher) callerIn(storage holding.Storage) run.Caller {
	self := l.self
	if storage.DB.InMemory() {
		l.openInMemory.Do(func() { l.inMemory = storage.DB.Self(state.Tick) })
		self = l.inMemory
	}
	return run.Caller{Process: holding.Process{
		Storage:   storage,
		Self:      self,
		Environ:   l.host.Environ,
		Sender:    l.sender,
		Leases:    &l.locks.Leases,
		Terminate: l.stops.terminate,
	}}
}

// newRow returns the row of a run that is to begin for a slot. If a run was planned or prefetched
// for the slot, the row has the id of that run.
func (l *launcher) newRow(slot schedule.Slot) state.Row {
	row := rowOf(l.host.Server, slot)
	if id := l.locks.PrefetchedRun(slot); id != "" {
		row.ID = id
	}
	if id, note := l.ledger.RunOf(slot); id != "" {
		row.ID = id
		if note != "" {
			row.Notes = []string{note}
		}
	}
	return row
}

func rowOf(server string, slot schedule.Slot) state.Row {
	previous, _ := slot.Task.When.Previous(slot.At)
	meaning := slot.Task.When.Meaning(slot.At)
	return state.Row{
		ID:           outcome.NewID(),
		Task:         slot.Task.Name,
		Mutex:        slot.Task.Mutex,
		Slot:         slot.At.UTC(),
		PreviousSlot: previous,
		Nominal:      meaning.Day,
		Moved:        meaning.Moved,
		Background:   slot.Task.Background,
		Server:       server,
		Params:       slot.Task.ValuesAt(slot.At),
	}
}

// taskOf returns the task of a row, or one with only its name if it is no longer in the schedule:
// the run uses its snapshot.
func taskOf(s *schedule.Schedule, row state.Row) *schedule.Task {
	return cmp.Or(s.Task(row.Task), &schedule.Task{Name: row.Task, Mutex: row.Task})
}

// skip records that a slot did not run, and fires the task's on_skip hooks beside everything else.
func (l *launcher) skip(row state.Row, task *schedule.Task, reason string) {
	l.handOverBatch()
	row = skippedRow(row, reason)
	if len(task.Hooks.OnSkip) == 0 {
		l.records.addEnded(row)
		return
	}
	l.fireSkip(row, task, l.report.done)
}

func skippedRow(row state.Row, reason string) state.Row {
	row.Outcome, row.Reason, row.Ended = outcome.Skipped, reason, clock.Now()
	return row
}

// fireSkip settles that a slot is skipped, and fires the on_skip hooks of its task beside
// everything else. It calls done afterwards.
func (l *launcher) fireSkip(row state.Row, task *schedule.Task, done func(state.Row)) {
	l.hooks.Go(func() {
		l.skipping <- struct{}{}
		defer func() { <-l.skipping }()
		settled, err := l.caller().Skip(row, task)
		if storage, fellBack := l.fallback.OpenFor(err); fellBack {
			if settled, err = l.callerIn(storage).Skip(row, task); err == nil {
				l.records.collect(settled)
			}
		}
		if state.IsStale(err) {
			return
		}
		if err != nil {
			l.report.Problem("%s: its on_skip hooks do not fire: %v", task.Name, err)
		}
		done(settled)
	})
}

// maxSkipping is how many slots fire their on_skip hooks at a time.
const maxSkipping = 16

// skipAll skips slots for one reason, and writes their rows. The slots of one task are reported
// together: a minute may have sixty of them.
func (l *launcher) skipAll(slots []schedule.Slot, reason string) {
	l.handOverBatch()
	together := map[*schedule.Task][]state.Row{}
	for _, slot := range slots {
		if len(slot.Task.Hooks.OnSkip) > 0 {
			l.skip(l.newRow(slot), slot.Task, reason)
			continue
		}
		row := skippedRow(l.newRow(slot), reason)
		l.records.countOrCollect(row)
		together[slot.Task] = append(together[slot.Task], row)
	}
	for _, slot := range slots { // in their order
		if rows := together[slot.Task]; len(rows) > 0 {
			l.report.skipped(rows)
			delete(together, slot.Task)
		}
	}
	l.records.flushQuietly()
}

// handOverBatch hands over the runs of the batch. It comes before the report on a slot that does
// not start, so that the report has the order of the slots.
func (l *launcher) handOverBatch() { l.handOver(l.batch.take()...) }

// handOver hands over prepared runs, and reports them. A run in memory runs in this process: no
// other process can see it.
func (l *launcher) handOver(prepared ...*run.Prepared) {
	defer l.report.flush()
	var onDisk []*run.Prepared
	for _, p := range prepared {
		if !p.Storage().DB.InMemory() {
			onDisk = append(onDisk, p)
		} else if r, ok := l.beginHere(p); ok {
			l.watchHere(r)
		}
	}
	if len(onDisk) > 0 {
		l.beginAtSupervisor(onDisk)
	}
}

// beginAtSupervisor has a supervisor begin runs with one write. If another process has one of the
// runs, none has begun (handover.Supervisors.Begin), and the supervisor begins each by itself.
func (l *launcher) beginAtSupervisor(prepared []*run.Prepared) {
	for _, p := range prepared { // first: a run may end before Begin returns
		l.handedOverIDs.Store(p.Row().ID, true)
	}
	begun, err := l.supervisors.Begin(prepared...)
	for _, r := range begun {
		l.give(r)
	}
	if len(prepared) > 1 && state.IsStale(err) {
		for _, p := range prepared {
			l.beginAtSupervisor([]*run.Prepared{p})
		}
	} else if err != nil {
		for _, p := range prepared {
			l.settleUnbegun(p, err)
		}
	}
}

// handOverBegun gives a run that has begun to a supervisor, and reports the run.
func (l *launcher) handOverBegun(r *run.Run) {
	l.handOverBatch()
	l.handedOverIDs.Store(r.Own.Row.ID, true)
	l.give(r)
	l.report.flush()
}

// give gives a run that has begun to a supervisor, or fails it if there is no supervisor for it.
func (l *launcher) give(r *run.Run) {
	if err := l.supervisors.HandOver(r); err != nil {
		l.failed.Store(true)
		l.records.addEnded(run.FailBeforeStart(r, err, nil))
		return
	}
	l.report.Started(r.Own.Row)
}

// settleUnbegun settles a run that no supervisor could begin, for the reason why:
//
//   - If another process has the run, it is left to that process.
//   - If the database cannot be written, the run begins in this process.
//   - Otherwise there is no supervisor for the run, and the run fails.
func (l *launcher) settleUnbegun(p *run.Prepared, why error) {
	if state.IsStale(why) {
		p.Abandon()
		return
	}
	l.failed.Store(true)
	storage, fellBack := l.fallback.OpenFor(why)
	if !fellBack {
		l.records.addEnded(p.FailBeforeStart(why, nil))
		return
	}
	r, err := p.BeginIn(l.callerIn(storage).Process)
	if err != nil {
		l.records.addEnded(p.FailUnbegun(err))
		return
	}
	l.watchHere(r)
}

// beginHere begins a run in this process. It returns false if that failed, or if another process
// has the run. If the state folder cannot be written, the run begins in memory.
func (l *launcher) beginHere(p *run.Prepared) (*run.Run, bool) {
	r, err := p.BeginToExecute()
	if storage, fellBack := l.fallback.OpenFor(err); fellBack {
		l.failed.Store(true)
		r, err = p.BeginIn(l.callerIn(storage).Process)
	}
	switch {
	case err == nil:
		return r, true
	case state.IsStale(err): // that process records the run
		p.Abandon()
	default:
		l.failed.Store(true)
		l.handOverBatch()
		l.records.addEnded(p.FailUnbegun(err))
	}
	return nil, false
}

func (l *launcher) watchHere(r *run.Run) {
	l.report.Started(r.Own.Row)
	l.watchedHere.Go(func() {
		row := supervise.Execute(r, l.stops.terminate, l.stops.kill)
		l.records.collect(row)
		l.records.addEnded(row)
	})
}

// A runBatch has runs that a supervisor is to begin together. Safe for concurrent use.
type runBatch struct {
	mu   sync.Mutex
	runs []*run.Prepared
}

// maxBatch bounds the runs of a batch: the files of each are open in this process.
const maxBatch = 32

// add adds a run, and returns how many the batch has.
func (b *runBatch) add(prepared *run.Prepared) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs = append(b.runs, prepared)
	return len(b.runs)
}

func (b *runBatch) take() []*run.Prepared {
	b.mu.Lock()
	defer b.mu.Unlock()
	runs := b.runs
	b.runs = nil
	return runs
}
