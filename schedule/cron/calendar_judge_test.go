package cron_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sched/schedule/calendar"
	"sched/schedule/cron"
	"sched/schedule/every"
	"sched/testing/machine"
)

// The judge knows working days from the words of docs/schedule-yaml.md alone. It makes sets of
// dates as texts, goes from day to day, and shares no code with packages cron and calendar.

type judge struct {
	off, yearly, extra map[string]bool
	weekdays           [7]bool
	through            string
}

const form = "2006-01-02"

func (j judge) works(day time.Time) bool {
	date := day.Format(form)
	known := j.through == "" || date <= j.through
	switch {
	case known && j.extra[date]:
		return true
	case known && (j.off[date] || j.yearly[date[5:]]):
		return false
	}
	return j.weekdays[day.Weekday()]
}

// A verdict is what the judge says of a day that is due: which day was meant. Itself, if skipped.
type verdict struct{ due, meant string }

func (j judge) judge(from, to time.Time, meant func(time.Time) bool, move string) (verdicts []verdict) {
	moved := map[string][]string{} // the days that move to a day
	for day := from.AddDate(0, 0, -60); day.Before(to.AddDate(0, 0, 60)); day = day.AddDate(0, 0, 1) {
		if !meant(day) {
			continue
		}
		date, target := day.Format(form), day
		if step := j.target(day, move); step != nil {
			target = *step
		}
		moved[target.Format(form)] = append(moved[target.Format(form)], date)
	}
	for due, days := range moved {
		owner := days[len(days)-1]
		if i := slices.IndexFunc(days, func(d string) bool { return d > due }); i > 0 {
			owner = days[i-1]
		} else if i == 0 {
			owner = days[0]
		}
		for _, d := range days {
			at := d // it stays where it is, and is skipped
			if d == owner {
				at = due
			}
			if at >= from.Format(form) && at < to.Format(form) {
				verdicts = append(verdicts, verdict{at, d})
			}
		}
	}
	slices.SortFunc(verdicts, func(a, b verdict) int { return strings.Compare(a.due, b.due) })
	return verdicts
}

// target returns the day to which a day moves; nil if it stays.
func (j judge) target(day time.Time, move string) *time.Time {
	if j.works(day) || move == "skip" {
		return nil
	}
	walk := func(step int) *time.Time {
		for d := day.AddDate(0, 0, step); ; d = d.AddDate(0, 0, step) {
			if j.works(d) {
				return &d
			}
		}
	}
	way, inMonth := strings.CutSuffix(move, " in month")
	one, other := walk(1), walk(-1)
	if way == "previous" {
		one, other = other, one
	}
	if inMonth && one.Month() != day.Month() && other.Month() == day.Month() {
		return other
	}
	return one
}

// nth says whether a day is the n-th working day of its period, from its end if n is negative, so
// many working days later or earlier.
func (j judge) nth(n, offset int, period string) func(time.Time) bool {
	key := func(d time.Time) string {
		week := d.AddDate(0, 0, -(int(d.Weekday())+6)%7)
		return map[string]string{"week": week.Format(form), "month": d.Format("2006-01"), "year": d.Format("2006"),
			"quarter": fmt.Sprint(d.Year(), (d.Month()-1)/3)}[period]
	}
	set, all, periods := map[string]bool{}, []time.Time{}, map[string][]int{}
	for d := day("2019-01-01"); d.Before(day("2060-01-01")); d = d.AddDate(0, 0, 1) {
		if j.works(d) {
			periods[key(d)] = append(periods[key(d)], len(all))
			all = append(all, d)
		}
	}
	for _, days := range periods {
		i := n - 1
		if n < 0 {
			i = len(days) + n
		}
		if i >= 0 && i < len(days) && days[i]+offset >= 0 && days[i]+offset < len(all) {
			set[all[days[i]+offset].Format(form)] = true
		}
	}
	return func(d time.Time) bool { return set[d.Format(form)] }
}

func day(text string) time.Time {
	d, _ := time.Parse(form, text)
	return d
}

var judgeZones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe",
	"America/Sao_Paulo", "Pacific/Auckland", "Africa/Cairo", "Asia/Kathmandu", "Pacific/Honolulu"}

