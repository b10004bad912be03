//go:build schedtest

package cmd

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sched/schedule/clock"
	"sched/schedule/serve"
	"sched/schedule/tick"
)

// A binary that is built with the tag schedtest, as the tests of this package do, has a clock that
// can be wrong, in every process of a run alike:
//
//	SCHED_TEST_CLOCK=2026-11-21T10:44:30Z   it is this time when the process begins
//	SCHED_TEST_CLOCK_OFFSET=-45s            the clock is slow by so much; added to the above
//	SCHED_TEST_CLOCK_FILE=clock             what the file says counts instead: see fileClock
//	SCHED_TEST_CLOCK_SET=2h                 by so much it was set forward since the machine booted, else time passed
//	SCHED_TEST_BOOT=a@2026-11-21T10:44:30Z  the name of the machine's boot, and when it was; without the time long ago
//	SCHED_TEST_ETC=/tmp/etc                 install writes to folders there, and keeps copies there; labels are read there
//
// The first two go on from there at the usual pace. SCHED_TEST_SERVER gives the machine another
// name, and a condition command may take SCHED_TEST_GUARD_TIMEOUT, the header of a request to sched
// serve SCHED_TEST_HEADER_TIMEOUT. The binary that people build knows none of these.
func init() {
	var offset time.Duration
	if text := os.Getenv("SCHED_TEST_CLOCK"); text != "" {
		offset = time.Until(must(time.Parse(time.RFC3339, text)))
	}
	offset += testDuration("SCHED_TEST_CLOCK_OFFSET", 0)
	if etc := os.Getenv("SCHED_TEST_ETC"); etc != "" {
		cronFolder, systemdFolder, rootBackups, labelsFile = etc+"/cron.d", etc+"/systemd/system", etc+"/crontabs", etc+"/sched/labels"
	}
	if name := os.Getenv("SCHED_TEST_SERVER"); name != "" {
		hostname = func() (string, error) { return name, nil }
	}
	tick.ConditionTimeout = testDuration("SCHED_TEST_GUARD_TIMEOUT", tick.ConditionTimeout)
	serve.HeaderTimeout = testDuration("SCHED_TEST_HEADER_TIMEOUT", serve.HeaderTimeout)
	clock.Now = func() time.Time { return time.Now().Add(offset) }
	if file := os.Getenv("SCHED_TEST_CLOCK_FILE"); file != "" {
		clock.Now = fileClock(file).now
		clock.After = fileClock(file).after
	}
	setBoot(testDuration("SCHED_TEST_CLOCK_SET", 0), os.Getenv("SCHED_TEST_BOOT"))
}

func testDuration(variable string, without time.Duration) time.Duration {
	if text := os.Getenv(variable); text != "" {
		return must(time.ParseDuration(text))
	}
	return without
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("a variable SCHED_TEST_…: %v", err))
	}
	return value
}

// setBoot makes time pass as the clock of the tests shows it, but for what the clock was set.
func setBoot(by time.Duration, name string) {
	booted := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	clock.SinceBoot = func() (time.Duration, bool) { return clock.Now().Sub(booted) - by, true }
	if name, at, ok := strings.Cut(name, "@"); name != "" {
		if ok {
			booted = must(time.Parse(time.RFC3339, at))
		}
		clock.BootID = func() string { return name }
	}
}

// A fileClock is a clock that several processes share, and that can be set while they run. The file
// says at which real time the clock showed what, and how fast it is; at the pace 0 it stands still.
// A third time is the one at which it stops until the file changes:
//
//	2026-03-01T12:00:00.5Z 2026-11-21T10:44:30Z 60 2026-11-21T10:50:00Z
type fileClock string

func (f fileClock) read() (real, shown, end time.Time, speed float64) {
	words := append(strings.Fields(string(must(os.ReadFile(string(f))))), "")
	real, shown = must(time.Parse(time.RFC3339Nano, words[0])), must(time.Parse(time.RFC3339Nano, words[1]))
	if speed = must(strconv.ParseFloat(words[2], 64)); words[3] != "" {
		end = must(time.Parse(time.RFC3339Nano, words[3]))
	}
	return real, shown, end, speed
}

func (f fileClock) now() time.Time {
	real, shown, end, speed := f.read()
	now := shown.Add(time.Duration(float64(time.Since(real)) * speed))
	if !end.IsZero() && now.After(end) {
		return end
	}
	return now
}

func (f fileClock) after(d time.Duration) <-chan time.Time {
	_, _, _, speed := f.read()
	if speed > 0 {
		return time.After(time.Duration(float64(d) / speed))
	}
	over := make(chan time.Time)
	go func() {
		for speed == 0 {
			time.Sleep(time.Millisecond)
			_, _, _, speed = f.read()
		}
		over <- <-f.after(d)
	}()
	return over
}
