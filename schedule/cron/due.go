package cron

import (
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// This file asks gronx. It asks about one field and one wall clock time at a time, because the
// rest of gronx is not ours to trust: IsDue joins the two day fields by a rule that is only partly
// Vixie's, and NextTickAfter gives up after 500 steps and then answers with a time that is not due.
//
// Times here are seconds of the wall clock counted as if it were UTC, so that gronx never sees a gap.

// A question is one search by one goroutine: gronx's checker remembers the time it was asked about.
type question struct {
	cron    *Expression
	checker gronx.SegmentChecker
}

// next returns the first wall second in [from, to) at which c is due.
func (c *Expression) next(from, to int64) (int64, bool) {
	if !c.seconds {
		from = ceil(from, minuteSeconds) // five fields mean second 0
	}
	q := question{cron: c}
	for from < to {
		from = q.day(from, to)
		midnight := ceil(from+1, daySeconds)
		if t := q.timeOfDay(from, min(midnight, to)); t < min(midnight, to) {
			return t, true
		}
		from = midnight
	}
	return 0, false
}

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds
)

// day returns the first second from t on that lies on a due day, or something past to.
func (q *question) day(t, to int64) int64 {
	if q.cron.cycle.days > 0 {
		return q.cron.cycle.day(t)
	}
	for t < to {
		w := q.at(t)
		switch {
		case !q.due(monthField):
			t = time.Date(w.Year(), w.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
		case !q.dayDue(w):
			t = ceil(t+1, daySeconds)
		default:
			return t
		}
	}
	return to
}

// timeOfDay returns the first due second of [t, to), which lies on one due day, or something past to.
func (q *question) timeOfDay(t, to int64) int64 {
	for asked := int64(-1); t < to; {
		q.at(t)
		if h := t - mod(t, hourSeconds); h != asked {
			if !q.due(hourField) {
				t = h + hourSeconds
				continue
			}
			asked = h
		}
		if !q.due(minuteField) {
			t = ceil(t+1, minuteSeconds)
			continue
		}
		for end := min(ceil(t+1, minuteSeconds), to); t < end; t++ {
			if q.at(t); q.due(secondField) {
				return t
			}
		}
	}
	return to
}

// at sets the wall clock time that the next questions are about.
func (q *question) at(t int64) time.Time {
	w := time.Unix(t, 0).UTC()
	q.checker.SetRef(w)
	return w
}

// due asks gronx about one field.
func (q *question) due(pos int) bool {
	return q.segmentDue(q.cron.fields[pos], pos)
}

func (q *question) segmentDue(segment string, pos int) bool {
	if segment == "*" {
		return true
	}
	due, _ := q.checker.CheckDue(segment, pos) // ParseCron lets nothing through that gronx refuses
	return due
}

// dayDue joins the two day fields as Vixie cron does: both must fit when either starts with *,
// else one is enough. Where there is a cycle it alone decides.
func (q *question) dayDue(w time.Time) bool {
	if q.cron.cycle.days > 0 {
		return q.cron.cycle.due(w.Unix())
	}
	if q.monthDayDue(w) {
		return q.cron.either || q.due(weekdayField)
	}
	return q.cron.either && q.due(weekdayField)
}

// monthDayDue asks about the day of the month. LW becomes the working day nearest to the month's last
// day, which is the same.
func (q *question) monthDayDue(w time.Time) bool {
	days := q.cron.fields[dayField]
	if q.cron.lastW {
		last := time.Date(w.Year(), w.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		days = strings.ReplaceAll(days, "LW", strconv.Itoa(last)+"W")
	}
	return q.segmentDue(days, dayField)
}

// ceil returns the first multiple of unit that is not before t.
func ceil(t, unit int64) int64 { return t + mod(-t, unit) }

// mod is the remainder that is never negative: times before 1970 are.
func mod(t, unit int64) int64 { return (t%unit + unit) % unit }
