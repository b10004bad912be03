//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A tick is one `sched run`.
type tick struct {
	number int
	minute time.Time
	replay bool   // with --at
	only   string // the task of --only
	quiet  bool   // nothing is killed any more
	done   chan struct{}
	status unix.WaitStatus // when done is closed
}

func (t *tick) name() string { return strconv.Itoa(t.number) }

// The pace of the ticks: a minute begins when the tick of the minute before has ended, but not
// faster or slower than this. Cron would not wait for a tick either.
const (
	fastest = 400 * time.Millisecond
	slowest = 1000 * time.Millisecond
	crowd   = 150 // no tick while so many processes live
)

// tick starts ticks until over is closed. Now and then one of these happens: a few minutes or hours
// pass without a tick, as on a machine that was off or whose clock was set; the clock is set back;
// a minute gets a second tick; or a minute of the past is replayed.
func (c *campaign) tick(over <-chan struct{}) {
	r := c.random("ticks")
	for {
		t := c.startTick(c.jump(r, c.nextMinute()))
		begun := time.Now()
		switch n := r.IntN(100); {
		case n < 5:
			c.startTick(t.minute)
		case n < 15:
			c.replay(r)
		}
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

// nextMinute is the minute after the clock's; the first minute, if no minute was ticked yet.
func (c *campaign) nextMinute() time.Time {
	if len(c.ticks) == 0 {
		return c.from
	}
	return c.clock.minute().Add(time.Minute)
}

// jump returns the minute that the clock shows instead of next: mostly next itself.
func (c *campaign) jump(r *rand.Rand, next time.Time) time.Time {
	by := time.Duration(0)
	switch n := r.IntN(200); {
	case len(c.ticks) == 0: // slots before the first tick were not missed
	case n < 15:
		by = time.Duration(1+r.IntN(3)) * time.Minute
	case n < 18: // so long that the older slots of a task have one record together
		by = time.Duration(60+r.IntN(240)) * time.Minute
		c.longGap = next
	case n < 25:
		by = -time.Duration(1+r.IntN(6)) * time.Minute
	}
	if to := next.Add(by); !to.Before(c.from) {
		return to
	}
	return c.from
}

// replay starts a tick of a past minute: a recent one, or a minute in the last long gap, often its
// first. Sometimes the tick is for one task alone.
func (c *campaign) replay(r *rand.Rand) {
	minute := c.clock.minute().Add(-time.Duration(r.IntN(15)) * time.Minute)
	if !c.longGap.IsZero() && r.IntN(2) == 0 {
		minute = c.longGap.Add(time.Duration(max(0, r.IntN(8)-4)) * time.Minute)
	}
	if minute.Before(c.from) {
		return
	}
	only := ""
	if r.IntN(2) == 0 {
		only = c.tasks[r.IntN(len(c.tasks))].name
	}
	c.start(&tick{minute: minute, replay: true, only: only})
}

// startTick sets the clock to a minute, and starts its tick.
func (c *campaign) startTick(minute time.Time) *tick {
	c.clock.set(minute)
	return c.start(&tick{minute: minute})
}

// start starts a tick.
func (c *campaign) start(t *tick) *tick {
	t.number, t.done = len(c.ticks)+1, make(chan struct{})
	c.ticks = append(c.ticks, t)
	c.journal.write(event{what: tickBegan, tick: t.name(), slot: t.minute.Format(time.RFC3339), task: t.only})
	argv := []string{"sched", "run", "-v"}
	if t.replay {
		argv = append(argv, "--at", t.minute.Format(time.RFC3339))
	}
	if t.only != "" {
		argv = append(argv, "--only", t.only)
	}
	out, err := os.Create(c.output(t))
	must(err)
	defer out.Close()
	attr := &os.ProcAttr{Dir: c.dir, Env: append(c.watched(), "CRASH_TICK="+t.name()), Files: []*os.File{nil, out, out}}
	c.reaper.start(c.path("sched"), argv, attr, func(status unix.WaitStatus) {
		t.status = status
		c.journal.write(event{what: tickEnded, tick: t.name(), detail: ending(status)})
		close(t.done)
	})
	return t
}

// couldStart reports whether the tick may have started a slot of a task in its minute.
func (t *tick) couldStart(task string, minute time.Time) bool {
	return t.minute.Equal(minute) && (t.only == "" || t.only == task)
}

// A testClock is what the clocks of new processes show. Safe for concurrent use.
type testClock struct{ at atomic.Int64 }

func (c *testClock) set(minute time.Time) { c.at.Store(minute.Unix()) }
func (c *testClock) minute() time.Time    { return time.Unix(c.at.Load(), 0).UTC() }

// watched is the environment of processes that this program kills. It has the journal, by which
// processes finds them, and the clock. The clock begins late in its minute, so that slots of later
// seconds come soon.
func (c *campaign) watched() []string {
	clock := c.clock.minute().Add(56500 * time.Millisecond).Format(time.RFC3339Nano)
	return append(c.environment(), "SCHED_TEST_CLOCK="+clock, "CRASH_JOURNAL="+c.journal.file.Name(),
		"SCHED_TRACE="+c.path("forks"))
}

// environment is the environment that cron gives, and little else.
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

// A reaper waits for all children of this process: children that it started, and orphans that
// became its children.
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
