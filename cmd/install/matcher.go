package install

import (
	"fmt"
	"iter"
	"time"

	"sched/cmd/app"
	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/crontab/proof"
	"sched/schedule/crontab/vixie"
	"sched/schedule/load"
	"sched/schedule/preflight"
)

// A matcher finds the tasks that do the same as lines of a crontab.
type matcher struct {
	options   load.Options // to load a line as a task
	schedule  *schedule.Schedule
	matched   map[*schedule.Task]bool // each task matches one line only
	from, to  time.Time               // times are compared in this span
	calendars map[string]*vixie.Calendar
	debian    bool            // cron is Debian's, to which CRON_TZ is a variable
	sameTime  map[string]bool // the answers of sameTimes by times, zone and conditions: many lines share them
}

func newMatcher(a *app.App, s *schedule.Schedule) *matcher {
	options := a.Options()
	options.Root = false
	from := a.Now().UTC().Truncate(time.Minute)
	return &matcher{
		debian:    preflight.CronIsDebians(),
		options:   options,
		schedule:  s,
		matched:   map[*schedule.Task]bool{},
		from:      from,
		to:        from.AddDate(proof.Years, 0, 0),
		calendars: map[string]*vixie.Calendar{},
		sameTime:  map[string]bool{},
	}
}

// match reports whether a task that no earlier line matched does the same as the line, and marks
// that task.
func (m *matcher) match(entry crontab.Entry) bool {
	return m.find(entry, func(task *schedule.Task, line *crontab.Task, imported *schedule.Schedule) bool {
		isKnown := line.Boot || line.Times != nil // import could not write it otherwise
		if isKnown && !m.matched[task] && sameWork(task, imported.Tasks[0]) && m.sameTimes(task, line, imported) {
			m.matched[task] = true
			return true
		}
		return false
	})
}

// hasCommand reports whether a task runs the command of the line, at whatever times.
func (m *matcher) hasCommand(entry crontab.Entry) bool {
	return m.find(entry, func(task *schedule.Task, _ *crontab.Task, imported *schedule.Schedule) bool {
		return task.Command.Line == imported.Tasks[0].Command.Line && len(task.Command.List) == 0
	})
}

// find reports whether a task that is not switched off fits the line, which is taken as import
// would write it, with --tidy or without.
func (m *matcher) find(entry crontab.Entry,
	fits func(task *schedule.Task, line *crontab.Task, imported *schedule.Schedule) bool) bool {
	entry.ZoneIgnored = m.debian
	for _, tidy := range []bool{false, true} {
		table := &crontab.Table{Entries: []crontab.Entry{entry}}
		s := crontab.Convert([]*crontab.Table{table}, crontab.Options{Tidy: tidy})
		if len(s.Tasks) != 1 {
			return false
		}
		imported, err := load.Text(s.YAML(nil), m.schedule.File, m.options)
		if err != nil {
			return false
		}
		for _, task := range m.schedule.Tasks {
			if m.schedule.Active(task) && fits(task, s.Tasks[0], imported) {
				return true
			}
		}
	}
	return false
}

// sameWork reports whether a task does the same as a task that was imported from a line. The task
// may have other keys besides, such as hooks and retries.
func sameWork(a, b *schedule.Task) bool {
	sameCommand := a.Command.Line == b.Command.Line && len(a.Command.List) == 0 &&
		fmt.Sprint(a.Command.Shell) == fmt.Sprint(b.Command.Shell)
	return sameCommand &&
		a.Dir == b.Dir &&
		a.Output == b.Output &&
		a.Timeout == b.Timeout &&
		a.WithoutOverlapping == b.WithoutOverlapping &&
		a.As.User == b.As.User
}

// sameTimes reports whether the task runs in exactly the minutes in which cron starts the line, in
// the span of the matcher. It is false for a task with condition commands: nobody knows what they
// will answer.
func (m *matcher) sameTimes(task *schedule.Task, line *crontab.Task, imported *schedule.Schedule) bool {
	if len(task.ConditionCommands) > 0 {
		return false
	}
	if line.Boot || task.When.Boot {
		return line.Boot && task.When.Boot && len(task.When.Crons) == 0 && task.Conditions.String() == ""
	}
	zone := app.LocalZone()
	if line.Timezone != "" {
		zone = imported.Tasks[0].When.Location
	}
	key := fmt.Sprint(line.Times.Key(), zone, task.When, task.When.Location, task.Conditions)
	same, known := m.sameTime[key]
	if !known {
		due := func(from, to time.Time) iter.Seq[time.Time] { return runTimes(task, from, to) }
		same = proof.Compare(*line.Times, m.calendarFor(zone), due, m.from, m.to) == nil
		m.sameTime[key] = same
	}
	return same
}

// calendarFor returns the calendar of cron in the zone, for the span of the matcher.
func (m *matcher) calendarFor(zone *time.Location) *vixie.Calendar {
	calendar := m.calendars[zone.String()]
	if calendar == nil {
		calendar = vixie.NewCalendar(zone, m.from, m.to)
		m.calendars[zone.String()] = calendar
	}
	return calendar
}

// runTimes returns the times at which a task is due and its conditions hold.
func runTimes(task *schedule.Task, from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for at := range task.When.Forward(from, to) {
			isMet := task.When.Skips(at) == "" && task.Conditions.FirstUnmet(at.In(task.When.Location)) == ""
			if isMet && !yield(at) {
				return
			}
		}
	}
}
