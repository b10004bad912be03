package kubernetes

import (
	"errors"
	"fmt"
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

// schedulesOf returns the schedules of CronJobs that start at all slots: five fields of numbers,
// which every reader of cron expressions takes alike. extra says how often they also start when
// nothing is due.
func schedulesOf(w cron.When, now time.Time) (all []string, extra string, err error) {
	from := now.UTC().Truncate(24 * time.Hour)
	to := from.AddDate(4, 0, 0) // with a leap day
	slots := &fields{}
	for at := range w.Forward(from, to) {
		if at.Second() != 0 {
			return nil, "", errors.New("a CronJob knows no seconds")
		}
		if _, before := at.Add(-3 * time.Hour).In(w.Location).Zone(); before == offsetAfter(w, at) {
			slots.add(at.In(w.Location))
		}
	}
	if slots.count == 0 {
		return nil, "", errors.New("it is not due in the next four years")
	}
	exact := w.Shift == 0 && w.Rule == nil && w.From.IsZero() && w.Until.IsZero()
	for _, text := range w.Texts() {
		plain, ok := plainFields(text, w.Location)
		exact = exact && ok
		all = append(all, plain)
	}
	if exact {
		return all, "", nil
	}
	text, starts := slots.cover(from, to)
	if starts > slots.count {
		extra = fmt.Sprintf("no CronJob can say its times: containers start %d times in four years, "+
			"and in %d of them nothing is due", starts, starts-slots.count)
	}
	return []string{text}, extra, nil
}

func offsetAfter(w cron.When, at time.Time) int {
	_, after := at.Add(3 * time.Hour).In(w.Location).Zone()
	return after
}

// plainFields writes times that cron knows with numbers. To cron a day field that begins with a
// star must match, too; Kubernetes takes a step after it for a list, of which one day is enough.
func plainFields(text string, zone *time.Location) (numbersOnly string, ok bool) {
	inCron, ok := export.CronTimes(text, zone)
	if !ok {
		return "", false
	}
	times, err := vixie.Parse(inCron)
	if err != nil {
		return "", false
	}
	words := strings.Fields(inCron)
	numbers := strings.Fields(times.String())
	if len(words) == 5 && (words[2][0] == '*' || words[4][0] == '*') && numbers[2] != "*" && numbers[4] != "*" {
		return "", false
	}
	for i, word := range words {
		if shortStep().MatchString(word) && i < 2 && len(words) == len(numbers) {
			numbers[i] = word
		}
	}
	return strings.Join(numbers, " "), true
}

// shortStep is a step that all readers take alike.
var shortStep = humanize.Pattern(`^\*/[1-9]$|^\*/[1-2][0-9]$`)

// Fields are the values that slots have in each of the five fields.
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
	f.count++
	f.minutes.add(at.Minute())
	f.hours.add(at.Hour())
	f.days.add(at.Day())
	f.months.add(int(at.Month()))
	f.weekdays.add(int(at.Weekday()))
}

// cover returns the schedule with the fewest starts in a span that starts at all slots, by the days
// of the month or the days of the week.
func (f *fields) cover(from, to time.Time) (text string, starts int) {
	inMonth, inWeek := 0, 0
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		if f.months[int(day.Month())] && f.days[day.Day()] {
			inMonth++
		}
		if f.months[int(day.Month())] && f.weekdays[int(day.Weekday())] {
			inWeek++
		}
	}
	days, weekdays, count := f.days.list(31), "*", inMonth
	if inWeek < inMonth {
		days, weekdays, count = "*", f.weekdays.list(7), inWeek
	}
	text = strings.Join([]string{f.minutes.list(60), f.hours.list(24), days, f.months.list(12), weekdays}, " ")
	return text, count * len(f.minutes) * len(f.hours)
}
