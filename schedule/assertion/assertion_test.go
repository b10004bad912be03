package assertion_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/assertion"
	"sched/schedule/load"
)

// The clocks of Berlin and New York change within these five weeks.
var (
	assertFrom = time.Date(2026, 9, 28, 9, 17, 0, 0, time.UTC)
	assertTo   = assertFrom.AddDate(0, 0, 40)
)

func asserting(t *testing.T, text string) *schedule.Schedule {
	t.Helper()
	s, err := load.Text([]byte(text), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnAssertionNamesTheFirstInstantThatBreaksIt(t *testing.T) {
	const tasks = `
timezone: Europe/Berlin
tasks:
  - {name: backup, every: 'day at 2:30', command: x, tags: heavy}
  - {name: report, every: 'day at 4:00', command: x, tags: heavy}
  - {name: weekly, every: 'sunday at 2:30', command: x, tags: [heavy, rare]}
  - {name: office, every: '10 minutes', between: ['8:00', '17:50'], days: weekdays, command: x}
  - {name: off, every: hour, enabled: false, command: x}
  - {name: late, every: 'day at 23:50', command: x}
  - {name: boot, cron: '@reboot', command: x}
assert: `
	for _, test := range []struct{ assertion, why string }{
		{"backup starts between 01:00 and 05:00 every day", ""},
		{"backup starts between 01:00 and 05:00 Europe/Berlin every day", ""},
		// the clocks went back
		{"backup starts between 00:30 and 01:00 UTC", "backup starts outside 0:30-1:00 on Mon 2026-10-26 01:30 UTC"},
		{"weekly starts between 01:00 and 05:00 every Sunday", ""},
		{"weekly starts between 01:00 and 05:00 every day", "weekly does not start inside 1:00-5:00 on Tue 2026-09-29"},
		{"weekly starts between 01:00 and 05:00 every Monday",
			"weekly does not start inside 1:00-5:00 on Mon 2026-10-05"},
		{"late starts between 22:00 and 4:00 every day", ""},
		{"late starts between 22:00 and 23:00 every day",
			"late starts outside 22:00-23:00 on Mon 2026-09-28 23:50 CEST"},
		{"office never starts between 18:00 and 7:59", ""},
		{"office never starts between 00:00 and 23:59 on Saturdays", ""},
		{"office never starts between 12:00 and 13:00 on weekdays",
			"office starts inside 12:00-13:00 on Mon 2026-09-28 12:00 CEST"},
		{"report starts after backup", ""},
		{"backup starts after report", "report has not started on the day when backup does on Tue 2026-09-29 02:30 CEST"},
		// which has two hours from 2 to 3
		{"report starts within 90m after backup", "backup does not start within 1 h 30 m before report does on Sun 2026-10-25 04:00 CET"},
		{"report starts within 150m after backup", ""},
		{"report starts within 1h after backup",
			"backup does not start within 1 h 0 m before report does on Tue 2026-09-29 04:00 CEST"},
		{"never more than 2 of tag heavy in one minute", ""},
		{"never more than 1 of tag heavy in one minute",
			"2 starts of tag heavy within one minute, the last one on Sun 2026-10-04 02:30 CEST"},
		{"never more than 9 of all tasks in one hour", ""},
		{"never more than 2 of tag heavy in 91m",
			"3 starts of tag heavy within 91m, the last one on Sun 2026-10-04 04:00 CEST"},
		{"weekly runs at least every 7 days", ""},
		// an hour longer
		{"weekly runs at least every 168h", "weekly does not start in the 168h after Sun 2026-10-25 02:30 CEST"},
		{"backup runs at least every day", ""},
		{"office runs at least every day", "office does not start in the day after Fri 2026-10-02 17:50 CEST"},
		{"off runs at least every day", "off is switched off"},
		{"boot runs at least every day", "boot has no times in this file"},
		{"nobody runs at least every day", "no task is called nobody"},
		{"never more than 1 of tag nobody in one day", "no task in use with the tag nobody has times in this file"},
	} {
		proof := assertion.Prove(asserting(t, tasks+fmt.Sprintf("[%s]", test.assertion)), assertFrom, assertTo)[0]
		why := ""
		if proof.Break != nil {
			why = proof.Break.Why
		}
		if (why == "") != (test.why == "") || !strings.HasPrefix(why, test.why) {
			t.Errorf("%s:\n got %q\nwant %q", test.assertion, why, test.why)
		}
	}
}

func TestAnAssertionAboutAllTasksBreaksWhereNoTaskHasTimes(t *testing.T) {
	t.Parallel()
	const text = `
tasks: [{name: boot, cron: '@reboot', command: x}]
assert: all tasks runs at least every day`
	broken := assertion.Prove(asserting(t, text), assertFrom, assertTo)[0].Break
	if want := "no task in use has times in this file"; broken == nil || broken.Why != want {
		t.Errorf("got %v, want %s", broken, want)
	}
}

// TestProofsAgreeWithAListOfAllStarts compares the proofs for random schedules with what a list of
// all starts says, which is made minute by minute.
func TestProofsAgreeWithAListOfAllStarts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(38, 28))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	held, broke := map[string]int{}, map[string]int{}
	for range 40 {
		text := "timezone: UTC\ntasks:\n"
		for _, name := range []string{"a", "b"} {
			text += fmt.Sprintf("  - {name: %s, command: x, tags: t, cron: '%s %s * * %s', timezone: %s, %s}\n", name,
				pick("0", "30", "*/20", "5"), pick("2", "1-3", "*/8", "23", "*"), pick("*", "0", "1-5"),
				pick("Europe/Berlin", "America/New_York", "Asia/Kathmandu"),
				pick("enabled: true", "days: weekdays", "between: ['1:00', '2:30']",
					"unless_between: ['23:00', '1:00']"))
		}
		starts := listStarts(asserting(t, text))
		if len(starts["a"]) == 0 || len(starts["b"]) == 0 {
			continue
		}
		window := assertedWindow{pick("00:00", "01:30", "22:00"), pick("02:00", "03:15", "23:59"),
			pick("UTC", "Europe/Berlin"), pick("day", "weekday", "Sunday")}
		length, count, days := pick("20m", "90m", "6h", "48h"), random.IntN(8), 1+random.IntN(7)
		span, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		for form, judged := range map[string]struct {
			text   string
			breaks []time.Time
		}{
			"inside": {"a starts between " + window.words(), starts.outside("a", window)},
			"each day": {"a starts between " + window.words() + " every " + window.day,
				append(starts.outside("a", window), starts.without("a", window)...)},
			"never": {"tag t never starts between " + window.words() + " on " + window.day + "s",
				append(starts.inside("a", window), starts.inside("b", window)...)},
			"same day": {"a starts after b", starts.notOnTheDayOf("b", "a")},
			"within":   {"a starts within " + length + " after b", starts.notWithin(span, "b", "a")},
			"count": {fmt.Sprintf("never more than %d of all tasks in %s", count, length),
				starts.moreThan(count, span)},
			"each span": {"b runs at least every " + length, starts.longerThan(span, "b")},
			"each days": {fmt.Sprintf("b runs at least every %d days", days), starts.moreDaysThan(days, "b")},
		} {
			proof := assertion.Prove(asserting(t, text+"assert: "+judged.text), assertFrom, assertTo)[0]
			var want, got string
			if len(judged.breaks) > 0 {
				want = slices.MinFunc(judged.breaks, time.Time.Compare).UTC().String()
				broke[form]++
			} else {
				held[form]++
			}
			if proof.Break != nil {
				got = proof.Break.At.String()
			}
			if got != want {
				t.Fatalf("%sassert: %s\n got %q %+v\nwant %q", text, judged.text, got, proof.Break, want)
			}
		}
	}
	for form := range broke {
		if held[form] < 3 || broke[form] < 3 {
			t.Errorf("%s: held %d times and was broken %d times: the schedules are too much alike",
				form, held[form], broke[form])
		}
	}
}

