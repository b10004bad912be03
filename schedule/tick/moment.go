package tick

import (
	"context"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/tick/admission"
)

// A moment is the minute of a tick, and which of its slots the tick is for.
type moment struct {
	minute time.Time
	replay bool   // the minute was given, not read
	only   string // the only task that starts; "" for all
	zone   *time.Location
}

// awaitInstant waits for the instant of a slot, and returns "". Otherwise it returns the reason why
// the tick does not wait for it: ctx is done, or the clock was set back so far that this minute
// lies ahead again and later ticks will have it.
func (m moment) awaitInstant(ctx context.Context, slot schedule.Slot) (reason string) {
	for ctx.Err() == nil {
		now := clock.Now().Round(0) // by the wall clock alone
		wait := slot.At.Sub(now)
		switch {
		case m.replay || wait <= 0:
			return ""
		case wait > time.Minute:
			return "the clock was set back to " + now.In(m.zone).Format("2006-01-02 15:04:05")
		}
		select {
		case <-clock.After(min(wait, clock.Recheck)):
		case <-ctx.Done():
		}
	}
	return admission.WhyDone(ctx)
}

// isEarly reports whether a request or a deferred retry for the given time has to wait. A tick of a
// minute that has not come (--at) does not make it start earlier.
func (m moment) isEarly(at time.Time) bool { return at.After(m.dueBy()) }

// dueBy returns the last moment for which requests and deferred retries start now.
func (m moment) dueBy() time.Time {
	if now := clock.Now().Truncate(time.Minute); m.replay && now.Before(m.minute) {
		return now
	}
	return m.minute
}

func (m moment) isBehind(slot schedule.Slot) bool { return !m.replay && clock.Now().After(slot.At) }

func (m moment) excludes(task string) bool { return m.only != "" && m.only != task }

// A Host is the machine and the program that a tick runs on.
type Host struct {
	Server  string   // the name of this machine
	Version string   // of sched
	Self    string   // the path of sched, for the supervisors
	Environ []string // of the caller
}
