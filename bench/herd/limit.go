//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// period is that of which the kernel gives a cgroup its part of a processor, by default, and look how often limit looks at what was used.
const (
	period = 100 * time.Millisecond
	look   = time.Millisecond
)

// startLimit has a process use no more than a part of a processor, as a cgroup with cpu.max does, until end is called.
func startLimit(pid, percent int) (end func()) {
	if percent >= 100 {
		return func() {}
	}
	self, err := os.Executable()
	must(err)
	c := exec.Command(self, "-limit", strconv.Itoa(pid), strconv.Itoa(percent))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(c.Start())
	return func() {
		c.Process.Kill()
		c.Wait()
		syscall.Kill(pid, syscall.SIGCONT)
	}
}

// limit stops a process for the rest of each period in which it has used its part, and for as much of the next one as it has used more than
// that: no look is on time on a busy machine. It is a process of its own: among the goroutines of 500 servers it would be late itself, and
// Redis stopped for longer than it was said to be.
func limit(pid, percent int) {
	part := period * time.Duration(percent) / 100
	used, over := cpuOf(pid), time.Duration(0)
	for begin := time.Now(); ; begin = begin.Add(period) {
		over = max(0, over-part)
		stopped := false
		for time.Since(begin) < period {
			if !stopped && over+cpuOf(pid)-used >= part {
				syscall.Kill(pid, syscall.SIGSTOP)
				stopped = true
			}
			sleep(look)
		}
		now := cpuOf(pid)
		over, used = over+now-used, now
		if over < 2*part {
			syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// cpuOf is what a process has used of processors so far.
func cpuOf(pid int) time.Duration {
	var t unix.Timespec
	must(unix.ClockGettime(int32(^pid<<3|2), &t)) // the clock of a process: clock_getcpuclockid(3)
	return time.Duration(t.Nano())
}

// Lateness is for how long this machine, which has other things to do, kept those waiting who would have run.
type lateness struct {
	redis   time.Duration // in all, of the first seconds
	servers time.Duration // at most, of their process, in the same seconds
}

// burst is how long after the beginning lateness counts: nothing else is as tight.
const burst = 3 * time.Second

// tooMuch reports whether a row says little about Redis.
func (l lateness) tooMuch() bool {
	return l.redis > 300*time.Millisecond || l.servers > 300*time.Millisecond
}

// watchLateness measures it from a moment on, until the function that it returns is called.
func watchLateness(redis int, from time.Time) (end func() lateness) {
	stop, done := make(chan struct{}), make(chan lateness, 1)
	go func() {
		var l lateness
		before := waited(redis)
		for time.Since(from) < burst {
			begun := time.Now()
			select {
			case <-stop:
				done <- l
				return
			case <-time.After(look):
			}
			l.servers = max(l.servers, time.Since(begun)-look)
			l.redis = waited(redis) - before
		}
		done <- l
	}()
	return func() lateness { close(stop); return <-done }
}

// waited is for how long a process was ready to run and did not: the second number of its schedstat, see
// Documentation/scheduler/sched-stats.rst of Linux. It is 0 where the kernel does not say.
func waited(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(n)
}

func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&ts, nil) //nolint: a signal may cut it short
}
