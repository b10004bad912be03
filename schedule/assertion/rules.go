package assertion

import (
	"cmp"
	"fmt"
	"iter"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// A rule is a schedule.Assertion that was read.
type rule interface {
	// prove returns the first instant of a span that breaks the rule, or nil.
	prove(in span) *Break
}

// A dailyWindow is a part of the day, and the days on which it begins.
type dailyWindow struct {
	tasks  string
	window schedule.Window
	zone   *time.Location // nil: the zone of each task
	days   schedule.Days  // zero for every day
}

func (w dailyWindow) zoneOf(t *schedule.Task) *time.Location {
	if w.zone != nil {
		return w.zone
	}
	return t.When.Location
}

// opened returns the day on which the window began that holds the local time.
func (w dailyWindow) opened(local time.Time) time.Time {
	day := noon(local)
	if w.window.From > w.window.To && local.Hour()*60+local.Minute() <= w.window.To {
		return day.AddDate(0, 0, -1)
	}
	return day
}

func newDailyWindow(words map[string]string) (w dailyWindow, err error) {
	w.tasks = words["tasks"]
	w.window = schedule.Window{From: minuteOfDay(words["from"]), To: minuteOfDay(words["to"])}
	if zone := words["zone"]; zone != "" {
		if w.zone, err = time.LoadLocation(zone); err != nil {
			return w, fmt.Errorf("%s is no time zone", zone)
		}
	}
	switch name := words["days"]; name {
	case "", "day":
	case "weekday":
		w.days = schedule.Weekdays
	default:
		for day := time.Sunday; day <= time.Saturday; day++ {
			if day.String() == name {
				w.days = 1 << day
			}
		}
	}
	return w, nil
}

// minuteOfDay reads a time of day such as 5:30, which the grammar has checked.
func minuteOfDay(text string) int {
	at, _ := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute()
}

// noon returns noon of the day, in UTC: days are counted there, where no clock changes.
func noon(local time.Time) time.Time {
	year, month, day := local.Date()
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

// A windowRule says that tasks start only inside a window. If onEachDay is true, they also start at
// least once in the window of each of its days.
type windowRule struct {
	dailyWindow
	onEachDay bool
}

func (r windowRule) prove(s span) *Break {
	return s.firstBreak(r.tasks, func(t *schedule.Task) *Break {
		return earlier(r.firstOutside(s, t), r.firstMissed(s, t))
	})
}

// firstOutside returns a break for the first start outside the window.
func (r windowRule) firstOutside(s span, t *schedule.Task) *Break {
	zone := r.zoneOf(t)
	for at := range s.starts(t) {
		if !r.window.Contains(at.In(zone)) {
			return breakAt(at, zone, "%s starts outside %s on", t.Name, r.window)
		}
	}
	return nil
}

// firstMissed returns a break for the first day on which the task must start in the window, and
// does not. The first day is the one after from, and the last day the one before to, because their
// windows lie in the span as a whole.
func (r windowRule) firstMissed(s span, t *schedule.Task) *Break {
	if !r.onEachDay {
		return nil
	}
	zone := r.zoneOf(t)
	next := noon(s.from.In(zone)).AddDate(0, 0, 1) // the day whose start comes next, if none is missed
	for at := range s.starts(t) {
		local := at.In(zone)
		if !r.window.Contains(local) {
			continue
		}
		day := r.opened(local)
		if b := r.missed(t, next, day); b != nil {
			return b
		}
		if !next.After(day) {
			next = day.AddDate(0, 0, 1)
		}
	}
	return r.missed(t, next, noon(s.to.In(zone)).AddDate(0, 0, -1))
}

// missed returns a break for the first of the rule's days from next until the day before end; nil
// if the rule has no such day. The break is at the end of that day's window.
func (r windowRule) missed(t *schedule.Task, next, end time.Time) *Break {
	for day := next; day.Before(end); day = day.AddDate(0, 0, 1) {
		if !r.days.Contains(day.Weekday()) {
			continue
		}
		year, month, date := day.Date()
		if r.window.From > r.window.To {
			date++
		}
		at := time.Date(year, month, date, r.window.To/60, r.window.To%60, 0, 0, r.zoneOf(t))
		why := fmt.Sprintf("%s does not start inside %s on %s", t.Name, r.window, day.Format("Mon 2006-01-02"))
		return &Break{At: at.UTC(), Why: why}
	}
	return nil
}

func newWindowRule(words map[string]string) (rule, error) {
	w, err := newDailyWindow(words)
	return windowRule{dailyWindow: w, onEachDay: words["days"] != ""}, err
}

// A neverRule says that tasks start only outside a window.
type neverRule struct{ dailyWindow }

func (r neverRule) prove(s span) *Break {
	return s.firstBreak(r.tasks, func(t *schedule.Task) *Break {
		zone := r.zoneOf(t)
		for at := range s.starts(t) {
			local := at.In(zone)
			if r.window.Contains(local) && r.days.Contains(r.opened(local).Weekday()) {
				return breakAt(at, zone, "%s starts inside %s on", t.Name, r.window)
			}
		}
		return nil
	})
}

func newNeverRule(words map[string]string) (rule, error) {
	w, err := newDailyWindow(words)
	return neverRule{dailyWindow: w}, err
}

// An orderRule says that each start of the task second comes after a start of the task first: on
// the same day in the zone of second, or at most a duration later.
type orderRule struct {
	first, second string
	within        time.Duration // 0: on the same day
}

func (r orderRule) prove(s span) *Break {
	second, broken := s.named(r.second)
	if broken != nil {
		return broken
	}
	first, broken := s.named(r.first)
	if broken != nil {
		return broken
	}
	zone := second.When.Location
	early := s
	early.from = s.from.Add(-max(r.within, 48*time.Hour))
	next, stop := iter.Pull(early.starts(first))
	defer stop()
	var last time.Time // the last start of first before the start of second
	coming, more := next()
	for at := range s.starts(second) {
		for more && coming.Before(at) {
			last = coming
			coming, more = next()
		}
		if r.within > 0 && at.Sub(last) > r.within {
			return breakAt(at, zone, "%s does not start within %s before %s does on",
				r.first, humanize.Duration(r.within), r.second)
		}
		if r.within == 0 && noon(last.In(zone)) != noon(at.In(zone)) {
			return breakAt(at, zone, "%s has not started on the day when %s does on", r.first, r.second)
		}
	}
	return nil
}

func newOrderRule(words map[string]string) (rule, error) {
	r := orderRule{first: words["first"], second: words["second"]}
	var err error
	if words["length"] != "" {
		r.within, err = readLength(words)
	}
	return r, err
}

// maxCountedSpan is the longest span of a countRule: a proof keeps all starts of such a span in
// memory.
const maxCountedSpan = 31 * 24 * time.Hour

// A countRule limits how many runs of some tasks may start within any span of this length.
type countRule struct {
	tasks  string
	most   int
	length time.Duration
	text   string // the length as the file has it
}

func (r countRule) prove(s span) *Break {
	tasks, broken := s.choose(r.tasks)
	if broken != nil {
		return broken
	}
	type second struct {
		at    time.Time
		count int
	}
	var recent []second // the seconds with a start in the last r.length, in order
	total := 0          // of their starts
	for at, count := range s.startsBySecond(tasks) {
		for len(recent) > 0 && at.Sub(recent[0].at) >= r.length {
			total -= recent[0].count
			recent = recent[1:]
		}
		recent = append(recent, second{at, count})
		total += count
		if total > r.most {
			return breakAt(at, s.Location, "%s of %s within %s, the last one on",
				humanize.Count(total, "start"), r.tasks, r.text)
		}
	}
	return nil
}

func newCountRule(words map[string]string) (rule, error) {
	most, err := strconv.Atoi(words["count"])
	if err != nil {
		return nil, err
	}
	length, err := readLength(words)
	if err == nil && length > maxCountedSpan {
		err = fmt.Errorf("starts are counted in 31 days at most, not in %s", words["length"])
	}
	text := cmp.Or(words["length"], "one "+words["unit"])
	return countRule{tasks: words["tasks"], most: most, length: length, text: text}, err
}

// A gapRule limits the time from one start of a task to the next: a duration, or a number of days
// of the calendar. Days of the calendar fit a weekly task also when the clocks change.
type gapRule struct {
	tasks   string
	longest time.Duration
	days    int    // in place of longest
	text    string // both as the file has them
}

func (r gapRule) prove(s span) *Break {
	return s.firstBreak(r.tasks, func(t *schedule.Task) *Break {
		zone, last := t.When.Location, s.from
		for at := range s.starts(t) {
			if r.isTooLong(last, at, zone) {
				break
			}
			last = at
		}
		if !r.isTooLong(last, s.to, zone) {
			return nil
		}
		return breakAt(last, zone, "%s does not start in the %s after", t.Name, r.text)
	})
}

// isTooLong reports whether more than the allowed time lies between two instants.
func (r gapRule) isTooLong(last, next time.Time, zone *time.Location) bool {
	if r.days == 0 {
		return next.Sub(last) > r.longest
	}
	if next.Sub(last) < time.Hour { // on the same day or the next; dates cost much for each second of 28 years
		return false
	}
	return noon(next.In(zone)).After(noon(last.In(zone)).AddDate(0, 0, r.days))
}

func newGapRule(words map[string]string) (rule, error) {
	r := gapRule{tasks: words["tasks"], text: cmp.Or(words["length"], words["unit"])}
	var err error
	switch {
	case words["daycount"] != "":
		r.text = words["daycount"] + " days"
		r.days, err = strconv.Atoi(words["daycount"])
	case words["unit"] == "day":
		r.days = 1
	default:
		r.longest, err = readLength(words)
	}
	return r, err
}

// readLength reads a length of time, as a unit or as a duration.
func readLength(words map[string]string) (time.Duration, error) {
	switch words["unit"] {
	case "minute":
		return time.Minute, nil
	case "hour":
		return time.Hour, nil
	case "day":
		return 24 * time.Hour, nil
	}
	d, err := yamldoc.ParseDuration(words["length"])
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is not a duration", words["length"])
	}
	return d, nil
}
