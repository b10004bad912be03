package work

import (
	"os"
	"syscall"
	"time"

	"sched/schedule/humanize"
)

// lookForEnd is the time between looks for runs: the kernel reports the end of children only.
const lookForEnd = 50 * time.Millisecond

// emptyLooks is how many looks in a row must find no run before a worker with children left ends. A
// single look may miss a supervisor that ends, and the last `finish` that it starts meanwhile. A
// worker without children misses nothing: an orphan becomes the child of its next living ancestor.
const emptyLooks = 3

// An endStep is a step of the end of a worker. Its number is how many signals each process has got
// by then.
type endStep int

const (
	finishing endStep = iota // nothing new starts, and live runs may finish
	stopping                 // live runs are stopped, with their hooks
	killing                  // their commands are killed
)

// An ending is the end of a worker, in three steps.
type ending struct {
	worker *Worker
	step   endStep
	sent   map[int]int // how many signals each process got
}

// shutDown ends the worker. It returns when no tick of the worker lives, and no background run of
// its ticks (docs/internals/decisions.md#it-ends-its-background-runs). Until then it goes round:
//
//  1. Look for what still runs.
//  2. Signal what still runs, as the step of the end says.
//  3. Wait for the next event, which may begin the next step.
func (w *Worker) shutDown(signals <-chan os.Signal) {
	e := &ending{worker: w, sent: map[int]int{}}
	for _, t := range w.ticks {
		t.link.Write([]byte{1}) // any byte tells the tick to start nothing more (Link)
	}
	grace := time.After(w.Grace)
	empty := 0                          // how many looks in a row have found nothing
	for looks := 0; w.reap(); looks++ { // reap returns false when no child is left
		runs := backgroundRuns()
		empty++
		if len(w.ticks) > 0 || len(runs) > 0 {
			empty = 0
		}
		if empty == emptyLooks {
			return
		}
		// Not at the first look: most of what ends at once has ended by the second.
		if looks == 1 && empty == 0 {
			w.Problem("nothing more is started; what runs may take %s to finish", humanize.Setting(w.Grace))
		}
		e.signal(runs)
		e.await(grace, signals)
	}
}

// signal brings each tick and supervisor up to the step's number of signals: to stop, then to kill.
// The two signals differ, because pending signals of one kind merge. Separate calls send them,
// because the first to arrive becomes the reason in the record.
func (e *ending) signal(runs []backgroundRun) {
	var pids []int
	for pid := range e.worker.ticks {
		pids = append(pids, pid)
	}
	for _, run := range runs {
		if run.supervisor {
			pids = append(pids, run.pid)
		}
	}
	for _, pid := range pids {
		if n := e.sent[pid]; n < int(e.step) {
			syscall.Kill(pid, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[n])
			e.sent[pid]++
		}
	}
}

// await waits until it is time to look again. When the grace is over, what still runs is stopped; a
// signal kills it at once.
func (e *ending) await(grace <-chan time.Time, signals <-chan os.Signal) {
	w := e.worker
	select {
	case <-w.children:
	case <-time.After(lookForEnd):
	case <-grace:
		if e.step == finishing {
			w.Problem("%s are over: what still runs is stopped", humanize.Setting(w.Grace))
		}
		e.step = max(e.step, stopping)
	case <-signals:
		if e.step < killing {
			w.Problem("a second signal: what still runs is killed")
		}
		e.step = killing
	}
}

// A backgroundRun is a process of background runs other than a command (backgroundRuns): a witness,
// a supervisor, or `sched finish`.
type backgroundRun struct {
	pid        int
	supervisor bool
}
