package work

import (
	"os"
	"syscall"
	"time"
)

// lookForEnd is the time between looks for runs: the kernel reports the end of children only.
const lookForEnd = 50 * time.Millisecond

// quietLooks is how many looks in a row must find no run before a worker with children left ends. A
// single look may miss a supervisor that ends, and the last `finish` that it starts meanwhile. A
// worker without children misses nothing: an orphan becomes the child of its next living ancestor.
const quietLooks = 3

// An ending is the end of a worker, in three steps. In step 0, nothing new starts and live runs may
// finish. In step 1, live runs are stopped, with their hooks. In step 2, their commands are killed.
type ending struct {
	worker *Worker
	step   int
	sent   map[int]int // how many signals each process got
}

// end ends the worker. It returns when no tick of the worker lives, and no background run of its
// ticks (docs/internals/decisions.md#it-ends-its-background-runs). A signal that arrives meanwhile
// leads to step 2 at once.
func (w *Worker) end(signals <-chan os.Signal) {
	e := &ending{w, 0, map[int]int{}}
	for _, t := range w.ticks {
		t.link.Write([]byte{1})
	}
	grace := time.After(w.Grace)
	quiet := 0 // how many looks in a row have found nothing
	for looks := 0; w.reap(); looks++ {
		runs := backgroundRuns()
		if len(w.ticks) > 0 || len(runs) > 0 {
			quiet = 0
		} else if quiet++; quiet == quietLooks {
			return
		}
		if looks == 1 && quiet == 0 {
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

// signal brings each tick and supervisor up to the step's number of signals: to stop, then to kill.
// The two signals differ, because pending signals of one kind merge. Separate calls send them,
// because the first to arrive becomes the reason in the record.
func (e *ending) signal(runs []backgroundRun) {
	var all []int
	for pid := range e.worker.ticks {
		all = append(all, pid)
	}
	for _, run := range runs {
		if run.supervisor {
			all = append(all, run.pid)
		}
	}
	for _, pid := range all {
		if n := e.sent[pid]; n < e.step {
			syscall.Kill(pid, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[n])
			e.sent[pid]++
		}
	}
}

// A backgroundRun is a process of background runs other than a command: a witness, a supervisor, or
// `sched finish`.
type backgroundRun struct {
	pid        int
	supervisor bool
}
