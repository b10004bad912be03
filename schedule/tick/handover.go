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
	if err := l.supervisors.HandOver(r); err != nil {
		l.failed.Store(true)
		l.records.addEnded(run.FailBeforeStart(r, err, nil))
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
	memory, fellBack := l.fallback.openFor(why)
	if !fellBack {
		l.records.addEnded(p.FailBeforeStart(why, nil))
		return
	}
	r, err := p.BeginIn(l.callerIn(memory).Process)
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
	if memory, fellBack := l.fallback.openFor(err); fellBack {
		l.failed.Store(true)
		r, err = p.BeginIn(l.callerIn(memory).Process)
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
		row := run.Execute(r, l.stops.terminate, l.stops.kill)
		l.records.collect(row)
		l.records.addEnded(row)
	})
}

// A fallback is the storage that a tick uses when its own storage cannot be written, or belongs to
// a newer sched: a database that ends with the tick, and the locks of the kernel as far as their
// files can be opened. Safe for concurrent use.
type fallback struct {
	storage run.Storage // of the tick
	problem func(format string, a ...any)

	mu     sync.Mutex
	memory *run.Storage // nil until it is needed
}

// openFor returns the storage in memory if err means that the storage of the tick cannot be
// written. The first call opens it, and reports err. If even a database in memory cannot be opened,
// openFor reports that, and returns false.
func (f *fallback) openFor(err error) (run.Storage, bool) {
	var newer *state.NewerError
	if err == nil || !state.Unwritable(err) && !statedir.Unwritable(err) && !errors.As(err, &newer) {
		return run.Storage{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.memory == nil {
		db, memoryErr := state.OpenMemory()
		if memoryErr != nil {
			f.problem("the state folder cannot be written, and no database can be opened in memory: %v", memoryErr)
			return run.Storage{}, false
		}
		f.storage.DB.ShortenWaits()
		f.memory = &run.Storage{Dir: f.storage.Dir, DB: db, Store: f.storage.Store}
		f.problem("the state folder cannot be written: %v; what is due runs, and nothing of it is recorded", err)
	}
	return *f.memory, true
}

// reportOrFallBack reports an error. If the error says that the state folder cannot be written, the
// tick goes on with a database in memory instead, which is reported once.
func (f *fallback) reportOrFallBack(err error) {
	if err == nil {
		return
	}
	if _, fellBack := f.openFor(err); !fellBack {
		f.problem("%v", err)
	}
}

// inUse reports whether the storage in memory was needed.
func (f *fallback) inUse() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.memory != nil
}
