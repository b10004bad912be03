package cron

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/testing/machine"
)

// This file is a second cron, written from crontab(5) alone: it shares no code with the package and
// does not use gronx. It walks through every minute, and remembers which times the wall clock has
// shown.

var bruteZones = []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago",
	"Pacific/Apia", "Asia/Kathmandu", "Africa/Casablanca"}

type brute struct {
	minutes, hours, months map[int]bool
	days, weekdays         string                    // evaluated on each day
	dates                  func(date time.Time) bool // if not nil, it replaces days, months and weekdays
	fixed, both            bool
}

func newBrute(text string) brute {
	f := strings.Fields(text)
	star := func(s string) bool { return s == "?" || strings.HasPrefix(s, "*") }
	return brute{
		minutes: bruteSet(f[0], 0, 59), hours: bruteSet(f[1], 0, 23), months: bruteSet(f[3], 1, 12),
		days: f[2], weekdays: f[4],
		fixed: !star(f[0]) && !star(f[1]), both: !star(f[2]) && !star(f[4]),
	}
}

// bruteSet lists the values of a field by counting.
func bruteSet(field string, low, high int) map[int]bool {
	set := map[int]bool{}
	for _, e := range strings.Split(field, ",") {
		from, to, step := low, high, 1
		span, stepText, stepped := strings.Cut(e, "/")
		if stepped {
			step, _ = strconv.Atoi(stepText)
		}
		if span != "*" && span != "?" {
			a, b, ranged := strings.Cut(span, "-")
			from = bruteValue(a)
			switch {
			case ranged:
				to = bruteValue(b)
				if to == 0 && from > 0 { // FRI-SUN
					to = 7
				}
			case !stepped:
				to = from
			}
		}
		for v := from; v <= to; v += step {
			set[v] = true
		}
	}
	return set
}

