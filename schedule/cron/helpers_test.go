package cron

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// mustParse parses an expression that is valid.
func mustParse(t testing.TB, text string) Expression {
	t.Helper()
	c, err := Parse(text, "task")
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return c
}

// instant reads a time in UTC, with or without seconds.
func instant(t testing.TB, text string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	t.Fatalf("bad time %q", text)
	return time.Time{}
}

// zone returns the time zone with this name.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

// contains reports whether at is one of the slots.
func contains(slots []time.Time, at time.Time) bool {
	for _, slot := range slots {
		if slot.Equal(at) {
			return true
		}
	}
	return false
}

// sameTimes reports whether a and b are the same instants in the same order.
func sameTimes(a, b []time.Time) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

// walk returns what Next finds in [from, to).
func walk(w When, from, to time.Time) (all []time.Time) {
	for t, ok := w.Next(from.Add(-time.Second)); ok && t.Before(to); t, ok = w.Next(t) {
		all = append(all, t)
	}
	return all
}

// checkNext checks that w has a next instant, which Slots returns, too.
func checkNext(t *testing.T, w When, after time.Time) {
	t.Helper()
	next, ok := w.Next(after)
	if !ok || !next.After(after) {
		t.Fatalf("%v: next after %v is %v, %v", w, after, next, ok)
	}
	if slots := w.Slots(next); !contains(slots, next) {
		t.Fatalf("%v: next is %v, but its minute has %v", w, next, slots)
	}
}

// mustEvery reads words that are valid.
func mustEvery(t testing.TB, text string) []Expression {
	t.Helper()
	crons, err := ParseEvery(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return crons
}
