//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A tick is one `sched run`.
type tick struct {
	number int
	minute time.Time
	quiet  bool // nothing was killed any more
	done   chan struct{}
	status unix.WaitStatus // when done is closed
}

func (t *tick) name() string { return strconv.Itoa(t.number) }

// The pace of the ticks: each minute begins when the tick of the last has ended, as far as that is
// within these bounds. Cron would not wait either.
const (
	fastest = 400 * time.Millisecond
	slowest = 1000 * time.Millisecond
	crowd   = 150 // no tick while so many processes live
)

// tick starts ticks until over is closed. Now and then a few minutes pass without one, as on a
// machine that was off.
func (w *world) tick(over <-chan struct{}) {
	r := w.random("ticks")
	for {
		t := w.startTick(w.nextMinute().Add(time.Duration(max(0, r.IntN(40)-36)) * time.Minute))
		begun := time.Now()
		w.awaitTick(t, slowest)
		pause := time.After(fastest - time.Since(begun))
		select {
		case <-over:
			return
		case <-pause:
		}
		for end := time.Now().Add(patience / 9); len(w.processes()) > crowd && time.Now().Before(end); {
			time.Sleep(fastest / 4)
		}
		w.lookAside()
	}
}

func (w *world) nextMinute() time.Time {
	if len(w.ticks) == 0 {
		return w.from
	}
	return w.ticks[len(w.ticks)-1].minute.Add(time.Minute)
}

// startTick starts the tick of a minute. Its clock begins late in the minute, so that the slots of
// later seconds are reached soon.
func (w *world) startTick(minute time.Time) *tick {
	t := &tick{number: len(w.ticks) + 1, minute: minute, done: make(chan struct{})}
	w.ticks = append(w.ticks, t)
	w.journal.write(event{what: ticking, tick: t.name(), slot: minute.Format(time.RFC3339)})
	clock := "SCHED_TEST_CLOCK=" + minute.Add(56500*time.Millisecond).Format(time.RFC3339Nano)
	out, err := os.Create(w.output(t))
	must(err)
	defer out.Close()
	env := append(w.environment(), clock, "CRASH_TICK="+t.name(), "CRASH_JOURNAL="+w.journal.file.Name())
	attr := &os.ProcAttr{Dir: w.dir, Env: env, Files: []*os.File{nil, out, out}}
	w.reaper.start(w.path("sched"), []string{"sched", "run", "-v"}, attr, func(status unix.WaitStatus) {
		t.status = status
		w.journal.write(event{what: ticked, tick: t.name(), detail: ending(status)})
		close(t.done)
	})
	return t
}

// environment is that of cron, and little else.
func (w *world) environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.dir, "TMPDIR=" + w.path("tmp")}
}

func ending(status unix.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}

func (w *world) output(t *tick) string { return filepath.Join(w.path("ticks"), t.name()) }

// awaitTick waits for the end of a tick, but not for ever.
func (w *world) awaitTick(t *tick, limit time.Duration) bool {
	select {
	case <-t.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// A reaper waits for all children of this process: those that it started, and those that their
// parents left behind.
type reaper struct {
	mu    sync.Mutex
	ended map[int]func(unix.WaitStatus)
}

func startReaper() *reaper {
	r := &reaper{ended: map[int]func(unix.WaitStatus){}}
	go func() {
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, 0, nil)
			if err == unix.ECHILD {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			r.mu.Lock()
			if ended := r.ended[pid]; ended != nil {
				ended(status)
				delete(r.ended, pid)
			}
			r.mu.Unlock()
		}
	}()
	return r
}

// start starts a process, and calls ended when it has.
func (r *reaper) start(path string, argv []string, attr *os.ProcAttr, ended func(unix.WaitStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	process, err := os.StartProcess(path, argv, attr)
	must(err)
	r.ended[process.Pid] = ended
	process.Release()
}
