package dialect

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/machine/oncalendar"
)

// A Line says when a task of a schedule.yaml is due: the values of its keys, each "" or nil if the
// task has no such key.
type Line struct {
	Cron     string
	Every    string
	Timezone string
	Days     []string // weekdays: mon
	From     string   // a date
	Until    string
	Notes    []string // what is not quite the same
}

// Keys returns the keys as YAML, each with its value: `days: [mon, tue]`.
func (l Line) Keys() (keys []string) {
	add := func(key, value string) {
		if value != "" {
			keys = append(keys, key+": "+value)
		}
	}
	add("cron", quoted(l.Cron))
	add("every", l.Every)
	add("timezone", l.Timezone)
	if l.Days != nil {
		add("days", "["+strings.Join(l.Days, ", ")+"]")
	}
	add("from", l.From)
	add("until", l.Until)
	return keys
}

// String returns the keys on one line.
func (l Line) String() string { return strings.Join(l.Keys(), ", ") }

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return `"` + text + `"`
}

// schedRules are the rules of sched itself; a test compares them with package cron.
var schedRules = rules{
	layouts: []string{"mhdMw", "smhdMw"}, weekdays: [2]int{0, 7}, sundayEnds: true, question: "dw", plus: true,
	forms: "L L-3 LW 15W 5L 5#2 5#L", lone: toEnd, either: true, free: freeBegin, fixed: schedFixed, stars: schedStars,
}

// The rules of sched, and of Vixie cron, at changes of the clocks.
var (
	schedFixed = clockRule{gap: endOfGap, overlap: firstPass}
	schedStars = clockRule{}
)

// sampleYears are years in which expressions are compared: as many as the calendar has.
const sampleFirst, sampleLast = 2026, 2053

