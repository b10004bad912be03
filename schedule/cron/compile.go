package cron

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adhocore/gronx"
)

// This file alone uses gronx, which decides which values of a field are due. Its results are kept as sets: of seconds,
// minutes, hours and months when an expression is parsed; of days when a month of their shape is first needed. A search
// reads these sets and no text.
//
// gronx evaluates one field at one time. The rest of it does not follow crontab(5): its IsDue joins the two day fields
// by a rule that is only partly Vixie's, and its NextTickAfter gives up after 500 steps and returns a time that is not
// due.
//
// All expressions of the process share the sets, because most of a schedule's expressions have the same few fields. Shared
// sets are never dropped. Their number is bounded by the different fields in the schedules that a process reads.

// A compiler turns fields into sets, and keeps these for expressions with the same fields. Safe for concurrent use.
type compiler struct {
	mu     sync.Mutex
	values map[fieldText]set       // by element of a list; not for the day fields
	days   map[fieldText]*dayTable // by text of a field; for the day fields only
}

// A fieldText is a text in the field at a position.
type fieldText struct {
	pos  int
	text string
}

// shared is the compiler of Parse.
var shared = compiler{values: map[fieldText]set{}, days: map[fieldText]*dayTable{}}

// compile returns the times and dates that match the fields. The same text of a day field always gives the same table,
// so that expressions can be compared with ==.
func (c *compiler) compile(fields *canonicalFields) (times, dates) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := times{c.valuesOf(fields, secondField), c.valuesOf(fields, minuteField), c.valuesOf(fields, hourField)}
	d := dates{
		months: c.valuesOf(fields, monthField),
		days:   c.daysOf(fields, dayField), weekdays: c.daysOf(fields, weekdayField),
		either: fields.bothDays(),
	}
	return t, d
}

// valuesOf returns the due values of a field other than a day field. A list is due where one of its elements is, which
// is gronx's rule, too. The caller holds c.mu.
func (c *compiler) valuesOf(fields *canonicalFields, pos int) (due set) {
	for element := range strings.SplitSeq(fields[pos], ",") {
		values, ok := c.values[fieldText{pos, element}]
		if !ok {
			values = evaluateValues(element, pos)
			c.values[fieldText{pos, element}] = values
		}
		due |= values
	}
	return due
}

// daysOf returns the table of a day field. The caller holds c.mu.
func (c *compiler) daysOf(fields *canonicalFields, pos int) *dayTable {
	field := fieldText{pos, fields[pos]}
	table, ok := c.days[field]
	if !ok {
		table = &dayTable{fieldText: field}
		c.days[field] = table
	}
	return table
}

// evaluateValues returns the due values of an element of a field other than a day field.
func evaluateValues(element string, pos int) (due set) {
	if number, err := strconv.Atoi(element); err == nil {
		return 1 << number // gronx says so, too, once it was asked about sixty values
	}
	f := &cronFields[pos]
	for v := f.min; v <= f.max; v++ {
		clock := [len(cronFields)]int{dayField: 1, monthField: 1}
		clock[pos] = v
		at := time.Date(2000, time.Month(clock[monthField]), clock[dayField], clock[hourField], clock[minuteField], clock[secondField], 0, time.UTC)
		if evaluate(element, pos, at) {
			due |= 1 << v
		}
	}
	return due
}

// A dayTable holds the due days of a day field for each shape of a month, since L, W and # mean other days in each. An
// entry is evaluated when it is first needed. Safe for concurrent use: goroutines that need an entry at the same time
// all evaluate it, and find the same days.
type dayTable struct {
	fieldText
	entries [shapes]atomic.Uint64 // a set, which also has the value 0 once it is evaluated
}

// in returns the due days of a month, from 1.
func (t *dayTable) in(m month) set {
	const evaluated = 1
	entry := &t.entries[m.shape()]
	if due := entry.Load(); due != 0 {
		return set(due &^ evaluated)
	}
	due := t.evaluate(m)
	entry.Store(uint64(due | evaluated))
	return due
}

// evaluate is in without the table. LW, which gronx does not support, is the working day nearest to the month's last
// day.
func (t *dayTable) evaluate(m month) (due set) {
	text := strings.ReplaceAll(t.text, "LW", strconv.Itoa(m.length)+"W")
	for day := 1; day <= m.length; day++ {
		if evaluate(text, t.pos, wallTime(m.day(day)*daySeconds)) {
			due |= 1 << day
		}
	}
	return due
}

// evaluate reports whether gronx takes a field to be due at a time in UTC. The field is in canonical form, which gronx
// never refuses; FuzzParse checks that.
func evaluate(text string, pos int, at time.Time) bool {
	var checker gronx.SegmentChecker
	checker.SetRef(at)
	due, _ := checker.CheckDue(text, pos)
	return due
}
