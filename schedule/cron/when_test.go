package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSlots(t *testing.T) {
	tests := []struct {
		crons, at string
		want      []string
	}{
		// the minute is absolute: any instant in it stands for all of it
		{"*/20 * * * * *", "2026-03-02 09:07:33",
			[]string{"2026-03-02 09:07:00", "2026-03-02 09:07:20", "2026-03-02 09:07:40"}},
		{"7 9 * * *", "2026-03-02 09:07:59", []string{"2026-03-02 09:07:00"}},
		{"7 9 * * *", "2026-03-02 09:08:00", nil},
		{"7 9 * * *", "2026-03-02 09:06:59", nil},

		// several expressions: in order, and each instant once
		{"*/30 * * * * *; * * * * *; 15 * * * * *", "2026-03-02 09:07", []string{
			"2026-03-02 09:07:00", "2026-03-02 09:07:15", "2026-03-02 09:07:30"}},
		{"0 9 * * *; 0 9 2 * *", "2026-03-02 09:00", []string{"2026-03-02 09:00:00"}},

		// before 1970 as well
		{"*/30 * * * * *", "1969-12-31 23:59:45", []string{"1969-12-31 23:59:00", "1969-12-31 23:59:30"}},
	}
	for _, tt := range tests {
		var w When
		for text := range strings.SplitSeq(tt.crons, "; ") {
			w.Crons = append(w.Crons, mustParse(t, text))
		}
		var want []time.Time
		for _, text := range tt.want {
			want = append(want, instant(t, text))
		}
		local := time.FixedZone("somewhere", 5*3600+1800) // the zone of the argument does not matter
		got := w.Slots(instant(t, tt.at).In(local))
		if !sameTimes(got, want) {
			t.Errorf("%q at %s: got %v, want %v", tt.crons, tt.at, got, want)
		}
		for _, slot := range got {
			if slot.Location() != time.UTC {
				t.Errorf("%q: %v is not in UTC", tt.crons, slot)
			}
		}
	}
}

func TestNext(t *testing.T) {
	tests := []struct{ cron, after, want string }{
		// strictly after
		{"* * * * *", "2026-03-02 09:07:00", "2026-03-02 09:08"},
		{"* * * * *", "2026-03-02 09:06:59", "2026-03-02 09:07"},
		{"* * * * * *", "2026-03-02 09:06:59", "2026-03-02 09:07"},
		{"*/10 * * * * *", "2026-03-02 09:06:50", "2026-03-02 09:07"},
		{"59 23 31 12 *", "2026-12-31 23:59", "2027-12-31 23:59"},

		// dates that are years away, also across 2100, which is no leap year
		{"0 0 29 2 *", "2026-03-02 00:00", "2028-02-29 00:00"},
		{"0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"},
		{"0 0 29 2 */7", "2088-02-29 00:00", "2128-02-29 00:00"},
		{"0 0 31W * *", "2026-03-31 00:00", "2026-05-29 00:00"},
		{"0 0 L 2 *", "2026-03-02 00:00", "2027-02-28 00:00"},
		{"0 0 13 * FRI", "2026-03-06 00:00", "2026-03-13 00:00"},
		{"0 0 13 * FRI", "2026-04-10 00:00", "2026-04-13 00:00"},
	}
	for _, tt := range tests {
		w := When{Crons: []Expression{mustParse(t, tt.cron)}}
		got, ok := w.Next(instant(t, tt.after))
		if want := instant(t, tt.want); !ok || !got.Equal(want) {
			t.Errorf("%q after %s: got %v, %v, want %v", tt.cron, tt.after, got, ok, want)
		}
	}
	if got, ok := (When{}).Next(time.Now()); ok {
		t.Errorf("a when without expressions is due at %v", got)
	}
	fraction := instant(t, "2026-03-02 09:06:59").Add(999 * time.Millisecond)
	if got, _ := (When{Crons: []Expression{mustParse(t, "* * * * *")}}).Next(fraction); !got.Equal(instant(t,
		"2026-03-02 09:07")) {
		t.Errorf("a fraction of a second before the minute: got %v", got)
	}
}

// Next and Slots agree about random expressions, zones and times, most of them near a change of the
// clocks.
func TestNextAndSlotsAgree(t *testing.T) {
	const seed = 20260302
	random := rand.New(rand.NewPCG(seed, seed))
	for range 3000 {
		var w When
		for range 1 + random.IntN(2) {
			c, err := Parse(randomCron(random), "task")
			if err == nil { // else it can never be due
				w.Crons = append(w.Crons, c)
			}
		}
		name := bruteZones[random.IntN(len(bruteZones))]
		w.Location = zone(t, name)
		after := instant(t, clockChanges[random.IntN(len(clockChanges))]).Add(time.Duration(random.IntN(14400)-7200) * time.Second)
		next, ok := w.Next(after)
		if !ok != (len(w.Crons) == 0) {
			t.Fatalf("%v in %s after %v: next is %v, %v", w, name, after, next, ok)
		}
		for m := after.Truncate(time.Minute); m.Before(after.Add(90 * time.Minute)); m = m.Add(time.Minute) {
			for _, slot := range w.Slots(m) {
				if slot.After(after) && slot.Before(next) || slot.Before(m) || !slot.Before(m.Add(time.Minute)) {
					t.Fatalf("%v in %s after %v: next is %v, but %v is a slot of %v", w, name, after, next, slot, m)
				}
			}
		}
		if ok {
			checkNext(t, w, after)
		}
	}
}