// lineOfTimes returns the line of fields. It has the text itself, if sched reads it in the same
// way, and else the values of the fields.
func lineOfTimes(text string, t *times, clock clockRule) (Line, error) {
	var line Line
	if err := line.setYears(t.of('y')); err != nil {
		return line, err
	}
	plain := *t
	plain.of('y').years = nil
	plain.of('d').values &^= 1 // no month has a day 0
	from := time.Date(sampleFirst, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	if _, ok := plain.find(from, from+28*366*daySeconds); !ok {
		return line, errors.New("it is never due")
	}
	for _, f := range t.of('d').forms {
		if f.kind == workdayBeforeLast && f.n > 0 {
			return line, errors.New("a working day that is so many days before the last has no expression")
		}
	}
	candidates := []string{text, write(&plain, asTheyAre), write(&plain, likeStars), write(&plain, likeFixed)}
	for _, sameClock := range []bool{true, false} {
		for _, candidate := range candidates {
			ours, ok := readOurs(candidate)
			if !ok || !ours.sameTimes(&plain) || !ours.sameDays(&plain, sampleFirst, sampleLast) {
				continue
			}
			if line.Cron = candidate; !sameClock || ourClock(&ours) == clock {
				return line, nil
			}
		}
	}
	return line, errors.New("no cron expression has these days")
}

// readOurs reads an expression as sched does, if it does.
func readOurs(text string) (times, bool) {
	words := strings.Fields(text)
	for _, layout := range schedRules.layouts {
		if len(layout) == len(words) {
			t, err := readTimes(&schedRules, layout, words)
			return t, err == nil
		}
	}
	return times{}, false
}

func ourClock(t *times) clockRule {
	if t.starred() {
		return schedStars
	}
	return schedFixed
}

// setYears sets from and until.
func (l *Line) setYears(f *field) error {
	first, last := 0, 0
	for year := firstYear; year <= lastYear && f.years != nil; year++ {
		switch {
		case !f.years[year]:
		case first == 0:
			first, last = year, year
		case last != year-1:
			return errors.New("its years are not in a row")
		default:
			last = year
		}
	}
	if first > firstYear {
		l.From = fmt.Sprintf("%d-01-01", first)
	}
	if f.years != nil && first == 0 {
		return errors.New("it is never due")
	}
	if first > 0 && last < lastYear {
		l.Until = fmt.Sprintf("%d-01-01", last+1)
	}
	return nil
}

// A style says how fields are written, because sched asks whether minute or hour begin with *.
type style int

const (
	asTheyAre style = iota
	likeStars       // */15 for 0,15,30,45
	likeFixed       // 0-59 for *
)

// write writes fields for sched.
func write(t *times, style style) string {
	var words []string
	if seconds := t.of('s'); seconds.values != 1 {
		words = append(words, list(seconds, 's', asTheyAre))
	}
	words = append(words, list(t.of('m'), 'm', style), list(t.of('h'), 'h', style))
	day, weekday := list(t.of('d'), 'd', likeFixed), list(t.of('w'), 'w', likeFixed)
	isFull := func(letter byte) bool { return t.of(letter).values == kinds[indexOf(letter)].full() }
	switch {
	case t.either:
	case isFull('d') && isFull('w'):
		day, weekday = "*", "*"
	case isFull('w'):
		weekday = "*"
	case isFull('d'):
		day = "*"
	default:
		weekday = "+" + weekday
	}
	return strings.Join(append(words, day, list(t.of('M'), 'M', asTheyAre), weekday), " ")
}

// list writes the values of a field, and its forms.
func list(f *field, letter byte, style style) string {
	k := kinds[indexOf(letter)]
	name := func(n int) string {
		if k.names != nil {
			return strings.ToUpper(k.names[n-k.low][:3])
		}
		return fmt.Sprint(n)
	}
	if f.values == k.full() && style != likeFixed {
		return "*"
	}
	if step, first, last := stepOf(f.values); step > 1 && len(f.forms) == 0 && k.names == nil {
		if first == k.low && last+step > k.high && style != likeFixed {
			return fmt.Sprintf("*/%d", step)
		}
		return fmt.Sprintf("%d-%d/%d", first, last, step)
	}
	var parts []string
	for n := k.low; n <= k.high; n++ {
		if f.values>>n&1 == 0 {
			continue
		}
		first := n
		for n < k.high && f.values>>(n+1)&1 == 1 {
			n++
		}
		switch {
		case n-first > 1:
			parts = append(parts, name(first)+"-"+name(n))
		case n > first:
			parts = append(parts, name(first), name(n))
		default:
			parts = append(parts, name(n))
		}
	}
	for _, form := range f.forms {
		parts = append(parts, form.text())
	}
	return strings.Join(parts, ",")
}

// stepOf returns the step of four or more values that lie equally far from each other; else 0.
func stepOf(values uint64) (step, first, last int) {
	var all []int
	for n := range 64 {
		if values>>n&1 == 1 {
			all = append(all, n)
		}
	}
	if len(all) < 4 {
		return 0, 0, 0
	}
	step = all[1] - all[0]
	for i, n := range all {
		if n != all[0]+i*step {
			return 0, 0, 0
		}
	}
	return step, all[0], all[len(all)-1]
}

// maxEvery is the longest span that gets a line.
const maxEvery = 366 * 24 * time.Hour

// lineOfEvery returns the line of a span of time.
func lineOfEvery(every time.Duration) (Line, error) {
	line := Line{Notes: []string{"it counts from the start of its program, and sched by the clock"}}
	words, ok := humanize.Every(every)
	switch {
	case !ok:
		return line, fmt.Errorf("sched has no span of %s: only minutes, and parts of one such as 20 seconds", every)
	case every > maxEvery:
		return line, fmt.Errorf("sched has no span of %s: it is longer than a year", every)
	}
	line.Every = words
	return line, nil
}

// lineOfCalendar returns the line of a calendar expression of systemd.
func lineOfCalendar(spec oncalendar.Spec) (Line, error) {
	c, err := oncalendar.CronOf(spec)
	line := Line{Cron: c.Expression, Days: c.Days, Timezone: spec.Zone()}
	if err == nil && c.First > 0 {
		line.From, line.Until = fmt.Sprintf("%d-01-01", c.First), fmt.Sprintf("%d-01-01", c.Last+1)
	}
	return line, err
}
