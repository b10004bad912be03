package tick

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

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
		if reason := r.tick.awaitInstant(ctx, slots[0]); reason != "" {
			r.launcher.skipAll(slots, reason)
			return
		}
		now, later := schedule.SplitAfter(slots, slots[0].At)
		r.startBackground(ctx, now)
		r.records.flushQuietly()
		slots = later
	}
}

// A launcher prepares the runs of slots, hands the background runs over to a supervisor, and
// records the slots that do not start. Safe for concurrent use.
type launcher struct {
	tick      *Tick
	stops     stopContexts
	admission *admitter
	locks     *locks
	ledger    *Ledger
	records   *records
	sender    *notify.Sender // of messages; nil until startSender
	self      *state.Self    // this tick in the database
	failed    atomic.Bool    // a run could not begin, or could not be handed over

	// For the runs that a supervisor gets.
	supervisors   *run.Supervisors
	batch         runBatch
	handedOverIDs sync.Map // of the runs that this tick hands over; the values mean nothing

	// For a state folder that cannot be written.
	fallback     *fallback
	inMemory     *state.Self // this tick in the database in memory; nil until that is used
	openInMemory sync.Once
	watchedHere  sync.WaitGroup // the background runs that this process watches itself

	// For the hooks that no run fires.
	hooks    sync.WaitGroup // the on_skip and on_overdue hooks that run
	skipping chan struct{}  // has an element for each slot whose on_skip hooks run
}

