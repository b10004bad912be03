// Package work is `sched work`: it starts a tick process every minute without cron, in the
// foreground, and ends what still runs when it is told to end. It does not read the schedule. A
// Link connects it with each tick.
package work

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/process"
)

// A Worker is `sched work`. It only remembers which minutes were ticked, so nothing is lost when it
// is killed. It needs no lock, because only the loop of Run waits for children.
type Worker struct {
	Argv    func(minute time.Time) []string // the tick of a minute; its first word is a path
	Environ []string
	Output  *os.File // of the ticks, which get the file itself: they outlive a killed worker
	Errors  *os.File
	Grace   time.Duration // how long ticks and runs may still take when the worker was asked to end
	Zone    *time.Location
	Problem func(format string, a ...any)

	minutes  *minutes
	pending  []time.Time   // minutes whose tick was not started yet
	tried    time.Time     // when the worker last failed to start the first of them
	ticks    map[int]*tick // live ticks, by their process
	newest   *tick         // the tick that was started last
	children chan os.Signal
}

// A tick is a `sched run` that was started.
type tick struct {
	pid     int
	minute  time.Time
	started time.Time
	link    *os.File
	covered chan struct{} // closed when its minute is covered in the ledger, or it has ended
}

const (
	// coverPatience bounds the wait until a tick's minute is covered. After it the next tick is
	// started beside that tick.
	coverPatience = 20 * time.Second

	// tryAgain is the pause after a tick could not be started.
	tryAgain = time.Second
)

// Run starts ticks until a signal arrives. Then it calls announce, ends ticks and runs (see
// shutDown), and returns the signal.
func (w *Worker) Run(signals <-chan os.Signal, announce func()) os.Signal {
	process.BecomeSubreaper() // to tell the background runs of its own ticks from others
	w.minutes, w.ticks = newMinutes(clock.Now()), map[int]*tick{}
	w.children = make(chan os.Signal, 1)
	signal.Notify(w.children, syscall.SIGCHLD)
	for {
		w.pending = append(w.pending, w.minutes.due(startingFor())...)
		w.startTicks()
		select {
		case <-clock.After(w.untilNextMinute()):
		case <-w.covered():
		case <-w.children:
			w.reap()
		case s := <-signals:
			announce()
			w.shutDown(signals)
			return s
		}
	}
}

// startingFor returns the time by which ticks are started: leadTime before their minute.
func startingFor() time.Time { return clock.Now().Add(leadTime) }

// untilNextMinute lasts until the next minute, but at most clock.Recheck: the clock may be set.
func (w *Worker) untilNextMinute() time.Duration {
	now := startingFor()
	return max(0, min(clock.Recheck, minuteOf(now).Add(time.Minute).Sub(now.Round(0))))
}

// covered returns a channel that is closed when a pending minute may get its tick; nil when no
// pending minute has to wait.
func (w *Worker) covered() <-chan struct{} {
	if len(w.pending) == 0 || w.mayStartNext() {
		return nil
	}
	return w.newest.covered
}

// startTicks starts each pending tick when the minute of the tick before it is covered.
func (w *Worker) startTicks() {
	for len(w.pending) > 0 && w.mayStartNext() && time.Since(w.tried) >= tryAgain {
		minute := w.pending[0]
		if err := w.startTick(minute); err != nil {
			text := humanize.MinuteZone(minute, w.Zone)
			w.Problem("the tick of %s cannot be started, and is tried again: %v", text, err)
			w.tried = time.Now()
			return
		}
		w.pending, w.tried = w.pending[1:], time.Time{}
	}
	if n := len(w.pending) - lateAtMost; n > 0 {
		w.pending = w.pending[n:] // the next tick finds a gap
	}
}

// mayStartNext reports whether the newest tick holds up no other: its minute is covered, or that
// takes too long.
func (w *Worker) mayStartNext() bool {
	if w.newest == nil {
		return true
	}
	select {
	case <-w.newest.covered:
		return true
	default:
		return time.Since(w.newest.started) > coverPatience
	}
}

