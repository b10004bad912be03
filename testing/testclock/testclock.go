// Package testclock is the clock of a binary that tests build: see cmd/testclock.go.
package testclock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sched/schedule/clock"
)

// Set sets the clock of this process, as the environment says.
func Set() {
	var offset time.Duration
	if text := os.Getenv("SCHED_TEST_CLOCK"); text != "" {
		offset = time.Until(must(time.Parse(time.RFC3339, text)))
	}
	offset += Duration("SCHED_TEST_CLOCK_OFFSET", 0)
	clock.Now = func() time.Time { return time.Now().Add(offset) }
	if file := os.Getenv("SCHED_TEST_CLOCK_FILE"); file != "" {
		clock.Now = fileClock(file).now
		clock.After = fileClock(file).after
	}
	setBoot(Duration("SCHED_TEST_CLOCK_SET", 0), os.Getenv("SCHED_TEST_BOOT"))
}

// Duration returns the duration that a variable has, or what holds without it.
func Duration(variable string, without time.Duration) time.Duration {
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
	words := strings.Fields(string(must(os.ReadFile(string(f)))))
	for range 1000 {
		if len(words) > 0 {
			break
		}
		time.Sleep(time.Millisecond) // a shell has just emptied the file to write it
		words = strings.Fields(string(must(os.ReadFile(string(f)))))
	}
	words = append(words, "")
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
