package tick

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A launcher prepares the runs of slots, hands the background runs over to a supervisor, and
// records the slots that do not start. Safe for concurrent use.
type launcher struct {
	tick          *Tick
	admission     *admitter
	locks         *locks
	fallback      *fallback
	ledger        *Ledger
	records       *records
	deliveries    *deliveries
	supervisors   *run.Supervisors
	batch         runBatch
	handedOverIDs ids // of the runs that this tick has handed over
	queued        queuedRuns
	self          *state.Self // this tick in the database
	inMemory      *state.Self // this tick in the database in memory; nil until that is used
	openInMemory  sync.Once
	watchedHere   sync.WaitGroup // the background runs that this process watches itself
	stops         stops
	skipHooks     sync.WaitGroup // the on_skip hooks that run
	skipping      chan struct{}  // has an element for each slot whose on_skip hooks run
	failed        atomic.Bool    // a run could not begin, or could not be handed over
}

// startAll hands over the background runs of slots whose tasks have no condition commands.
func (s *launcher) startAll(ctx context.Context, slots []schedule.Slot) {
	s.prefetch(slots)
	defer s.locks.releasePrefetched(slots)
	defer s.tick.Report.flush()
	defer s.handOverBatch()
	for i, slot := range slots {
		if ctx.Err() != nil {
			s.skipAll(slots[i:], whyDone(ctx))
			return
		}
		if slot.Task.NeedsLocks() && s.tick.Storage.Store != nil { // the store may be slow
			s.handOverBatch()
		}
		if prepared, ok := s.prepare(slot); ok && s.batch.add(prepared) == maxBatch {
			s.handOverBatch()
		}
	}
}

// handOverBatch hands over the runs of the batch. It comes before the report on a slot that does
// not start, so that the report has the order of the slots.
func (s *launcher) handOverBatch() { s.handOver(s.batch.take()...) }

// A runBatch has runs that a supervisor is to begin together. Safe for concurrent use.
type runBatch struct {
	mu   sync.Mutex
	runs []*run.Prepared
}

// maxBatch bounds the runs of a batch: the files of each are open in this process.
const maxBatch = 32

// add adds a run, and returns how many the batch has.
func (r *runBatch) add(prepared *run.Prepared) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, prepared)
	return len(r.runs)
}

// take empties the batch, and returns its runs.
func (r *runBatch) take() []*run.Prepared {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := r.runs
	r.runs = nil
	return runs
}

// handOver has a supervisor begin runs, all with one write if that is possible, and reports them.
func (s *launcher) handOver(prepared ...*run.Prepared) {
	defer s.tick.Report.flush()
	var visible []*run.Prepared // to other processes
	for _, p := range prepared {
		if p.InMemory() {
			if r, ok := s.beginHere(p); ok {
				s.watchHere(r)
			}
			continue
		}
		s.handedOverIDs.add(p.Row().ID)
		visible = append(visible, p)
	}
	if len(visible) == 0 {
		return
	}
	begun, err := s.supervisors.Begin(visible...)
	for _, r := range begun {
		s.give(r)
	}
	switch {
	case err == nil:
	case len(visible) > 1 && isStale(err): // another process has one of them
		for _, p := range visible {
			s.handOver(p)
		}
	default:
		for _, p := range visible {
			s.cannotHandOver(p, err)
		}
	}
}

// isStale reports whether another process has the row of a run.
func isStale(err error) bool { return errors.As(err, new(*state.StaleError)) }

// handOverBegun gives a run that has begun to a supervisor, and reports the run.
func (s *launcher) handOverBegun(r *run.Run) {
	s.handOverBatch()
	s.handedOverIDs.add(r.Row().ID)
	s.give(r)
	s.tick.Report.flush()
}

// give gives a run that has begun to a supervisor, or fails it if there is no supervisor for it.
func (s *launcher) give(r *run.Run) {
	if err := s.supervisors.Give(r); err != nil {
		s.failed.Store(true)
		s.records.done(r.FailBeforeStart(err, nil))
		return
	}
	s.tick.Report.Started(r.Row())
}

