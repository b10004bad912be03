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

// The pace of the ticks: a minute begins when the tick of the one before has ended, but not faster or slower than this.
// Cron would not wait for a tick either.
const (
	fastest = 400 * time.Millisecond
	slowest = 1000 * time.Millisecond
	crowd   = 150 // no tick while so many processes live
)

// tick starts ticks until over is closed. Now and then a few minutes pass without one, as on a
// machine that was off.
func (c *campaign) tick(over <-chan struct{}) {
	r := c.random("ticks")
	for {
		t := c.startTick(c.nextMinute().Add(time.Duration(max(0, r.IntN(40)-36)) * time.Minute))
		begun := time.Now()
		c.awaitTick(t, slowest)
		pause := time.After(fastest - time.Since(begun))
		select {
		case <-over:
			return
		case <-pause:
		}
		for end := time.Now().Add(patience / 9); len(c.processes()) > crowd && time.Now().Before(end); {
			time.Sleep(fastest / 4)
		}
		c.noteSetAside()
	}
}

func (c *campaign) nextMinute() time.Time {
	if len(c.ticks) == 0 {
		return c.from
	}
	return c.ticks[len(c.ticks)-1].minute.Add(time.Minute)
}

// startTick starts the tick of a minute. Its clock begins late in the minute, so that the slots of
// later seconds are reached soon.
func (c *campaign) startTick(minute time.Time) *tick {
	t := &tick{number: len(c.ticks) + 1, minute: minute, done: make(chan struct{})}
	c.ticks = append(c.ticks, t)
	c.journal.write(event{what: tickBegan, tick: t.name(), slot: minute.Format(time.RFC3339)})
	clock := "SCHED_TEST_CLOCK=" + minute.Add(56500*time.Millisecond).Format(time.RFC3339Nano)
	out, err := os.Create(c.output(t))
	must(err)
	defer out.Close()
	env := append(c.environment(), clock, "CRASH_TICK="+t.name(), "CRASH_JOURNAL="+c.journal.file.Name())
	attr := &os.ProcAttr{Dir: c.dir, Env: env, Files: []*os.File{nil, out, out}}
	c.reaper.start(c.path("sched"), []string{"sched", "run", "-v"}, attr, func(status unix.WaitStatus) {
		t.status = status
		c.journal.write(event{what: tickEnded, tick: t.name(), detail: ending(status)})
		close(t.done)
	})
	return t
}

// environment is that of cron, and little else.
func (c *campaign) environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + c.dir, "TMPDIR=" + c.path("tmp")}
}

func ending(status unix.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", status.ExitStatus())
}

func (c *campaign) output(t *tick) string { return filepath.Join(c.path("ticks"), t.name()) }

// awaitTick waits for the end of a tick, but not for ever.
func (c *campaign) awaitTick(t *tick, limit time.Duration) bool {
	select {
	case <-t.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// A reaper waits for all children of this process: those that it started, and those whose parents have ended.
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

// start starts a process, and calls ended when it has ended.
func (r *reaper) start(path string, argv []string, attr *os.ProcAttr, ended func(unix.WaitStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	process, err := os.StartProcess(path, argv, attr)
	must(err)
	r.ended[process.Pid] = ended
	process.Release()
}
