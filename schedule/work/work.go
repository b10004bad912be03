// Package work is `sched work`: it starts a tick process every minute without cron, in the
// foreground, and ends what still runs when it is told to end. It does not read the schedule. A
// Link connects it with each tick.
package work

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/statedir"
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
	// maxCoverWait bounds the wait until a tick's minute is covered. After it the next tick is
	// started beside that tick.
	maxCoverWait = 20 * time.Second

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
		case <-w.untilCovered():
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

// untilNextMinute returns the time until the next minute, but at most clock.Recheck: the clock may
// be set.
func (w *Worker) untilNextMinute() time.Duration {
	now := startingFor()
	return max(0, min(clock.Recheck, minuteOf(now).Add(time.Minute).Sub(now.Round(0))))
}

// untilCovered returns a channel that is closed when a pending minute may get its tick; nil when no
// pending minute has to wait.
func (w *Worker) untilCovered() <-chan struct{} {
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
	if n := len(w.pending) - maxLateMinutes; n > 0 {
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
		return time.Since(w.newest.started) > maxCoverWait
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
	runtime.KeepAlive(w) // with its files, whose descriptors the tick gets
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

// A WorkingError is the error of Hold while another `sched work` ticks the schedule.
type WorkingError struct{ PID int }

func (e *WorkingError) Error() string {
	return fmt.Sprintf("another sched work (process %d) ticks this schedule", e.PID)
}

// workLock returns the path of the file that the `sched work` of the schedule holds (flock(2)). Its
// content names that process, for people.
func workLock(dir string) string { return filepath.Join(dir, "work") }

// Hold makes this process the only `sched work` of the schedule, until it ends or calls release.
// The error is *WorkingError when another `sched work` ticks the schedule.
func Hold(dir string) (release func(), err error) {
	if err := statedir.Make(dir); err != nil {
		return nil, err
	}
	file, err := statedir.OpenPlain(workLock(dir), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = statedir.Lock(file)
	if errors.Is(err, statedir.ErrLocked) {
		defer file.Close()
		return nil, &WorkingError{readPID(file)}
	}
	if err == nil {
		_, err = file.WriteAt(fmt.Appendf(nil, "%-10d\n", os.Getpid()), 0)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

// Running returns the process of the schedule's `sched work`, if there is one. It holds the lock
// only for a moment.
func Running(dir string) (pid int, isRunning bool) {
	file, err := statedir.OpenPlain(workLock(dir), os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false
	}
	return readPID(file), true
}

// Began returns when the schedule's `sched work` began; the zero time if none runs. It holds the
// lock as Running does.
func Began(dir string) time.Time {
	if _, isRunning := Running(dir); !isRunning {
		return time.Time{}
	}
	info, err := os.Lstat(workLock(dir)) // Hold has written it
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// readPID reads the process from the file of Hold; 0 if it is not there.
func readPID(file *os.File) (pid int) {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0)
	fmt.Sscan(string(text[:n]), &pid)
	return pid
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

// An ending is the end of a worker, in three steps.
type ending struct {
	worker *Worker
	step   endStep
	sent   map[int]int // how many signals each process got
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
