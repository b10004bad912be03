package cron

import (
	"slices"
	"testing"
	"time"
)

// A shifted When is due at the same instants as the plain one, so much later, by every method.
func TestAShiftedWhenAgreesWithThePlainOne(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"30 2 * * *", "*/7 * * * *", "0 0 29 2 *", "*/20 15 3 * * MON"} {
		expression, err := Parse(text, "seed")
		if err != nil {
			t.Fatal(err)
		}
		const shift = 37 * time.Minute
		plain := When{Crons: []Expression{expression}, Location: zone}
		late := plain
		late.Shift = shift
		at := time.Date(2026, 3, 28, 12, 0, 0, 0, zone) // the clocks change in the night
		for range 50 {
			want, _ := plain.Next(at.Add(-shift))
			got, ok := late.Next(at)
			if !ok || !got.Equal(want.Add(shift)) {
				t.Fatalf("%s is due at %s after %s, not %s later than %s", text, got, at, shift, want)
			}
			if back, ok := late.Previous(got.Add(1)); !ok || !back.Equal(got) {
				t.Fatalf("%s: Previous says %s, Next %s", text, back, got)
			}
			e := late.Explain(got)
			if len(late.Slots(got)) == 0 || len(e.Slots) == 0 || !e.Verdicts[0].Due ||
				!e.Minute.Equal(got.Truncate(time.Minute)) {
				t.Fatalf("%s is due at %s, and Slots and Explain do not say so: %+v", text, got, e)
			}
			at = got
		}
	}
}

// A When with bounds is due at the instants of the plain one that lie in them, by every method.
func TestABoundedWhenAgreesWithThePlainOne(t *testing.T) {
	expression, err := Parse("*/20 * * * *", "")
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	plain := When{Crons: []Expression{expression}, Shift: 7 * time.Minute}
	for _, from := range []time.Duration{0, 6 * time.Hour, 6*time.Hour + 7*time.Minute, 6*time.Hour +
		7*time.Minute + 1} {
		bounded := plain
		bounded.From, bounded.Until = day.Add(from), day.Add(9*time.Hour+7*time.Minute)
		var want []time.Time
		for at := range plain.Forward(day.Add(-24*time.Hour), day.Add(48*time.Hour)) {
			if bounded.InBounds(at) {
				want = append(want, at)
			}
			if is := len(bounded.Slots(at)) == 1; is != bounded.InBounds(at) {
				t.Errorf("%s: due %t", at, is)
			}
		}
		got := slices.Collect(bounded.Forward(day.Add(-24*time.Hour), day.Add(48*time.Hour)))
		back := slices.Collect(bounded.Backward(day.Add(-24*time.Hour), day.Add(48*time.Hour)))
		slices.Reverse(back)
		if !slices.Equal(got, want) || !slices.Equal(back, want) ||
			bounded.Count(day, day.Add(48*time.Hour)) != len(want) {
			t.Errorf("from %s: %v, back %v, not %v", from, got, back, want)
		}
		first, ok := bounded.Next(day.AddDate(-50, 0, 0))
		last, before := bounded.Previous(day.AddDate(50, 0, 0))
		if !ok || !before || !first.Equal(want[0]) || !last.Equal(want[len(want)-1]) {
			t.Errorf("from %s: the first is %s, the last %s", from, first, last)
		}
		if next, ok := bounded.Next(last); ok {
			t.Errorf("%s comes after the last one", next)
		}
		if previous, ok := bounded.Previous(first); ok {
			t.Errorf("%s comes before the first one", previous)
		}
	}
}
