package runner

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/clock"
	"sched/schedule/text"
)

// A Worker is `sched work`: it starts a tick each minute, as a child process. All it keeps in its own
// memory is which minutes were ticked; nothing is lost when it is killed. Everything happens in one
// loop, so no lock is needed and no exit code is stolen: the loop alone waits for children.
type Worker struct {
	Argv    func(minute time.Time) []string // the tick of a minute; its first word is a path
	Environ []string
	Output  *os.File // of the ticks, which have it as it is: they outlive a worker that is killed
	Errors  *os.File
	Grace   time.Duration // how long what runs may still take when the worker was asked to end
	Zone    *time.Location
	Problem func(format string, a ...any)

	minutes  *minutes
	pending  []time.Time   // minutes whose tick was not started yet
	tried    time.Time     // when the first of them could not be started
	ticks    map[int]*work // those that live, by their process
	newest   *work
	children chan os.Signal
}

// A work is a tick that was started.
type work struct {
	pid    int
	minute time.Time
	begun  time.Time
	link   *os.File
	turned chan struct{} // closed when it had its turn in the ledger, or has ended
}

const (
	// turnPatience bounds the wait for the turn of a tick before the next one is started beside it.
	turnPatience = 20 * time.Second

	// tryAgain is the pause after a tick could not be started.
	tryAgain = time.Second
)

// Run starts ticks until a signal arrives, and returns when what runs has ended: see end. When a signal
// arrives it calls ending first.
func (w *Worker) Run(signals <-chan os.Signal, ending func()) os.Signal {
	adoptOrphans()
	w.minutes, w.ticks = since(clock.Now()), map[int]*work{}
	w.children = make(chan os.Signal, 1)
	signal.Notify(w.children, syscall.SIGCHLD)
	for {
		w.pending = append(w.pending, w.minutes.due(ahead())...)
		w.start()
		select {
		case <-clock.After(w.pause()):
		case <-w.turn():
		case <-w.children:
			w.reap()
		case s := <-signals:
			ending()
			w.end(signals)
			return s
		}
	}
}

// ahead is the clock by which ticks are started.
func ahead() time.Time { return clock.Now().Add(leadTime) }

// pause returns how long there is nothing to do: until the next minute, but no longer than the clock
// is trusted.
func (w *Worker) pause() time.Duration {
	now := ahead()
	return max(0, min(clock.Recheck, minuteOf(now).Add(time.Minute).Sub(now.Round(0))))
}

// turn is what a tick that waits to be started waits for; nil when there is none, or nothing to wait for.
func (w *Worker) turn() <-chan struct{} {
	if len(w.pending) == 0 || w.free() {
		return nil
	}
	return w.newest.turned
}

// start starts the ticks of the pending minutes, each when the one before had its turn.
func (w *Worker) start() {
	for len(w.pending) > 0 && w.free() && time.Since(w.tried) >= tryAgain {
		minute := w.pending[0]
		if err := w.tick(minute); err != nil {
			w.Problem("the tick of %s cannot be started, and is tried again: %v", text.Minute(minute, w.Zone), err)
			w.tried = time.Now()
			return
		}
		w.pending, w.tried = w.pending[1:], time.Time{}
	}
	if n := len(w.pending) - lateAtMost; n > 0 {
		w.pending = w.pending[n:] // the next tick finds a gap
	}
}

// free reports whether the newest tick had its turn.
func (w *Worker) free() bool {
	if w.newest == nil {
		return true
	}
	select {
	case <-w.newest.turned:
		return true
	default:
		return time.Since(w.newest.begun) > turnPatience
	}
}

// tick starts the tick of a minute, in a session of its own: what a terminal sends (^C, or SIGHUP when
// it is closed) reaches us alone.
func (w *Worker) tick(minute time.Time) error {
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
	t := &work{pid, minute, time.Now(), ours, make(chan struct{})}
	go func() {
		defer close(t.turned)
		ours.Read(make([]byte, 1))
	}()
	w.ticks[pid], w.newest = t, t
	return nil
}

// reap waits for every child that has ended: ticks, and as process 1 or a subreaper whatever was left to
// us.
func (w *Worker) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if t := w.ticks[pid]; t != nil {
			delete(w.ticks, pid)
			t.link.Close()
			if status.Signaled() {
				w.Problem("the tick of %s was killed (%s); the next one accounts for it", text.Minute(t.minute, w.Zone), status.Signal())
			}
		}
	}
}
