package lease

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// A silentLock is a lease whose store does not answer.
type silentLock struct {
	mutex.Lock
	began time.Time
}

func (l silentLock) Lease() time.Duration  { return time.Minute }
func (l silentLock) LeaseBegan() time.Time { return l.began }

// A clock that is set, forward or back, changes nothing about a lease, and a machine that slept
// does.
func TestALeaseIsCountedByAClockThatNobodySets(t *testing.T) {
	steady, now := clock.Steady, clock.Now
	defer func() { clock.Steady, clock.Now = steady, now }()
	begun := steady()
	var passed time.Duration
	clock.Steady = func() time.Time { return begun.Add(passed) }
	terms := Terms{Lock: silentLock{began: begun}, Note: func(string) {}, Stop: true, Zone: time.UTC}
	held, l := (*Keeper)(nil).Renew(context.Background(), terms)
	defer l.End()
	for _, set := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		clock.Now = func() time.Time { return now().Add(set) }
		if l.stopInTime(); held.Err() != nil || l.age() != 0 {
			t.Fatalf("after the clock was set by %s: %v, %s", set, context.Cause(held), l.age())
		}
	}
	passed = 46 * time.Second
	if l.stopInTime(); held.Err() == nil || !strings.Contains(l.Noted()[0], "ends in 14s") {
		t.Errorf("its lease is nearly over: %v", l.Noted())
	}
}

// Two processes of one boot count from the same moment, and no time of this clock has a part that
// somebody sets.
func TestTheClockOfLeasesBeginsAtTheBoot(t *testing.T) {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skip("the system does not say when it booted")
	}
	seconds, _, _ := strings.Cut(string(text), " ")
	up, err := time.ParseDuration(seconds + "s")
	if err != nil {
		t.Fatal(err)
	}
	at := clock.Steady()
	if off := at.Sub(time.Unix(0, 0)) - up; off < -time.Second || off > time.Minute {
		t.Errorf("it is %s, and the machine is up for %s", at, up)
	}
	if at != at.Round(0) {
		t.Errorf("%s has a reading of another clock", at)
	}
}