func bruteValue(s string) int {
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(s, m.String()[:3]) {
			return int(m)
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()[:3]) {
			return int(d)
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func (b brute) dateDue(date time.Time) bool {
	switch {
	case b.dates != nil:
		return b.dates(date)
	case !b.months[int(date.Month())]:
		return false
	}
	day, weekday := false, false
	for _, e := range strings.Split(b.days, ",") {
		day = day || bruteDay(e, date)
	}
	for _, e := range strings.Split(b.weekdays, ",") {
		weekday = weekday || bruteWeekday(e, date)
	}
	if b.both {
		return day || weekday
	}
	return day && weekday
}

func bruteDay(e string, date time.Time) bool {
	last := date.AddDate(0, 1, -date.Day()).Day()
	number, nearest := strings.CutSuffix(e, "W")
	switch {
	case e == "L":
		return date.Day() == last
	case e == "LW": // the last day that is neither Saturday nor Sunday
		d := time.Date(date.Year(), date.Month(), last, 0, 0, 0, 0, time.UTC)
		for d.Weekday() == time.Saturday || d.Weekday() == time.Sunday {
			d = d.AddDate(0, 0, -1)
		}
		return date.Day() == d.Day()
	case nearest:
		n, _ := strconv.Atoi(number)
		if n > last {
			return false
		}
		d := time.Date(date.Year(), date.Month(), n, 0, 0, 0, 0, time.UTC)
		switch {
		case d.Weekday() == time.Saturday && n == 1:
			n = 3
		case d.Weekday() == time.Saturday:
			n--
		case d.Weekday() == time.Sunday && n == last:
			n -= 2
		case d.Weekday() == time.Sunday:
			n++
		}
		return date.Day() == n
	}
	return bruteSet(e, 1, 31)[date.Day()]
}

func bruteWeekday(e string, date time.Time) bool {
	if day, nth, ok := strings.Cut(e, "#"); ok {
		n, _ := strconv.Atoi(nth)
		return bruteValue(day)%7 == int(date.Weekday()) && (date.Day()+6)/7 == n
	}
	if day, ok := strings.CutSuffix(e, "L"); ok {
		return bruteValue(day)%7 == int(date.Weekday()) && date.AddDate(0, 0, 7).Month() != date.Month()
	}
	set := bruteSet(e, 0, 6)
	return set[int(date.Weekday())] || date.Weekday() == time.Sunday && set[7]
}

// bruteWalls returns the wall clock of each minute of a year, in minutes, from two days before it.
func bruteWalls(year int, location *time.Location) (start int64, walls []int64) {
	first := time.Date(year, 1, -1, 0, 0, 0, 0, time.UTC)
	end := time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := first; at.Before(end); at = at.Add(time.Minute) {
		_, offset := at.In(location).Zone()
		walls = append(walls, (at.Unix()+int64(offset))/60)
	}
	return first.Unix() / 60, walls
}

// instants returns the minutes of the walls at which b is due.
func (b brute) instants(start int64, walls []int64) (due []int64) {
	dates := map[int64]bool{}
	matches := func(wall int64) bool {
		if !b.minutes[int(wall%60)] || !b.hours[int(wall/60%24)] {
			return false
		}
		date := wall / 1440
		ok, cached := dates[date]
		if !cached {
			ok = b.dateDue(time.Unix(date*86400, 0).UTC())
			dates[date] = ok
		}
		return ok
	}
	shown := walls[0] - 1
	for i, wall := range walls {
		is := matches(wall)
		if b.fixed {
			is = false
			for w := shown + 1; w <= wall; w++ {
				is = is || matches(w)
			}
			shown = max(shown, wall)
		}
		if is {
			due = append(due, start+int64(i))
		}
	}
	return due
}

var bruteCrons = []string{
	"*/7 * * * *", "30 2 * * *", "0 1-3 * * *", "15 */2 * * *", "*/20 1,2 * * SUN", "5/15 8-18 * * MON-FRI",
	"0 0 13 * FRI", "0 12 */2 * MON", "45 23 1-7 * */2", "0 0 13 * *,5", "0 0 L * *",
	"30 1 LW * *", "0 9 15W,L * 1#2,5L",
	"0 0 31W,1W * *", "0 0 * * SAT-SUN", "0 0 * * 5-7/2", "0 0 * * 1/2", "15 2 8,29 3 *",
	"0 0 29 2 *", "0 3 * JAN,mar-OCT ?",
	"0 0 * * 1#1,1#3", "0 0 * * 0L", "0 0 * 1-12/3 1#1", "0 6 1W * *", "0 0 1 * 1#1",
	"0 0 15,LW * 5#1,5L", "0 0 L,LW * *",
}

// Both crons find the same instants in a whole year. 2024 and 2040 are leap years. 2040 is past the
// table of the zone files. In 2011 Apia had no 30 December.
func TestYearAgainstBruteForce(t *testing.T) {
	for year, zones := range map[int][]string{
		2026: bruteZones,
		2024: {"America/New_York", "Africa/Casablanca"},
		2040: {"Europe/Berlin", "Australia/Lord_Howe"},
		2011: {"Pacific/Apia"},
	} {
		for _, name := range zones {
			t.Run(fmt.Sprint(name, " ", year), func(t *testing.T) {
				t.Parallel()
				if year == 2024 || year == 2040 {
					machine.Slow(t)
				}
				start, walls := bruteWalls(year, zone(t, name))
				for _, text := range bruteCrons {
					compareYear(t, text, name, start, newBrute(text).instants(start, walls), len(walls))
				}
			})
		}
	}
}

func compareYear(t *testing.T, text, name string, start int64, want []int64, minutes int) {
	t.Helper()
	compareWhen(t, When{Crons: []Expression{mustParse(t, text)}, Location: zone(t, name)}, start, want, minutes)
}

// compareWhen compares w with the due minutes of the brute force, from the year on. The walls begin
// two days earlier: the brute force has not seen what the clock showed before them.
func compareWhen(t *testing.T, w When, start int64, want []int64, minutes int) {
	t.Helper()
	from := start + 2*1440
	for len(want) > 0 && want[0] < from {
		want = want[1:]
	}
	got := walk(w, time.Unix(from*60, 0), time.Unix((start+int64(minutes))*60, 0))
	for i := 0; i < max(len(got), len(want)); i++ {
		switch {
		case i >= len(got):
			t.Errorf("%q in %s: lacks %v", w, w.Location, time.Unix(want[i]*60, 0).UTC())
		case i >= len(want):
			t.Errorf("%q in %s: %v is too many", w, w.Location, got[i])
		case got[i].Unix() != want[i]*60:
			t.Errorf("%q in %s: got %v, want %v", w, w.Location, got[i], time.Unix(want[i]*60, 0).UTC())
		default:
			continue
		}
		return
	}
}

// Slots finds the same instants, minute by minute.
func TestSlotsOfAYearAgainstBruteForce(t *testing.T) {
	for name, text := range map[string]string{"America/New_York": "30 2 * * *", "Australia/Lord_Howe": "15 * * * *"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start, walls := bruteWalls(2026, zone(t, name))
			want := newBrute(text).instants(start, walls)
			w := When{Crons: []Expression{mustParse(t, text)}, Location: zone(t, name)}
			for m := start + 2*1440; m < start+int64(len(walls)); m++ {
				for len(want) > 0 && want[0] < m {
					want = want[1:]
				}
				due := len(want) > 0 && want[0] == m
				if got := w.Slots(time.Unix(m*60, 0)); (len(got) == 1) != due {
					t.Fatalf("%v: got %v, want due %v", time.Unix(m*60, 0).UTC(), got, due)
				}
			}
		})
	}
}