// cannotHandOver leaves a run to the process that has it. It runs the run in this process if the
// database cannot be written, and fails it if there is no supervisor for it.
func (s *launcher) cannotHandOver(p *run.Prepared, why error) {
	if isStale(why) {
		p.Abandon()
		return
	}
	s.failed.Store(true)
	memory, unwritable := s.fallback.storageFor(why)
	if !unwritable {
		s.records.done(p.FailBeforeStart(why, nil))
		return
	}
	r, err := p.BeginIn(s.callerIn(memory))
	if err != nil {
		s.records.done(p.FailUnbegun(err))
		return
	}
	s.watchHere(r)
}

// giveToSupervisor gives a run that has begun to a supervisor. After an error it still belongs to
// this process.
func (s *launcher) giveToSupervisor(r *run.Run) error {
	s.handedOverIDs.add(r.Row().ID)
	return s.supervisors.Give(r)
}

// watchHere runs a background run in this process.
func (s *launcher) watchHere(r *run.Run) {
	s.tick.Report.Started(r.Row())
	s.watchedHere.Go(func() {
		row := r.Execute(s.stops.terminate, s.stops.kill)
		s.records.keep(row)
		s.records.done(row)
	})
}

// ids is a set of ids of runs. Safe for concurrent use.
type ids struct {
	mu  sync.Mutex
	set map[string]bool
}

func (i *ids) add(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.set == nil {
		i.set = map[string]bool{}
	}
	i.set[id] = true
}

func (i *ids) has(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.set[id]
}

// prepare prepares the run of a slot whose task has no condition commands. It returns false if
// there is nothing to begin: the slot was skipped or failed, or its run waits already.
func (s *launcher) prepare(slot schedule.Slot) (*run.Prepared, bool) {
	row := s.newRow(slot)
	if reason, paused := s.admission.refusal(slot); reason != "" {
		s.refuse(row, slot.Task, reason, paused)
		return nil, false
	}
	return s.prepareLocked(row, slot)
}

// prepareLocked takes the lock of a slot that may start, and prepares its run. If the run has to
// wait for the lock, it begins without it.
func (s *launcher) prepareLocked(row state.Row, slot schedule.Slot) (*run.Prepared, bool) {
	lock, refusal := s.locks.take(&row, slot)
	if refusal.cause == storeUnknown && slot.Task.WaitWhenStoreDown && s.delay(slot, refusal.err) {
		return nil, false
	}
	if refusal.cause == locksHeld && slot.Task.MaxWait > 0 && slot.Task.Background {
		if waiting, ok := s.beginWaiting(row, slot, refusal); ok {
			s.handOverBegun(waiting)
		}
		return nil, false
	}
	if refusal.cause != noRefusal {
		s.locks.skippedUnknown.CompareAndSwap(false, refusal.cause == storeUnknown)
		row.Kind = refusal.kind
		s.skip(row, slot.Task, refusal.reason)
		return nil, false
	}
	return s.prepareRun(row, slot.Task, lock)
}

// prepareRun prepares the run of a slot whose lock is taken. It returns false if that failed. If
// the state folder cannot be written, it prepares the run in memory.
func (s *launcher) prepareRun(row state.Row, task *schedule.Task, lock mutex.Lock) (*run.Prepared, bool) {
	p, err := s.caller().Prepare(row, task, lock)
	if memory, ok := s.fallback.storageFor(err); ok {
		s.failed.Store(true)
		p, err = s.callerIn(memory).Prepare(row, task, lock)
	}
	if err != nil {
		s.failed.Store(true)
		s.handOverBatch()
		s.records.done(s.caller().FailUnbegun(row, task, lock, err))
		return nil, false
	}
	return p, true
}

