package tick

import (
	"errors"
	"sync"

	"sched/schedule/run"
	"sched/schedule/state"
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
