package dialect

import (
	"time"

	"sched/schedule/machine/oncalendar"
)

// A Reading is what an expression means to a program. It may be used by several goroutines at once.
type Reading struct {
	Text     string         // what was read
	Location *time.Location // in which its times are meant
	Notes    []string       // what people should know of it

	rules  *rules
	hashed string // the fields, if H is in them
	named  bool   // the expression or the program says the zone
	times  times
	clock  clockRule
	every  time.Duration    // if not 0, it is due so long after the last time, and has no fields
	spec   *oncalendar.Spec // if not nil, it has no fields
}

// maxYears is how far Next looks: 29 February on a given weekday is 40 years away at most.
const maxYears = 41

// Next returns the first instant after after at which the program would start the job, in the zone
// of the reading. It returns false if no instant comes in the next 41 years, or as far as the
// program looks.
func (r *Reading) Next(after time.Time) (time.Time, bool) {
	switch {
	case r.spec != nil:
		next := r.spec.Next(after)
		return next, !next.IsZero()
	case r.every > 0:
		return after.Truncate(time.Second).Add(r.every).In(r.Location), true
	}
	years := maxYears
	if r.rules.years > 0 {
		years = r.rules.years
	}
	if r.rules.bySteps {
		return stepFrom(&r.times, after.In(r.Location), years, r.rules.aligned)
	}
	if r.rules.byFields {
		return walkFrom(&r.times, after.In(r.Location), years)
	}
	from := after.Unix() + 1
	to := min(from+int64(years)*366*daySeconds, time.Date(lastYear, 12, 31, 0, 0, 0, 0, time.UTC).Unix())
	t, ok := r.clock.next(r.times.find, r.Location, from, to)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(t, 0).In(r.Location), true
}

// Line returns the line of a schedule.yaml whose fields mean the same. An error says why
// sched has no such line. At changes of the clocks it may differ all the same: Differ says so.
func (r *Reading) Line() (Line, error) {
	var line Line
	var err error
	switch {
	case r.spec != nil:
		line, err = lineOfCalendar(*r.spec)
	case r.every > 0:
		line, err = lineOfEvery(r.every)
	case r.hashed != "" && (r.times.of('d').text == "*" || r.times.of('w').text == "*"):
		line = Line{Cron: r.hashed, Notes: []string{"H is another number here, made of the name of the task"}}
	default:
		line, err = lineOfTimes(r.Text, &r.times, r.clock)
		if r.hashed != "" {
			line.Notes = []string{"H is the first number here: put the one of the job in its place"}
		}
	}
	if line.Timezone == "" && r.named {
		line.Timezone = r.Location.String()
	}
	return line, err
}

// hasFields reports whether fields say when it is due.
func (r *Reading) hasFields() bool { return r.spec == nil && r.every == 0 }

// isHourly reports whether it is due in each hour from one instant to another, at the same minutes
// of UTC: each hour of each day has a start, and no change of the clocks moves or doubles one.
func (r *Reading) isHourly(from, until time.Time) bool {
	hours := r.times.of('h').values == kinds[indexOf('h')].full()
	plain := r.clock == clockRule{} && !r.rules.aligned && !r.rules.byFields || r.Location.String() == "UTC"
	if !r.hasFields() || !hours || !plain {
		return false
	}
	for at := from.In(r.Location); at.Before(until); {
		year, number, _ := at.Date()
		_, offset := at.Zone()
		if offset%3600 != 0 || r.times.daysIn(year, int(number)) != 1<<(monthOf(year, int(number)).length+1)-2 {
			return false
		}
		at = time.Date(year, number+1, 1, 12, 0, 0, 0, r.Location)
	}
	return true
}
