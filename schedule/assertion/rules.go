package assertion

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/calendar"
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
func (w dailyWindow) opened(local time.Time) int64 {
	if w.window.From > w.window.To && local.Hour()*60+local.Minute() <= w.window.To {
		return dayNumber(local) - 1
	}
	return dayNumber(local)
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
		w.days = calendar.Weekdays
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
	clock := wallClock{zone: r.zoneOf(t)}
	_, broken := walk(s, []*schedule.Task{t}, clock.zone, memory{},
		func(m memory, at time.Time, _ int) (memory, *Break) {
			if r.window.Contains(clock.at(at)) {
				return m, nil
			}
			return m, breakAt(at, clock.zone, "%s starts outside %s on", t.Name, r.window)
		})
	return broken
}

// firstMissed returns a break for the first day on which the task must start in the window, and
// does not. The first day is the one after from, and the last day the one before to, because their
// windows lie in the span as a whole. It remembers the day whose start comes next, if none is
// missed.
func (r windowRule) firstMissed(s span, t *schedule.Task) *Break {
	if !r.onEachDay {
		return nil
	}
	clock := wallClock{zone: r.zoneOf(t)}
	next := memory{day: dayNumber(s.from.In(clock.zone)) + 1}
	next, broken := walk(s, []*schedule.Task{t}, clock.zone, next,
		func(m memory, at time.Time, _ int) (memory, *Break) {
			local := clock.at(at)
			if !r.window.Contains(local) {
				return m, nil
			}
			day := r.opened(local)
			broken := r.missed(t, m.day, day)
			m.day = max(m.day, day+1)
			return m, broken
		})
	if broken != nil {
		return broken
	}
	return r.missed(t, next.day, dayNumber(s.to.In(clock.zone))-1)
}

// missed returns a break for the first of the rule's days from next until the day before end; nil
// if the rule has no such day. The break is at the end of that day's window.
func (r windowRule) missed(t *schedule.Task, next, end int64) *Break {
	for ; next < end; next++ {
		day := dateOf(next)
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
		clock := wallClock{zone: r.zoneOf(t)}
		_, broken := walk(s, []*schedule.Task{t}, clock.zone, memory{},
			func(m memory, at time.Time, _ int) (memory, *Break) {
				local := clock.at(at)
				if r.window.Contains(local) && r.days.Contains(dateOf(r.opened(local)).Weekday()) {
					return m, breakAt(at, clock.zone, "%s starts inside %s on", t.Name, r.window)
				}
				return m, nil
			})
		return broken
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
	clock := wallClock{zone: second.When.Location}
	remembered := func(at time.Time) memory { return memory{at.Unix(), dayNumber(clock.at(at))} }
	var last memory // the last start of first before the start of second
	for at := range first.When.Backward(s.from.Add(-max(r.within, 48*time.Hour)), s.from) {
		if first.Conditions.IsAlwaysMet() && first.When.Rule == nil || first.UnmetCondition(at) == "" {
			last = remembered(at)
			break
		}
	}
	_, broken = walk(s, []*schedule.Task{second, first}, clock.zone, last,
		func(m memory, at time.Time, task int) (memory, *Break) {
			switch {
			case task == 1:
				return remembered(at), nil
			case r.within > 0 && (m == memory{} || time.Duration(at.Unix()-m.at)*time.Second > r.within):
				return m, breakAt(at, clock.zone, "%s does not start within %s before %s does on",
					r.first, humanize.Duration(r.within), r.second)
			case r.within == 0 && (m == memory{} || m.day != dayNumber(clock.at(at))):
				return m, breakAt(at, clock.zone, "%s has not started on the day when %s does on", r.first, r.second)
			}
			return m, nil
		})
	return broken
}

func newOrderRule(words map[string]string) (rule, error) {
	r := orderRule{first: words["first"], second: words["second"]}
	var err error
	if words["length"] != "" {
		r.within, err = readLength(words)
	}
	return r, err
}

// maxCountedSpan is the longest span of a countRule: a proof remembers the starts of such a span.
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
	at, count := firstAbove(s, r.most, tasks, r.length)
	if count == 0 {
		return nil
	}
	return breakAt(at, s.Location, "%s of %s within %s, the last one on",
		humanize.Count(count, "start"), r.tasks, r.text)
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
		clock := wallClock{zone: t.When.Location}
		tooLong := func(last memory, next time.Time) *Break {
			isTooLong := next.Sub(time.Unix(last.at, 0)) > r.longest
			if r.days > 0 {
				isTooLong = dayNumber(next.In(clock.zone)) > last.day+int64(r.days)
			}
			if !isTooLong {
				return nil
			}
			return breakAt(time.Unix(last.at, 0), clock.zone, "%s does not start in the %s after", t.Name, r.text)
		}
		start := func(at time.Time) memory { return memory{at.Unix(), dayNumber(clock.at(at))} }
		last, broken := walk(s, []*schedule.Task{t}, clock.zone, start(s.from),
			func(m memory, at time.Time, _ int) (memory, *Break) {
				return start(at), tooLong(m, at)
			})
		if broken != nil {
			return broken
		}
		return tooLong(last, s.to)
	})
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
