package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestSpansWithTheSameKeyHaveTheSameInstants(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(56, 3))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	withKey, repeated := 0, 0
	for range 60 {
		zone, err := time.LoadLocation(bruteZones[random.IntN(len(bruteZones))])
		if err != nil {
			t.Fatal(err)
		}
		w := When{Location: zone}
		for range 1 + random.IntN(2) {
			text := fmt.Sprintf("%s %s %s %s %s %s", pick("0", "*/20", "7"), pick("0", "30", "*", "*/7", "5-9"),
				pick("2", "*", "1-3", "*/8", "23,0"), pick("*", "1", "10-20"), pick("*", "3", "10"), pick("*", "0", "1-5"))
			c, err := Parse(text, "")
			if err != nil {
				continue
			}
			if random.IntN(6) == 0 {
				c = c.Cycle(3, "3 days", time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC))
			}
			w.Crons = append(w.Crons, c)
		}
		if random.IntN(4) == 0 {
			w.Shift = time.Duration(random.IntN(90)) * time.Minute
		}
		if random.IntN(4) == 0 {
			w.From = time.Date(2027, 2, 3, 4, 5, 0, 0, zone)
			w.Until = w.From.AddDate(1, 0, 0)
		}
		type relative struct {
			offsets []time.Duration
			clock   string
		}
		seen, spans := map[SpanKey]relative{}, SpansOf(w)
		from := time.Date(2026, 8, 1, random.IntN(24), random.IntN(60), 0, 0, time.UTC)
		for range 800 {
			var r relative
			for at := range w.Forward(from, from.Add(SpanLength)) {
				r.offsets = append(r.offsets, at.Sub(from))
			}
			if next, ok := spans.Next(from, from.Add(SpanLength)); ok != (len(r.offsets) > 0) || ok && next.Sub(from) != r.offsets[0] {
				t.Fatalf("%s in %s: Next after %s is %s", w, zone, from, next)
			}
			for hour := range 24 {
				r.clock += from.Add(time.Duration(hour) * time.Hour).In(zone).Format("15:04 ")
			}
			if key, day, ok := spans.Key(from); ok {
				withKey++
				if year, month, date := from.Add(-w.Shift).In(zone).Date(); day != time.Date(year, month, date, 0, 0, 0, 0, time.UTC) {
					t.Fatalf("%s in %s: the first day from %s is %s", w, zone, from, day)
				}
				if other, known := seen[key]; known {
					repeated++
					if !slices.Equal(r.offsets, other.offsets) || w.Shift == 0 && r.clock != other.clock {
						t.Fatalf("%s in %s: the span from %s is unlike another one with its key", w, zone, from)
					}
				}
				seen[key] = r
			}
			from = from.Add(SpanLength)
		}
	}
	if withKey < 40_000*9/10 || repeated < withKey*3/4 {
		t.Errorf("%d spans have a key, and %d of them the key of another one", withKey, repeated)
	}
}