// TestProofsByKindsOfDaysAreProofsByStarts compares the proofs, which judge each kind of day once,
// with proofs that judge each start.
func TestProofsByKindsOfDaysAreProofsByStarts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(56, 7))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	rounds := 25
	if testing.Short() {
		rounds = 10
	}
	held, broke := map[string]int{}, map[string]int{}
	for range rounds {
		text := "timezone: Europe/Berlin\nholidays: ['2026-10-03', 12-25, 12-26]\n" +
			"calendars: {c: {holidays: [2026-10-05, 2026-11-02, 2026-11-03, 12-25], weekdays: sun-thu}}\ntasks:\n"
		for _, name := range []string{"a", "b"} {
			when := fmt.Sprintf("cron: '%s %s %s %s * %s'", pick("0", "0", "*/30", "7,8"), pick("0", "30", "*/20", "*/7", "5"),
				pick("2", "1-3", "*/8", "*", "*", "23"), pick("*", "*", "*", "1", "*/2"), pick("*", "*", "*", "0", "1-5"))
			if random.IntN(5) == 0 {
				when = "every: '" + pick("90 minutes from 2026-01-05 06:00", "2 weeks from 2026-09-07 at 4:00",
					"3 days from 2026-09-07 at 2:30", "hour", "day at 2:30", "second last working day of week at 2:30") + "'"
			}
			calendar := "calendar: c, on_holiday: " + pick("next", "previous in month", "previous, spread: 40m")
			if strings.Contains(when, "minutes") {
				calendar = "calendar: c"
			}
			text += fmt.Sprintf("  - {name: %s, command: x, tags: t, %s, timezone: %s, %s}\n", name, when,
				pick("Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"),
				pick("enabled: true", "days: weekdays", "between: ['1:00', '2:30']", "except: holidays",
					"unless_between: ['23:00', '1:00']", "from: 2026-10-10 05:00", "until: 2026-12-24 17:00", "spread: 40m", calendar,
					"calendar: c"))
		}
		window := pick("00:00", "01:30", "22:00", "0:00") + " and " + pick("02:00", "03:15", "23:59", "23:59") +
			pick("", " UTC", " Europe/Berlin")
		day, length := pick("day", "weekday", "Sunday"), pick("45s", "20m", "90m", "6h", "48h", "100h", "600h")
		from := time.Date(2026, 9, 28, random.IntN(24), random.IntN(60), random.IntN(60), 0, time.UTC)
		for form, assert := range map[string]string{
			"inside":    "a starts between " + window,
			"each day":  "a starts between " + window + " every " + day,
			"never":     "tag t never starts between " + window + " on " + day + "s",
			"same day":  "a starts after b",
			"within":    "a starts within " + length + " after b",
			"count":     fmt.Sprintf("never more than %d of all tasks in %s", 1<<random.IntN(12), length),
			"each span": "b runs at least every " + length,
			"each days": fmt.Sprintf("b runs at least every %d days", 1+random.IntN(20)),
		} {
			s := asserting(t, text+"assert: "+assert)
			to := from.AddDate(0, 0, 50+random.IntN(120)).Add(1500 * time.Millisecond)
			got, want := assertion.Prove(s, from, to)[0].Break, assertion.SlowProof(assert, s, from, to)
			if (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Fatalf("%sassert: %s from %s to %s\n got %+v\nwant %+v", text, assert, from, to, got, want)
			}
			if got == nil {
				held[form]++
			} else {
				broke[form]++
			}
		}
	}
	t.Log(held, broke)
	for form := range broke {
		if !testing.Short() && (held[form] < 2 || broke[form] < 2) {
			t.Errorf("%s: held %d times and was broken %d times: the schedules are too much alike",
				form, held[form], broke[form])
		}
	}
}

