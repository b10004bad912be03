package cron

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adhocore/gronx"
)

// This file alone asks gronx, and what it answers is kept as sets of values: of seconds, minutes, hours and months when
// an expression is parsed; of days when a month of that shape is first looked at. After that no text is read again.
//
// gronx is asked about one field at one time, because the rest of it does not follow crontab(5): its IsDue joins the two
// day fields by a rule that is only partly Vixie's, and its NextTickAfter gives up after 500 steps and returns a time
// that is not due.
//
// The answers are shared by all expressions of the process, since most of a schedule's expressions have the same few
// fields: parsing 10,000 tasks and finding the next slot of each is two to nine times as fast as asking gronx at each
// search (BenchmarkFirstNext). What is shared is bounded by the texts that people write, and is never dropped.

// answers are what gronx said so far. Safe for concurrent use.
type answers struct {
	mu     sync.Mutex
	values [len(cronFields)]map[string]set       // by element of a list; not of the day fields
	days   [len(cronFields)]map[string]*dayTable // by text of a field; of the day fields
}

var shared answers

// compile returns what the fields let through. For the same text of a day field it returns the same table, so that
// expressions can be compared with ==.
func (a *answers) compile(fields *canonicalFields) (times, dates) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := times{a.valuesOf(fields, secondField), a.valuesOf(fields, minuteField), a.valuesOf(fields, hourField)}
	d := dates{
		months: a.valuesOf(fields, monthField),
		days:   a.daysOf(fields, dayField), weekdays: a.daysOf(fields, weekdayField),
		either: fields.bothDays(),
	}
	return t, d
}

// valuesOf returns the due values of a field that is no day field. A list is due where one of its elements is, which is
// gronx's rule, too. The caller holds a.mu.
func (a *answers) valuesOf(fields *canonicalFields, pos int) (due set) {
	known := a.values[pos]
	if known == nil {
		known = map[string]set{}
		a.values[pos] = known
	}
	for element := range strings.SplitSeq(fields[pos], ",") {
		values, ok := known[element]
		if !ok {
			values = askValues(pos, element)
			known[element] = values
		}
		due |= values
	}
	return due
}

// daysOf returns the table of a day field. The caller holds a.mu.
func (a *answers) daysOf(fields *canonicalFields, pos int) *dayTable {
	known := a.days[pos]
	if known == nil {
		known = map[string]*dayTable{}
		a.days[pos] = known
	}
	table, ok := known[fields[pos]]
	if !ok {
		table = &dayTable{pos: pos, text: fields[pos]}
		known[fields[pos]] = table
	}
	return table
}

// askValues asks gronx about every value of a field that is no day field.
func askValues(pos int, element string) (due set) {
	f := &cronFields[pos]
	for v := f.min; v <= f.max; v++ {
		value := [len(cronFields)]int{dayField: 1, monthField: 1}
		value[pos] = v
		at := time.Date(2000, time.Month(value[monthField]), 1, value[hourField], value[minuteField], value[secondField], 0, time.UTC)
		if ask(pos, element, at) {
			due |= 1 << v
		}
	}
	return due
}

// A dayTable holds the due days of a day field for every shape of a month: L, W and # mean other days in each shape.
// An entry is made when it is first needed; two goroutines that need it at once make the same. Safe for concurrent use.
type dayTable struct {
	pos     int
	text    string
	entries [shapes]atomic.Uint64 // a set, with bit 0 where gronx has been asked
}

// in returns the due days of the month, from 1.
func (t *dayTable) in(m month) set {
	const asked = 1
	entry := &t.entries[m.shape()]
	if due := entry.Load(); due != 0 {
		return set(due &^ asked)
	}
	due := t.askDays(m)
	entry.Store(uint64(due | asked))
	return due
}

// askDays asks gronx about every day of a month. LW, which gronx does not know, is the working day nearest to the
// month's last day.
func (t *dayTable) askDays(m month) (due set) {
	text := strings.ReplaceAll(t.text, "LW", strconv.Itoa(m.length)+"W")
	for day := 1; day <= m.length; day++ {
		if ask(t.pos, text, wallTime(m.day(day)*daySeconds)) {
			due |= 1 << day
		}
	}
	return due
}

// ask reports what gronx says of a field at a time in UTC. It never fails: canonical lets nothing through that gronx
// refuses, which FuzzParse checks.
func ask(pos int, text string, at time.Time) bool {
	var checker gronx.SegmentChecker
	checker.SetRef(at)
	due, _ := checker.CheckDue(text, pos)
	return due
}
