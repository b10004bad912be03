package cron

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// counted is a phrase of package every that counts from a date.
var counted = regexp.MustCompile(`^((?:(\d+) )?(minute|hour|day|week)s?) from (\d{4}-\d\d-\d\d)(?: at)? ?(.*)$`)

// mustCount reads an expression that counts from a date, as package every does.
func mustCount(t testing.TB, text string) (expressions []Expression) {
	t.Helper()
	m := counted.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q counts from no date", text)
	}
	n, _ := strconv.Atoi(cmp.Or(m[2], "1"))
	from := instant(t, m[4]+" 00:00")
	var clocks []time.Time
	for clock := range strings.SplitSeq(cmp.Or(m[5], "0:00"), ", ") {
		at, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		clocks = append(clocks, at)
	}
	if unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour}[m[3]]; unit > 0 {
		at := time.Duration(clocks[0].Hour())*time.Hour + time.Duration(clocks[0].Minute())*time.Minute
		return []Expression{Interval(time.Duration(n)*unit, from.Add(at))}
	}
	if m[3] == "week" {
		n *= 7
	}
	hours := map[int][]string{} // by minute
	for _, at := range clocks {
		hours[at.Minute()] = append(hours[at.Minute()], strconv.Itoa(at.Hour()))
	}
	for _, minute := range slices.Sorted(maps.Keys(hours)) {
		c := mustParse(t, fmt.Sprintf("%d %s * * *", minute, strings.Join(hours[minute], ",")))
		expressions = append(expressions, c.Cycle(n, m[1], from))
	}
	return expressions
}