// startList has the starts of each task, from three days before assertFrom until assertTo.
type startList map[string][]start

type start struct {
	at   time.Time
	zone *time.Location // of its task
}

func listStarts(s *schedule.Schedule) startList {
	starts := startList{}
	for minute := assertFrom.AddDate(0, 0, -3); minute.Before(assertTo); minute = minute.Add(time.Minute) {
		for _, slot := range s.Due(minute) {
			if slot.Task.UnmetCondition(slot.At) == "" {
				starts[slot.Task.Name] = append(starts[slot.Task.Name], start{slot.At, slot.Task.When.Location})
			}
		}
	}
	return starts
}

// judged returns the starts of the task from assertFrom on.
func (l startList) judged(task string) []start {
	return slices.DeleteFunc(slices.Clone(l[task]), func(s start) bool { return s.at.Before(assertFrom) })
}

func dateIn(at time.Time, zone *time.Location) string { return at.In(zone).Format(time.DateOnly) }

// An assertedWindow is a window as an assertion has it. It may go past midnight.
type assertedWindow struct{ from, to, zone, day string }

func (w assertedWindow) words() string { return w.from + " and " + w.to + " " + w.zone }

func (w assertedWindow) location() *time.Location {
	zone, err := time.LoadLocation(w.zone)
	if err != nil {
		panic(err)
	}
	return zone
}

