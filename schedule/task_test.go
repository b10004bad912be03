package schedule

import (
	"math"
	"testing"
	"time"
)

func TestTheWaitBeforeTheNextAttempt(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		retry Retry
		waits []time.Duration // after the first attempt, the second, …
	}{
		// without a delay, at once
		{Retry{Attempts: 3, Backoff: 1}, []time.Duration{0, 0}},
		{Retry{Attempts: 3, Backoff: 2}, []time.Duration{0, 0}},
		// always the same
		{Retry{Attempts: 4, Delay: 10 * s, Backoff: 1}, []time.Duration{10 * s, 10 * s, 10 * s}},
		// longer each time
		{Retry{Attempts: 5, Delay: 10 * s, Backoff: 2}, []time.Duration{10 * s, 20 * s, 40 * s, 80 * s}},
		{Retry{Attempts: 4, Delay: 10 * s, Backoff: 1.5}, []time.Duration{10 * s, 15 * s, 22*s + s/2}},
		// up to a bound, which counts from the first wait on
		{Retry{Attempts: 5, Delay: 10 * s, Backoff: 2, MaxDelay: 30 * s}, []time.Duration{10 * s, 20 * s, 30 * s, 30 * s}},
		{Retry{Attempts: 3, Delay: 10 * s, Backoff: 1, MaxDelay: 5 * s}, []time.Duration{5 * s, 5 * s}},
	} {
		for i, want := range test.waits {
			if got := test.retry.Wait(i + 1); got != want {
				t.Errorf("%+v: after attempt %d it waits for %s, not %s", test.retry, i+1, got, want)
			}
		}
	}
}

func TestTheLongestWait(t *testing.T) {
	for _, test := range []struct {
		about string
		retry Retry
		want  time.Duration
	}{
		{"one attempt waits for nothing", Retry{Attempts: 1, Delay: time.Hour, Backoff: 2}, 0},
		{"the wait before the last attempt", Retry{Attempts: 4, Delay: time.Minute, Backoff: 2}, 4 * time.Minute},
		{"bounded", Retry{Attempts: 9, Delay: time.Minute, Backoff: 2, MaxDelay: 5 * time.Minute}, 5 * time.Minute},
		{"for ever, found at once", Retry{Attempts: math.MaxInt32, Delay: time.Second, Backoff: 1}, time.Second},
	} {
		if got := test.retry.Longest(); got != test.want {
			t.Errorf("%s: %s, not %s", test.about, got, test.want)
		}
	}
}

// A wait that no Duration can hold is as long as a year, not negative.
func TestTheWaitNeverOverflows(t *testing.T) {
	for _, n := range []int{100, 1000, math.MaxInt16} {
		if got := (Retry{Delay: time.Hour, Backoff: 10}).Wait(n); got != 365*24*time.Hour {
			t.Errorf("after attempt %d: %s", n, got)
		}
		if got := (Retry{Delay: time.Hour, Backoff: 10, MaxDelay: 2 * time.Hour}).Wait(n); got != 2*time.Hour {
			t.Errorf("after attempt %d, bounded: %s", n, got)
		}
	}
}
