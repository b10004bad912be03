package tick

import (
	"errors"
	"sync"

	"sched/schedule/run"
	"sched/schedule/state"
)

// This file gives background runs to a supervisor, or runs them in this process if the database
// cannot be written.

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

// take empties the batch, and returns its runs.
func (b *runBatch) take() []*run.Prepared {
	b.mu.Lock()
	defer b.mu.Unlock()
	runs := b.runs
	b.runs = nil
	return runs
}

// handOverBatch hands over the runs of the batch. It comes before the report on a slot that does
// not start, so that the report has the order of the slots.
func (l *launcher) handOverBatch() { l.handOver(l.batch.take()...) }

// handOver hands over prepared runs, and reports them. A run in memory runs in this process: no
// other process can see it.
func (l *launcher) handOver(prepared ...*run.Prepared) {
	defer l.tick.Report.flush()
	var onDisk []*run.Prepared
	for _, p := range prepared {
		if !p.InMemory() {
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
// runs, none has begun (run.Supervisors.Begin), and the supervisor begins each by itself.
func (l *launcher) beginAtSupervisor(prepared []*run.Prepared) {
	for _, p := range prepared { // first: a run may end before Begin returns
		l.handedOverIDs.Store(p.Row().ID, true)
	}
	begun, err := l.supervisors.Begin(prepared...)
	for _, r := range begun {
		l.give(r)
	}
	if len(prepared) > 1 && isStale(err) {
		for _, p := range prepared {
			l.beginAtSupervisor([]*run.Prepared{p})
		}
	} else if err != nil {
		for _, p := range prepared {
			l.settleUnbegun(p, err)
		}
	}
}

// isStale reports whether another process has the row of a run.
func isStale(err error) bool { return errors.As(err, new(*state.StaleError)) }

// handOverBegun gives a run that has begun to a supervisor, and reports the run.
func (l *launcher) handOverBegun(r *run.Run) {
	l.handOverBatch()
	l.handedOverIDs.Store(r.Row().ID, true)
	l.give(r)
	l.tick.Report.flush()
}

// give gives a run that has begun to a supervisor, or fails it if there is no supervisor for it.
func (l *launcher) give(r *run.Run) {
	if err := l.supervisors.Give(r); err != nil {
		l.failed.Store(true)
		l.records.addEnded(r.FailBeforeStart(err, nil))
		return
	}
	l.tick.Report.Started(r.Row())
}

// settleUnbegun settles a run that no supervisor could begin, for the reason why:
//
//   - If another process has the run, it is left to that process.
//   - If the database cannot be written, the run begins in this process.
//   - Otherwise there is no supervisor for the run, and the run fails.
func (l *launcher) settleUnbegun(p *run.Prepared, why error) {
	if isStale(why) {
		p.Abandon()
		return
	}
	l.failed.Store(true)
	storage, fellBack := l.fallback.OpenFor(why)
	if !fellBack {
		l.records.addEnded(p.FailBeforeStart(why, nil))
		return
	}
	r, err := p.BeginIn(l.callerIn(storage))
	if err != nil {
		l.records.addEnded(p.FailUnbegun(err))
		return
	}
	l.watchHere(r)
}

// beginHere begins a run in this process. It returns false if that failed, or if another process
// has the run. If the state folder cannot be written, the run begins in memory.
func (l *launcher) beginHere(p *run.Prepared) (*run.Run, bool) {
	r, err := p.Begin()
	if storage, fellBack := l.fallback.OpenFor(err); fellBack {
		l.failed.Store(true)
		r, err = p.BeginIn(l.callerIn(storage))
	}
	switch {
	case err == nil:
		return r, true
	case isStale(err): // that process records the run
		p.Abandon()
	default:
		l.failed.Store(true)
		l.handOverBatch()
		l.records.addEnded(p.FailUnbegun(err))
	}
	return nil, false
}

// watchHere runs a background run in this process.
func (l *launcher) watchHere(r *run.Run) {
	l.tick.Report.Started(r.Row())
	l.watchedHere.Go(func() {
		row := r.Execute(l.stops.terminate, l.stops.kill)
		l.records.collect(row)
		l.records.addEnded(row)
	})
}
