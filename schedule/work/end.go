package work

import (
	"os"
	"syscall"
	"time"
)

// lookForEnd is how often a worker that ends looks whether its runs have ended: they are not all its
// children.
const lookForEnd = 50 * time.Millisecond

// An ending is the end of a worker, which has three steps: what runs may finish and nothing else starts;
// what still runs is stopped, with its hooks; and its commands are killed.
type ending struct {
	w       *Worker
	step    int
	stopped map[int]int // how many signals each process got
}

// end ends the worker. It returns when no tick lives, and no run of theirs that would end with us.
// A signal that arrives meanwhile is for those who cannot wait.
func (w *Worker) end(signals <-chan os.Signal) {
	e := &ending{w, 0, map[int]int{}}
	for _, t := range w.ticks {
		t.link.Write([]byte{1})
	}
	grace := time.After(w.Grace)
	for looks := 0; ; looks++ {
		w.reap()
		runs := backgroundRuns()
		if len(w.ticks) == 0 && len(runs) == 0 {
			return
		}
		if looks == 1 {
			w.Problem("nothing more is started; what runs may take %s to finish", w.Grace)
		}
		e.signal(runs)
		select {
		case <-w.children:
		case <-time.After(lookForEnd):
		case <-grace:
			if e.step == 0 {
				w.Problem("%s are over: what still runs is stopped", w.Grace)
			}
			e.step = max(e.step, 1)
		case <-signals:
			if e.step < 2 {
				w.Problem("a second signal: what still runs is killed")
			}
			e.step = 2
		}
	}
}

// signal gives each tick, and each supervisor of a background run, one of as many signals as the step says.
// The first makes them stop their command, the second kill it. They are different, since two pending ones
// of a kind are one; and they come one after the other, since the first is the reason that people read.
func (e *ending) signal(runs []backgroundRun) {
	var all []int
	for pid := range e.w.ticks {
		all = append(all, pid)
	}
	for _, run := range runs {
		if run.supervisor {
			all = append(all, run.pid)
		}
	}
	for _, pid := range all {
		if n := e.stopped[pid]; n < e.step {
			syscall.Kill(pid, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[n])
			e.stopped[pid]++
		}
	}
}

// A backgroundRun is a process that watches a background run: its witness, its supervisor, or
// `sched finish`.
type backgroundRun struct {
	pid        int
	supervisor bool
}
