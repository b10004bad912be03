package run

import (
	"sync"
	"time"
)

// finishes starts the trailing `sched finish` of runs: one process for the runs that have ended
// after the last process was started. Safe for concurrent use.
type finishes struct {
	self        string // the path of sched
	awaitStarts func() // waits while other runs are being started

	mu      sync.Mutex
	waiting []trailing
	busy    bool // a goroutine is about to start what waits
}

// A trailing run waits for its `sched finish`.
type trailing struct {
	Trailing
	started chan error
}

const (
	// finishInterval is the shortest time between two processes that finish runs. Runs that end
	// meanwhile share the second process: a process for each took half of the CPU of a short
	// background run.
	finishInterval = 10 * time.Millisecond
	// mostTogether is how many runs share one process: each run has three descriptors and four
	// arguments, and is finished again by a tick when the process is killed.
	mostTogether = 32
)

// start has the run finished. It returns when the process that finishes it was started. After an
// error no process was started.
func (f *finishes) start(t Trailing) error {
	one := trailing{t, make(chan error, 1)}
	f.mu.Lock()
	f.waiting = append(f.waiting, one)
	first := !f.busy
	f.busy = true
	f.mu.Unlock()
	if first {
		go f.startAll()
	}
	return <-one.started
}

// startAll starts processes until nothing waits. The first comes at once.
func (f *finishes) startAll() {
	for {
		f.awaitStarts()
		together := f.take()
		if len(together) == 0 {
			return
		}
		var runs []Trailing
		for _, t := range together {
			runs = append(runs, t.Trailing)
		}
		err := FinishApart(f.self, runs)
		for _, t := range together {
			t.started <- err
		}
		if len(together) < mostTogether {
			time.Sleep(finishInterval)
		}
	}
}

// take returns the runs that one process finishes now. If nothing waits it returns none, and
// startAll ends.
func (f *finishes) take() (together []trailing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.waiting), mostTogether)
	together, f.waiting = f.waiting[:n:n], f.waiting[n:]
	f.busy = n > 0
	return together
}
