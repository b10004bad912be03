package schedule_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"sched/schedule"
)

func TestTheWaitBeforeTheNextAttempt(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		retry schedule.Retry
		waits []time.Duration // after the first attempt, the second, …
	}{
		// without a delay, at once
		{schedule.Retry{Attempts: 3, Backoff: 1}, []time.Duration{0, 0}},
		{schedule.Retry{Attempts: 3, Backoff: 2}, []time.Duration{0, 0}},
		// always the same
		{schedule.Retry{Attempts: 4, Delay: 10 * s, Backoff: 1}, []time.Duration{10 * s, 10 * s, 10 * s}},
		// longer each time
		{schedule.Retry{Attempts: 5, Delay: 10 * s, Backoff: 2}, []time.Duration{10 * s, 20 * s, 40 * s, 80 * s}},
		{schedule.Retry{Attempts: 4, Delay: 10 * s, Backoff: 1.5}, []time.Duration{10 * s, 15 * s, 22*s + s/2}},
		// up to a bound, which counts from the first wait on
		{schedule.Retry{Attempts: 5, Delay: 10 * s, Backoff: 2, MaxDelay: 30 * s},
			[]time.Duration{10 * s, 20 * s, 30 * s, 30 * s}},
		{schedule.Retry{Attempts: 3, Delay: 10 * s, Backoff: 1, MaxDelay: 5 * s}, []time.Duration{5 * s, 5 * s}},
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
		retry schedule.Retry
		want  time.Duration
	}{
		{"one attempt waits for nothing", schedule.Retry{Attempts: 1, Delay: time.Hour, Backoff: 2}, 0},
		{"the wait before the last attempt",
			schedule.Retry{Attempts: 4, Delay: time.Minute, Backoff: 2}, 4 * time.Minute},
		{"bounded", schedule.Retry{Attempts: 9, Delay: time.Minute, Backoff: 2, MaxDelay: 5 * time.Minute},
			5 * time.Minute},
		{"for ever, found at once", schedule.Retry{Attempts: math.MaxInt32, Delay: time.Second, Backoff: 1},
			time.Second},
	} {
		if got := test.retry.Longest(); got != test.want {
			t.Errorf("%s: %s, not %s", test.about, got, test.want)
		}
	}
}

// A wait that no Duration can hold is as long as a year, not negative.
func TestTheWaitNeverOverflows(t *testing.T) {
	for _, n := range []int{100, 1000, math.MaxInt16} {
		if got := (schedule.Retry{Delay: time.Hour, Backoff: 10}).Wait(n); got != 365*24*time.Hour {
			t.Errorf("after attempt %d: %s", n, got)
		}
		if got := (schedule.Retry{Delay: time.Hour, Backoff: 10, MaxDelay: 2 * time.Hour}).Wait(n); got != 2*time.Hour {
			t.Errorf("after attempt %d, bounded: %s", n, got)
		}
	}
}

func TestJitter(t *testing.T) {
	r := schedule.Retry{Attempts: 9, Delay: 100 * time.Second, Backoff: 2, Jitter: 0.2, MaxDelay: 450 * time.Second}
	low, high := time.Duration(1<<62), time.Duration(0)
	for i := range 1000 {
		run := fmt.Sprint("run ", i)
		wait := r.WaitOf(run, 2)
		low, high = min(low, wait), max(high, wait)
		if wait != r.WaitOf(run, 2) {
			t.Fatal("the same wait is another one when it is asked for again")
		}
		if wait := r.WaitOf(run, 3); wait > r.MaxDelay {
			t.Errorf("it waits %s", wait)
		}
	}
	if low < 160*time.Second || low > 165*time.Second || high > 240*time.Second || high < 235*time.Second {
		t.Errorf("200 s are between %s and %s", low, high)
	}
	if r.Jitter = 0; r.WaitOf("x", 2) != 200*time.Second {
		t.Errorf("without jitter it waits %s", r.WaitOf("x", 2))
	}
}
