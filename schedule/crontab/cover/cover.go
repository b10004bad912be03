// Package cover has what exports share: the times of a task as fields of numbers, which every
// reader of cron expressions takes alike, and names and settings of tasks. It is pure.
package cover

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/cron"
	"sched/schedule/crontab/export"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
)

// Times are fields of a cron expression: numbers, ranges and steps.
type Times struct {
	Minutes, Hours, Days, Months, Weekdays string
	Both                                   bool // a day must match both day fields; else either is enough
}

// String returns the five fields.
func (t Times) String() string {
	return strings.Join([]string{t.Minutes, t.Hours, t.Days, t.Months, t.Weekdays}, " ")
}

// A Cover is times that come in the minute of each slot, but for hours in which the clocks change.
type Cover struct {
	All     []Times
	Seconds bool // a slot is not at the beginning of its minute
	Starts  int  // in four years, with Idle
	Idle    int  // of them, how many come when nothing is due
}

// ErrNever is the error of a task that has no slot for four years.
var ErrNever = errors.New("it is not due in the next four years")

// Of returns times for a task. isTimer says that they are times of one timer of systemd: they may
// have Both, and a start that two of them have is one start.
func Of(w cron.When, now time.Time, isTimer bool) (c Cover, err error) {
	from := now.UTC().Truncate(24 * time.Hour)
	to := from.AddDate(4, 0, 0) // with a leap day
	slots, last := &fields{}, time.Time{}
	for at := range w.Forward(from, to) {
		minute := at.Truncate(time.Minute)
		c.Seconds = c.Seconds || !at.Equal(minute)
		if minute.Equal(last) {
			continue
		}
		slots.count++
		if _, before := at.Add(-3 * time.Hour).In(w.Location).Zone(); before == offsetAfter(w, at) {
			slots.add(minute.In(w.Location))
		}
		last = minute
	}
	if slots.count == 0 {
		return c, ErrNever
	}
	exact := w.Shift == 0 && w.Rule == nil && w.From.IsZero() && w.Until.IsZero() &&
		(isTimer || !haveCommonStart(w, from, to))
	for _, text := range w.Texts() {
		plain, ok := plainFields(text, w.Location)
		exact = exact && ok && (isTimer || !plain.Both)
		c.All = append(c.All, plain)
	}
	if exact {
		return c, nil
	}
	text, starts := slots.cover(from, to)
	c.All, c.Starts, c.Idle = []Times{text}, starts, max(0, starts-slots.count)
	return c, nil
}

// haveCommonStart reports whether two expressions are due at the same time.
func haveCommonStart(w cron.When, from, to time.Time) bool {
	if len(w.Crons) < 2 {
		return false
	}
	alone, all := w, w.Count(from, to)
	for i := range w.Crons {
		alone.Crons = w.Crons[i : i+1]
		all -= alone.Count(from, to)
	}
	return all != 0
}

func offsetAfter(w cron.When, at time.Time) int {
	_, after := at.Add(3 * time.Hour).In(w.Location).Zone()
	return after
}

// plainFields writes times that cron knows with numbers. To cron a day field that begins with a
// star must match, too.
func plainFields(text string, zone *time.Location) (t Times, ok bool) {
	inCron, ok := export.CronTimes(text, zone)
	if !ok {
		return t, false
	}
	times, err := vixie.Parse(inCron)
	if err != nil {
		return t, false
	}
	words := strings.Fields(inCron)
	numbers := strings.Fields(times.String())
	if len(words) == len(numbers) {
		t.Both = (words[2][0] == '*' || words[4][0] == '*') && numbers[2] != "*" && numbers[4] != "*"
		for i, word := range words[:2] {
			if shortStep().MatchString(word) {
				numbers[i] = word
			}
		}
	}
	t.Minutes, t.Hours, t.Days, t.Months, t.Weekdays = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
	return t, true
}

// shortStep is a step that all readers take alike.
var shortStep = humanize.Pattern(`^\*/[1-9]$|^\*/[1-2][0-9]$`)

// Fields are the values that slots have in each of the five fields, and how many slots there are.
type fields struct {
	count                                  int
	minutes, hours, days, months, weekdays set
}

type set map[int]bool

func (s *set) add(value int) {
	if *s == nil {
		*s = set{}
	}
	(*s)[value] = true
}

// list writes the values, with * for all of them.
func (s set) list(all int) string {
	if len(s) == all {
		return "*"
	}
	var words []string
	for _, value := range slices.Sorted(maps.Keys(s)) {
		words = append(words, strconv.Itoa(value))
	}
	return strings.Join(words, ",")
}

func (f *fields) add(at time.Time) {
	f.minutes.add(at.Minute())
	f.hours.add(at.Hour())
	f.days.add(at.Day())
	f.months.add(int(at.Month()))
	f.weekdays.add(int(at.Weekday()))
}

// cover returns the times with the fewest starts in a span that come at all slots, by the days of
// the month or the days of the week.
func (f *fields) cover(from, to time.Time) (t Times, starts int) {
	inMonth, inWeek := 0, 0
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		if f.months[int(day.Month())] && f.days[day.Day()] {
			inMonth++
		}
		if f.months[int(day.Month())] && f.weekdays[int(day.Weekday())] {
			inWeek++
		}
	}
	t = Times{Minutes: f.minutes.list(60), Hours: f.hours.list(24), Days: f.days.list(31),
		Months: f.months.list(12), Weekdays: "*"}
	count := inMonth
	if inWeek < inMonth {
		t.Days, t.Weekdays, count = "*", f.weekdays.list(7), inWeek
	}
	return t, count * len(f.minutes) * len(f.hours)
}