// holds returns the date on which the window began that holds the instant, or "".
func (w assertedWindow) holds(at time.Time) string {
	clock, date := at.In(w.location()).Format("15:04"), dateIn(at, w.location())
	switch {
	case w.from <= w.to && w.from <= clock && clock <= w.to, w.from > w.to && w.from <= clock:
		return date
	case w.from > w.to && clock <= w.to:
		day, _ := time.Parse(time.DateOnly, date)
		return day.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return ""
}

// means reports whether the window is meant to begin on the date.
func (w assertedWindow) means(date string) bool {
	day, _ := time.Parse(time.DateOnly, date)
	switch w.day {
	case "day":
		return true
	case "weekday":
		return day.Weekday() != time.Saturday && day.Weekday() != time.Sunday
	}
	return day.Weekday().String() == w.day
}

func (l startList) outside(task string, w assertedWindow) (breaks []time.Time) {
	for _, s := range l.judged(task) {
		if w.holds(s.at) == "" {
			breaks = append(breaks, s.at)
		}
	}
	return breaks
}

func (l startList) inside(task string, w assertedWindow) (breaks []time.Time) {
	for _, s := range l.judged(task) {
		if date := w.holds(s.at); date != "" && w.means(date) {
			breaks = append(breaks, s.at)
		}
	}
	return breaks
}

// without returns the ends of windows that hold no start, of whole days.
func (l startList) without(task string, w assertedWindow) (breaks []time.Time) {
	held := map[string]bool{}
	for _, s := range l.judged(task) {
		held[w.holds(s.at)] = true
	}
	day, _ := time.Parse(time.DateOnly, dateIn(assertFrom, w.location()))
	last := dateIn(assertTo.AddDate(0, 0, -1), w.location())
	for day = day.AddDate(0, 0, 1); day.Format(time.DateOnly) < last; day = day.AddDate(0, 0, 1) {
		if date := day.Format(time.DateOnly); w.means(date) && !held[date] {
			if w.from > w.to {
				date = day.AddDate(0, 0, 1).Format(time.DateOnly)
			}
			end, _ := time.ParseInLocation("2006-01-02 15:04", date+" "+w.to, w.location())
			breaks = append(breaks, end)
		}
	}
	return breaks
}

func (l startList) notOnTheDayOf(before, task string) (breaks []time.Time) {
	for _, s := range l.judged(task) {
		if !slices.ContainsFunc(l[before],
			func(b start) bool { return b.at.Before(s.at) && dateIn(b.at, s.zone) == dateIn(s.at, s.zone) }) {
			breaks = append(breaks, s.at)
		}
	}
	return breaks
}

func (l startList) notWithin(span time.Duration, before, task string) (breaks []time.Time) {
	for _, s := range l.judged(task) {
		if !slices.ContainsFunc(l[before], func(b start) bool { return b.at.Before(s.at) && s.at.Sub(b.at) <= span }) {
			breaks = append(breaks, s.at)
		}
	}
	return breaks
}

func (l startList) moreThan(count int, span time.Duration) (breaks []time.Time) {
	all := append(l.judged("a"), l.judged("b")...)
	for _, last := range all {
		n := 0
		for _, s := range all {
			if !s.at.After(last.at) && last.at.Sub(s.at) < span {
				n++
			}
		}
		if n > count {
			breaks = append(breaks, last.at)
		}
	}
	return breaks
}

// between calls long with each start of the task and the next one, the ends of the span included.
func (l startList) between(task string, long func(last, next time.Time) bool) (breaks []time.Time) {
	points := []time.Time{assertFrom}
	for _, s := range l.judged(task) {
		points = append(points, s.at)
	}
	for i, next := range append(points, assertTo)[1:] {
		if long(points[i], next) {
			breaks = append(breaks, points[i])
		}
	}
	return breaks
}

func (l startList) longerThan(span time.Duration, task string) []time.Time {
	return l.between(task, func(last, next time.Time) bool { return next.Sub(last) > span })
}

func (l startList) moreDaysThan(days int, task string) []time.Time {
	return l.between(task, func(last, next time.Time) bool {
		zone := l[task][0].zone
		from, _ := time.Parse(time.DateOnly, dateIn(last, zone))
		to, _ := time.Parse(time.DateOnly, dateIn(next, zone))
		return to.Sub(from) > time.Duration(days)*24*time.Hour
	})
}