// randomCron returns an expression that is well formed, though it may never be due.
func randomCron(random *rand.Rand) string {
	field := func(low, high int, special ...string) string {
		a := low + random.IntN(high-low+1)
		b := a + random.IntN(high-a+1)
		switch n := random.IntN(9); {
		case n < 2:
			return "*"
		case n == 2:
			return fmt.Sprintf("*/%d", 1+random.IntN(high-1))
		case n == 3:
			return fmt.Sprintf("%d-%d", a, b)
		case n == 4:
			return fmt.Sprintf("%d-%d/%d", a, b, 1+random.IntN(high-1))
		case n == 5:
			return fmt.Sprintf("%d/%d", a, 1+random.IntN(high-1))
		case n == 6:
			return fmt.Sprintf("%d,%d", a, b)
		case n == 7 && len(special) > 0:
			return special[random.IntN(len(special))]
		}
		return fmt.Sprint(a)
	}
	text := fmt.Sprintf("%s %s %s %s %s", field(0, 59), field(0, 23), field(1, 31, "L", "LW", "15W", "1,L", "31W"),
		field(1, 12, "MAR", "oct-DEC"), field(0, 6, "FRI-SUN", "1#2", "5L", "7", "6-7"))
	if random.IntN(5) == 0 {
		text = field(0, 59) + " " + text
	}
	return text
}

// BenchmarkTick parses 10,000 expressions in a new process and finds their slots of one minute. It
// is to take about 10 ms.
func BenchmarkTick(b *testing.B) {
	texts := []string{"*/5 * * * *", "30 2 * * 1-5", "0 9 1 6 *", "H H * * *", "0 * * * *", "15 8-18 * * MON-FRI"}
	berlin, at := zone(b, "Europe/Berlin"), time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC)
	for b.Loop() {
		forgetCompiled()
		for i := range 10_000 {
			c, _ := Parse(texts[i%len(texts)], "task")
			When{Crons: []Expression{c}, Location: berlin}.Slots(at)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, text := range []string{"*/5 * * * *", "30 2 * * 1-5", "0 0 L 2 *", "0 0 29 2 */7"} {
		b.Run(text, func(b *testing.B) {
			w := When{Crons: []Expression{mustParse(b, text)}, Location: zone(b, "Europe/Berlin")}
			after := time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC)
			for b.Loop() {
				w.Next(after)
			}
		})
	}
}

// Previous returns the last instant that Next finds.
func TestPreviousIsTheLastOfNext(t *testing.T) {
	const seed = 20261122
	random := rand.New(rand.NewPCG(seed, seed))
	found := 0
	for range 500 {
		w, at := randomWhen(t, random)
		got, ok := w.Previous(at)
		if !ok {
			continue
		}
		if next, _ := w.Next(got); !got.Before(at) || len(w.Slots(got)) == 0 || next.Before(at) {
			t.Fatalf("%v in %s before %v: got %v, and next is %v", w, w.Location, at, got, next)
		}
		if near := walk(w, at.Add(-3*time.Hour), at); len(near) > 0 && !near[len(near)-1].Equal(got) {
			t.Fatalf("%v in %s before %v: got %v, want %v", w, w.Location, at, got, near[len(near)-1])
		}
		found++
	}
	if found < 400 {
		t.Errorf("only %d of 500 had one", found)
	}
	never := When{Crons: []Expression{mustParse(t, "*/5 2 * MAR SUN#2")}, Location: zone(t, "America/New_York")}
	if got, ok := never.Previous(instant(t, "2060-01-01 00:00")); ok {
		t.Errorf("what is never due was due at %v", got)
	}
	minutely := When{Crons: []Expression{mustParse(t, "* * * * *")}}
	if got, ok := minutely.Previous(instant(t, "2026-01-01 00:00").Add(1)); !ok ||
		!got.Equal(instant(t, "2026-01-01 00:00")) {
		t.Errorf("a nanosecond after a minute: got %v", got)
	}
}

func TestForwardIsBackwardReversed(t *testing.T) {
	for _, text := range []string{"*/7 * * * *", "30 2 * * *", "15 1 25-31 10 *", "0 0 29 2 *"} {
		w := When{Crons: []Expression{mustParse(t, text)}, Location: zone(t, "Europe/Berlin")}
		from, to := instant(t, "2026-10-20 00:30"), instant(t, "2028-11-02 12:00")
		ahead, back := slices.Collect(w.Forward(from, to)), slices.Collect(w.Backward(from, to))
		slices.Reverse(back)
		if len(ahead) == 0 || !sameTimes(ahead, back) {
			t.Errorf("%s: %d ahead, %d back", text, len(ahead), len(back))
		}
	}
}

// BenchmarkForward goes through 28 years.
func BenchmarkForward(b *testing.B) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"* * * * *", "*/5 * * * *", "30 2 * * *"} {
		b.Run(text, func(b *testing.B) {
			w := When{Crons: []Expression{mustParse(b, text)}, Location: zone(b, "Europe/Berlin")}
			for b.Loop() {
				for range w.Forward(from, from.AddDate(28, 0, 0)) {
				}
			}
		})
	}
}