// beginHere begins a run in this process. It returns false if that failed, or if another process
// has the run. If the state folder cannot be written, the run begins in memory.
func (s *launcher) beginHere(p *run.Prepared) (*run.Run, bool) {
	r, err := p.Begin()
	if memory, ok := s.fallback.storageFor(err); ok {
		s.failed.Store(true)
		r, err = p.BeginIn(s.callerIn(memory))
	}
	switch {
	case err == nil:
		return r, true
	case isStale(err): // it records the run
		p.Abandon()
	default:
		s.failed.Store(true)
		s.handOverBatch()
		s.records.done(p.FailUnbegun(err))
	}
	return nil, false
}

// caller returns the Caller of the runs of this tick.
func (s *launcher) caller() run.Caller { return s.callerIn(s.tick.Storage) }

// callerIn is caller for the storage of the tick, or for the storage in memory.
func (s *launcher) callerIn(storage run.Storage) run.Caller {
	self := s.self
	if storage.DB.InMemory() {
		s.openInMemory.Do(func() { s.inMemory = storage.DB.Self(state.Tick) })
		self = s.inMemory
	}
	return run.Caller{
		Storage:   storage,
		Self:      self,
		Environ:   s.tick.Host.Environ,
		Sender:    s.deliveries.sender,
		Leases:    &s.locks.leases,
		Terminate: s.stops.terminate,
	}
}

// newRow returns the row of a run that is to begin for a slot.
func (t *Tick) newRow(slot schedule.Slot) state.Row {
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
func (s *launcher) newRow(slot schedule.Slot) state.Row {
	row := s.tick.newRow(slot)
	if p := s.locks.prefetched(slot); p != nil {
		row.ID = p.row.ID
	}
	if id, note := s.ledger.RunOf(slot); id != "" {
		row.ID = id
		if note != "" {
			row.Notes = []string{note}
		}
	}
	return row
}

// skip records that a slot did not run, and fires the task's on_skip hooks beside everything else.
func (s *launcher) skip(row state.Row, task *schedule.Task, reason string) {
	s.handOverBatch()
	row = skipped(row, reason)
	if len(task.Hooks.OnSkip) == 0 {
		s.records.done(row)
		return
	}
	s.fireSkip(row, task, s.tick.Report.Done)
}

// skipped returns the row of a slot that is skipped now.
func skipped(row state.Row, reason string) state.Row {
	row.Outcome, row.Reason, row.Ended = outcome.Skipped, reason, clock.Now()
	return row
}

// fireSkip settles that a slot is skipped, and fires the on_skip hooks of its task beside
// everything else. It calls done afterwards.
func (s *launcher) fireSkip(row state.Row, task *schedule.Task, done func(state.Row)) {
	s.skipHooks.Go(func() {
		s.skipping <- struct{}{}
		defer func() { <-s.skipping }()
		settled, err := s.caller().Skip(row, task)
		if memory, ok := s.fallback.storageFor(err); ok {
			if settled, err = s.callerIn(memory).Skip(row, task); err == nil {
				s.records.keep(settled)
			}
		}
		if isStale(err) {
			return
		}
		if err != nil {
			s.tick.Report.Problem("%s: its on_skip hooks do not fire: %v", task.Name, err)
		}
		done(settled)
	})
}

// maxSkipping is how many slots fire their on_skip hooks at a time.
const maxSkipping = 16

// skipAll skips slots for one reason, and writes their rows. The slots of one task are reported
// together: a minute may have sixty of them.
func (s *launcher) skipAll(slots []schedule.Slot, reason string) {
	s.handOverBatch()
	together := map[*schedule.Task][]state.Row{}
	for _, slot := range slots {
		if len(slot.Task.Hooks.OnSkip) > 0 {
			s.skip(s.newRow(slot), slot.Task, reason)
			continue
		}
		row := skipped(s.newRow(slot), reason)
		s.records.add(row)
		together[slot.Task] = append(together[slot.Task], row)
	}
	for _, slot := range slots { // in their order
		if rows := together[slot.Task]; len(rows) > 0 {
			s.tick.Report.skipped(rows)
			delete(together, slot.Task)
		}
	}
	s.records.flushNow()
}
