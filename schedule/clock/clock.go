// Package clock has the clock of this process, a wait until that clock shows a time, and a wait of
// real time.
//
// Decisions go by the time that is handed down to them (the minute of a tick); this package is for
// what really happens: when a command was started, how long somebody waits. Deadlines that must
// survive a clock that is set go by time.Now and its monotonic reading instead, and leases by
// Steady.
package clock

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Now and After are time.Now and time.After, except in the binary that the tests build: its clock
// can be wrong, fast, and set while it runs (cmd/testclock.go). Only that file may set them, before
// anything runs.
var (
	Now   = time.Now
	After = time.After
)

// Recheck is how soon a process that waits for a time of the wall clock notices that the clock was
// set, or that the machine slept: timers follow neither.
const Recheck = time.Second

// WaitUntil waits until the wall clock shows at. It reports false when ctx was done first.
func WaitUntil(ctx context.Context, at time.Time) bool {
	for ctx.Err() == nil {
		left := at.Sub(Now().Round(0)) // by the wall clock alone
		if left <= 0 {
			return true
		}
		select {
		case <-After(min(left, Recheck)):
		case <-ctx.Done():
		}
	}
	return false
}

// Wait waits for d of real time. It reports false when ctx was done first.
func Wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// BootID names this boot of the machine: no other boot has that name. It is empty if the system
// does not tell boots apart. A container shares the kernel of its host, and with it the boot.
var BootID = sync.OnceValue(bootID)

// SinceBoot returns how long ago the machine booted, including the time in which it slept. Setting
// the clock does not change that. ok is false if the system does not say.
//
// The binary that the tests build has a machine that booted when the tests say (cmd/testclock.go).
// Only that file may set BootID and SinceBoot.
var SinceBoot func() (since time.Duration, ok bool) = sinceBoot

// Steady returns the time by a clock that nobody sets, and that goes on while the machine sleeps.
// It counts from the boot, as if that had been in 1970: only the time between two calls means
// something, in all processes of one boot. Only tests may set it.
var Steady = steady

func steady() time.Time {
	var t unix.Timespec
	if unix.ClockGettime(steadyClock, &t) != nil { // a kernel without such a clock
		return time.Now().Round(0)
	}
	return time.Unix(t.Unix()).UTC()
}