// startAll hands over the background runs of slots whose tasks have no condition commands.
func (l *launcher) startAll(ctx context.Context, slots []schedule.Slot) {
	l.prefetch(slots)
	defer l.locks.releasePrefetched(slots)
	defer l.tick.Report.flush()
	defer l.handOverBatch()
	for i, slot := range slots {
		if ctx.Err() != nil {
			l.skipAll(slots[i:], whyDone(ctx))
			return
		}
		if slot.Task.NeedsLocks() && l.tick.Storage.Store != nil { // the store may be slow
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
	if reason, byPause := l.admission.refusal(slot); reason != "" {
		l.refuse(row, slot.Task, reason, byPause)
		return nil, false
	}
	return l.lockAndPrepare(row, slot)
}

// lockAndPrepare takes the lock of a slot that may start, and prepares its run. If the run has to
// wait for the lock, it begins without it.
func (l *launcher) lockAndPrepare(row state.Row, slot schedule.Slot) (*run.Prepared, bool) {
	lock, refusal := l.locks.take(&row, slot)
	if refusal.cause == storeUnknown && slot.Task.WaitWhenStoreDown && l.waitForStore(slot, refusal.err) {
		return nil, false
	}
	if refusal.cause == locksHeld && slot.Task.MaxWait > 0 && slot.Task.Background {
		if waiting, ok := l.beginWaiting(row, slot, refusal); ok {
			l.handOverBegun(waiting)
		}
		return nil, false
	}
	if refusal.cause != noRefusal {
		if refusal.cause == storeUnknown {
			l.locks.skippedUnknown.Store(true)
		} else if refusal.cause == locksHeld {
			l.locks.skippedHeld.Store(true)
		}
		row.Kind = refusal.kind
		l.skip(row, slot.Task, refusal.reason)
		return nil, false
	}
	return l.prepareRun(row, slot.Task, lock)
}

// beginWaiting begins the run of a slot whose mutex or seats other runs have: its supervisor waits
// for them. While another run of the task waits already the slot is skipped, unless the task
// catches up.
func (l *launcher) beginWaiting(row state.Row, slot schedule.Slot, refusal lockRefusal) (*run.Run, bool) {
	if reason := l.waitsAlready(slot.Task); reason != "" && !slot.Task.CatchesUp {
		l.skip(row, slot.Task, reason)
		return nil, false
	}
	row.Wait, row.Attempt.Boot = waitOf(slot.Task), clock.BootID()
	row.Wait.Until = l.admission.latestStart(slot, row.Wait.Since).UTC()
	begun, err := l.caller().Begin(row, slot.Task, nil)
	if err != nil {
		row.Wait = state.Wait{}
		l.skip(row, slot.Task, fmt.Sprintf("%s; it cannot wait: %v", refusal.reason, err))
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

// waitsAlready returns a text about the run of a task that waits for its turn; "" if no run of the
// task waits.
func (l *launcher) waitsAlready(task *schedule.Task) string {
	waiting, ok, err := l.tick.Storage.DB.Runs().NewestQueued(context.Background(), task.Name)
	if !ok || err != nil {
		return ""
	}
	holder := run.HolderOf(waiting)
	holder.Since = waiting.Wait.Since
	waited := max(0, clock.Now().Sub(holder.Since))
	return fmt.Sprintf("already waiting for %s, %s", humanize.Duration(waited), holder.Text(run.ZoneOf(task)))
}

// prepareRun prepares the run of a slot whose lock is taken. It returns false if that failed. If
// the state folder cannot be written, it prepares the run in the database in memory, and the tick
// exits with a failure.
func (l *launcher) prepareRun(row state.Row, task *schedule.Task, lock mutex.Lock) (*run.Prepared, bool) {
	p, err := l.caller().Prepare(row, task, lock)
	if memory, fellBack := l.fallback.openFor(err); fellBack {
		l.failed.Store(true)
		p, err = l.callerIn(memory).Prepare(row, task, lock)
	}
	if err != nil {
		l.failed.Store(true)
		l.handOverBatch()
		l.records.addEnded(l.caller().FailUnbegun(row, task, lock, err))
		return nil, false
	}
	return p, true
}

// caller returns the Caller of the runs of this tick.
func (l *launcher) caller() run.Caller { return l.callerIn(l.tick.Storage) }

// callerIn is caller for the storage of the tick, or for the storage in memory.
func (l *launcher) callerIn(storage run.Storage) run.Caller {
	self := l.self
	if storage.DB.InMemory() {
		l.openInMemory.Do(func() { l.inMemory = storage.DB.Self(state.Tick) })
		self = l.inMemory
	}
	return run.Caller{Process: run.Process{
		Storage:   storage,
		Self:      self,
		Environ:   l.tick.Host.Environ,
		Sender:    l.sender,
		Leases:    &l.locks.leases,
		Terminate: l.stops.terminate,
	}}
}

// rowOf returns the row of a run that is to begin for a slot.
func (t *Tick) rowOf(slot schedule.Slot) state.Row {
	previous, _ := slot.Task.When.Previous(slot.At)
	return state.Row{
		ID:           outcome.NewID(),
		Task:         slot.Task.Name,
		Mutex:        slot.Task.Mutex,
		Slot:         slot.At.UTC(),
		PreviousSlot: previous,
		Background:   slot.Task.Background,
		Server:       t.Host.Server,
	}
}

// newRow returns the row of a run that is to begin for a slot. If a run was planned or prefetched
// for the slot, the row has the id of that run.
func (l *launcher) newRow(slot schedule.Slot) state.Row {
	row := l.tick.rowOf(slot)
	if p := l.locks.prefetched(slot); p != nil {
		row.ID = p.row.ID
	}
	if id, note := l.ledger.RunOf(slot); id != "" {
		row.ID = id
		if note != "" {
			row.Notes = []string{note}
		}
	}
	return row
}

// skip records that a slot did not run, and fires the task's on_skip hooks beside everything else.
func (l *launcher) skip(row state.Row, task *schedule.Task, reason string) {
	l.handOverBatch()
	row = skippedRow(row, reason)
	if len(task.Hooks.OnSkip) == 0 {
		l.records.addEnded(row)
		return
	}
	l.fireSkip(row, task, l.tick.Report.done)
}

// skippedRow returns the row of a slot that is skipped now.
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
		if memory, fellBack := l.fallback.openFor(err); fellBack {
			if settled, err = l.callerIn(memory).Skip(row, task); err == nil {
				l.records.collect(settled)
			}
		}
		if isStale(err) {
			return
		}
		if err != nil {
			l.tick.Report.Problem("%s: its on_skip hooks do not fire: %v", task.Name, err)
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
			l.tick.Report.skipped(rows)
			delete(together, slot.Task)
		}
	}
	l.records.flushQuietly()
}