func TestAJudgeAgreesOnWorkingDays(t *testing.T) {
	schedules := 30
	if machine.Full {
		schedules = 2000
	}
	for seed := range schedules {
		r := rand.New(rand.NewPCG(uint64(seed), 60))
		zone, err := time.LoadLocation(judgeZones[seed%len(judgeZones)])
		if err != nil {
			t.Skip(err)
		}
		from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		to := from.AddDate(28, 0, 0)
		var judges []judge
		var set calendar.Set
		for range 1 + r.IntN(2) {
			j, c := randomCalendar(r, from)
			judges, set = append(judges, j), append(set, c)
		}
		all := judges[0]
		if len(judges) > 1 { // a day must be one in all
			all = both(judges, from)
		}
		text, meant := randomTimes(r, all)
		move := calendar.Moves[r.IntN(len(calendar.Moves))]
		when, hour := cron.When{Location: zone}, r.IntN(24)
		if crons, err := every.Parse(fmt.Sprintf("%s at %d:30", text, hour)); err == nil {
			when.Crons = crons
		} else if c, err := cron.Parse(fmt.Sprintf("30 %d %s", hour, text), ""); err == nil {
			when.Crons = []cron.Expression{c}
		} else {
			t.Fatalf("%q: %v", text, err)
		}
		when = when.By(&calendar.Rule{Set: set, Move: calendar.Move(move)})
		var got []verdict
		for at := range when.Forward(from.AddDate(0, 0, -2), to.AddDate(0, 0, 2)) {
			date := at.In(zone).Format(form)
			if date < from.Format(form) || date >= to.Format(form) {
				continue
			}
			got = append(got, verdict{date, when.Meaning(at).Day})
			if (when.Skips(at) == "") != all.works(day(date)) {
				t.Fatalf("seed %d: %s: skips %q", seed, date, when.Skips(at))
			}
			if shown := at.In(zone).Format("15:04"); shown != fmt.Sprintf("%02d:30", hour) {
				if _, skipped := cron.WallClock(day(date).Add(time.Duration(hour)*time.Hour+30*time.Minute), zone); !skipped {
					t.Fatalf("seed %d: %s at %s", seed, date, shown)
				}
			}
		}
		want := all.judge(from, to, meant, move)
		if !slices.Equal(got, want) {
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Fatalf("seed %d: %s, %s in %s: %v, want %v", seed, text, move, zone, got[min(i, len(got)-1)], want[i])
				}
			}
			t.Fatalf("seed %d: %s, %s in %s: %d, want %d", seed, text, move, zone, len(got), len(want))
		}
	}
}

func randomCalendar(r *rand.Rand, from time.Time) (judge, *calendar.Calendar) {
	j := judge{off: map[string]bool{}, yearly: map[string]bool{}, extra: map[string]bool{}}
	c := &calendar.Calendar{Name: "x", Holidays: calendar.Holidays{}, Extra: calendar.Holidays{}}
	for range 3 + r.IntN(200) {
		d := from.AddDate(0, 0, r.IntN(28*365))
		for range 1 + r.IntN(4) {
			j.off[d.Format(form)], c.Holidays[calendar.DateOf(d)] = true, ""
			d = d.AddDate(0, 0, 1)
		}
	}
	for range r.IntN(9) {
		d := day("2024-01-01").AddDate(0, 0, r.IntN(366))
		j.yearly[d.Format("01-02")], c.Holidays[calendar.Date{Month: d.Month(), Day: d.Day()}] = true, "every year"
	}
	for range r.IntN(60) {
		d := from.AddDate(0, 0, r.IntN(28*365))
		j.extra[d.Format(form)], c.Extra[calendar.DateOf(d)] = true, ""
	}
	for i := range 7 {
		if r.IntN(4) > 0 || i == 3 {
			j.weekdays[i] = true
			c.Weekdays |= 1 << i
		}
	}
	if r.IntN(3) == 0 {
		d := from.AddDate(r.IntN(28), r.IntN(12), 0)
		j.through, c.Through = d.Format(form), calendar.DateOf(d)
	}
	return j, c
}

// both returns the judge of the days that are working days to all judges.
func both(judges []judge, from time.Time) judge {
	all := judge{weekdays: [7]bool{true, true, true, true, true, true, true}, off: map[string]bool{}}
	for d := from.AddDate(-10, 0, 0); d.Before(from.AddDate(60, 0, 0)); d = d.AddDate(0, 0, 1) {
		if slices.ContainsFunc(judges, func(j judge) bool { return !j.works(d) }) {
			all.off[d.Format(form)] = true
		}
	}
	return all
}

// randomTimes returns times as the file has them, and which days they mean.
func randomTimes(r *rand.Rand, j judge) (text string, meant func(time.Time) bool) {
	n := 1 + r.IntN(28)
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("%d * *", n), func(d time.Time) bool { return d.Day() == n }
	case 1:
		return fmt.Sprintf("* * %d", n%7), func(d time.Time) bool { return int(d.Weekday()) == n%7 }
	case 2:
		return "day", func(time.Time) bool { return true }
	case 3:
		first := day("2023-01-01")
		return strconv.Itoa(n) + " days from 2023-01-01", func(d time.Time) bool {
			return int(d.Sub(first)/(24*time.Hour))%n == 0
		}
	}
	period := []string{"week", "month", "quarter", "year"}[r.IntN(4)]
	n = 1 + r.IntN(5)
	text = []string{"first", "second", "third", "fourth", "fifth"}[n-1]
	switch {
	case r.IntN(2) == 0 && n == 1:
		text, n = "last", -1
	case r.IntN(2) == 0:
		text, n = text+" last", -n
	}
	offset := 0
	text = strings.Replace(text, "first last", "last", 1) + " working day of " + period
	if r.IntN(2) == 0 {
		offset = 1 + r.IntN(8)
		text = fmt.Sprintf("%d working days after %s", offset, text)
		if r.IntN(2) == 0 {
			text, offset = strings.Replace(text, "after", "before", 1), -offset
		}
	}
	return text, j.nth(n, offset, period)
}
