package tick

import (
	"errors"
	"sync"

	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// This file gives background runs to a supervisor, or runs them in this process if the database
// cannot be written.

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
		s.handedOverIDs.Store(p.Row().ID, true)
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
	s.handedOverIDs.Store(r.Row().ID, true)
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

// watchHere runs a background run in this process.
func (s *launcher) watchHere(r *run.Run) {
	s.tick.Report.Started(r.Row())
	s.watchedHere.Go(func() {
		row := r.Execute(s.stops.terminate, s.stops.kill)
		s.records.keep(row)
		s.records.done(row)
	})
}

// A fallback is the storage that a tick uses when its own storage cannot be written, or belongs to
// a newer sched: a database that ends with the tick, and the locks of the kernel as far as their
// files can be opened. Safe for concurrent use.
type fallback struct {
	storage run.Storage
	problem func(format string, a ...any)

	mu   sync.Mutex
	used *run.Storage // nil until it is needed
}

// storageFor returns the storage in memory if err means that the storage of the tick cannot be
// written. The first time it reports that.
func (m *fallback) storageFor(err error) (run.Storage, bool) {
	var newer *state.NewerError
	if err == nil || !state.Unwritable(err) && !statedir.Unwritable(err) && !errors.As(err, &newer) {
		return run.Storage{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		db, memoryErr := state.OpenMemory()
		if memoryErr != nil {
			return run.Storage{}, false
		}
		m.storage.DB.ShortenWaits()
		m.used = &run.Storage{Dir: m.storage.Dir, DB: db, Store: m.storage.Store}
		m.problem("the state folder cannot be written: %v; what is due runs, and nothing of it is recorded", err)
	}
	return *m.used, true
}

// reportOrFallBack reports an error. If the error says that the state folder cannot be written, the
// tick goes on with a database in memory instead, which is reported once.
func (m *fallback) reportOrFallBack(err error) {
	if err == nil {
		return
	}
	if _, fellBack := m.storageFor(err); !fellBack {
		m.problem("%v", err)
	}
}

// inUse reports whether the storage in memory was needed.
func (m *fallback) inUse() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used != nil
}