// startTick starts the tick of a minute, in a new session: ^C, or SIGHUP of a closed terminal,
// reaches the worker alone.
func (w *Worker) startTick(minute time.Time) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	ours, theirs, err := newLink()
	if err != nil {
		return err
	}
	defer theirs.Close()
	argv := w.Argv(minute)
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   w.Environ,
		Files: []uintptr{null.Fd(), w.Output.Fd(), w.Errors.Fd(), theirs.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	runtime.KeepAlive(w)
	if err != nil {
		ours.Close()
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	t := &tick{pid: pid, minute: minute, started: time.Now(), link: ours, covered: make(chan struct{})}
	go func() {
		defer close(t.covered)
		ours.Read(make([]byte, 1))
	}()
	w.ticks[pid], w.newest = t, t
	return nil
}

// reap waits for all ended children, also adopted orphans. It reports whether others live.
func (w *Worker) reap() (others bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return err == nil
		}
		if t := w.ticks[pid]; t != nil {
			delete(w.ticks, pid)
			t.link.Close()
			if status.Signaled() {
				minute := humanize.MinuteZone(t.minute, w.Zone)
				w.Problem("the tick of %s was killed (%s); the next one accounts for it", minute, status.Signal())
			}
		}
	}
}

// Bounds for a clock that does not go on evenly.
const (
	// lateAtMost is how many minutes get their tick late when `sched work` could not run. After a
	// longer time, as when a laptop slept, only the present minute gets its tick; the other minutes
	// are missed.
	lateAtMost = 10

	// setBackAtMost is how far a clock may be set back without any minute being ticked twice. A
	// clock that is set back further was wrong, and the minutes that it showed do not count: the
	// rule of cron(8).
	setBackAtMost = 3 * time.Hour
)

// minutes decides which minutes get a tick (docs/internals/decisions.md#ten-late-minutes-or-one).
type minutes struct {
	last   time.Time // the minute of the last call of due
	ticked map[time.Time]bool
}

// newMinutes counts the present minute as ticked, because an earlier `sched work` may have ticked
// it.
func newMinutes(now time.Time) *minutes {
	minute := minuteOf(now)
	return &minutes{last: minute, ticked: map[time.Time]bool{minute: true}}
}

// due returns the minutes that have begun and were not ticked yet, oldest first. They then count as
// ticked.
func (m *minutes) due(now time.Time) (due []time.Time) {
	minute := minuteOf(now)
	if minute.Before(m.last) { // the clock was set back
		m.last = minute.Add(-time.Minute)
	}
	next := m.last.Add(time.Minute)
	if minute.Sub(m.last) > lateAtMost*time.Minute {
		next = minute
	}
	for ; !next.After(minute); next = next.Add(time.Minute) {
		if !m.ticked[next] {
			m.ticked[next] = true
			due = append(due, next)
		}
	}
	m.last = minute
	for at := range m.ticked {
		if at.Sub(minute).Abs() > setBackAtMost {
			delete(m.ticked, at)
		}
	}
	return due
}

// minuteOf cuts a time to its minute, in UTC and without Go's monotonic clock.
func minuteOf(t time.Time) time.Time { return t.UTC().Truncate(time.Minute) }

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
// its ticks (docs/internals/decisions.md#it-ends-its-background-runs). A signal that arrives
// meanwhile kills what still runs at once.
func (w *Worker) shutDown(signals <-chan os.Signal) {
	e := &ending{worker: w, sent: map[int]int{}}
	for _, t := range w.ticks {
		t.link.Write([]byte{1})
	}
	grace := time.After(w.Grace)
	empty := 0 // how many looks in a row have found nothing
	for looks := 0; w.reap(); looks++ {
		runs := backgroundRuns()
		if len(w.ticks) > 0 || len(runs) > 0 {
			empty = 0
		} else if empty++; empty == emptyLooks {
			return
		}
		// Not at the first look: most of what ends at once has ended by the second.
		if looks == 1 && empty == 0 {
			w.Problem("nothing more is started; what runs may take %s to finish", humanize.Setting(w.Grace))
		}
		e.signal(runs)
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

// A backgroundRun is a process of background runs other than a command: a witness, a supervisor, or
// `sched finish`.
type backgroundRun struct {
	pid        int
	supervisor bool
}
