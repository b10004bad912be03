package cron

import (
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
			if len(late.Slots(got)) == 0 || len(e.Slots) == 0 || !e.Verdicts[0].Due || !e.Minute.Equal(got.Truncate(time.Minute)) {
				t.Fatalf("%s is due at %s, and Slots and Explain do not say so: %+v", text, got, e)
			}
			at = got
		}
	}
}
