package cron

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adhocore/gronx"
)

// This file alone uses gronx, which decides which values of a field are due. A search reads sets.
// Parse makes the sets of seconds, minutes, hours and months. A set of days is made when a month of
// its shape is first needed. gronx evaluates one field at one time. Its IsDue and NextTickAfter do
// not follow crontab(5).
//
// All expressions of the process share the sets, which are never dropped.

// A compiler turns fields into sets, and keeps the sets for expressions with the same fields. Safe
// for concurrent use.
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

// compile returns the times and dates that match the fields. The same text of a day field always
// gives the same table, so that expressions can be compared with ==.
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

// valuesOf returns the due values of a field other than a day field. The caller holds c.mu.
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

// A dayTable holds the due days of a day field for each shape of a month, evaluated when first
// needed. Safe for concurrent use: several goroutines that need one entry each evaluate it, and
// find the same.
type dayTable struct {
	fieldText
	entries [shapes]atomic.Uint64 // a set, which also has the value 0 once it is evaluated
}

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

// evaluate is in without the table. LW, which gronx lacks, is the last working day of the month.
func (t *dayTable) evaluate(m month) (due set) {
	text := strings.ReplaceAll(t.text, "LW", strconv.Itoa(m.length)+"W")
	for day := 1; day <= m.length; day++ {
		if evaluate(text, t.pos, wallTime(m.day(day)*daySeconds)) {
			due |= 1 << day
		}
	}
	return due
}

// evaluate reports whether gronx takes a field in canonical form to be due at a time in UTC.
func evaluate(text string, pos int, at time.Time) bool {
	var checker gronx.SegmentChecker
	checker.SetRef(at)
	due, _ := checker.CheckDue(text, pos)
	return due
}
