package cmd

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/crontab/vixie"
	"sched/schedule/load"
)

// replaceable finds the lines of a crontab that are proven to be tasks of the schedule: with the
// same command, in the same folder, due in the same minutes for 28 years. replace is true for the
// numbers of these lines. stay has the numbers of the other lines, which stay.
func (t *target) replaceable(text string) (replace map[int]bool, stay []string, err error) {
	table := crontab.Parse(crontab.Source{Name: "crontab", Text: text})
	replace, found := map[int]bool{}, map[*schedule.Task]bool{}
	m := &matcher{target: t, found: found, from: t.now().UTC().Truncate(time.Minute), calendars: map[string]*vixie.Calendar{}, proven: map[string]bool{}}
	for _, entry := range table.Entries {
		if entry.Off {
			continue
		}
		is, err := m.isTask(entry)
		if err != nil {
			return nil, nil, err
		}
		if replace[entry.Line] = is; !is && !t.crond.IsIn(entry.Raw) {
			stay = append(stay, strconv.Itoa(entry.Line))
		}
	}
	for _, f := range table.Findings {
		if f.Left {
			stay = append(stay, strconv.Itoa(f.Line))
		}
	}
	return replace, stay, nil
}

// refuseTwice refuses to install beside lines of the crontab that are tasks of the schedule:
// everything would run twice.
func (t *target) refuseTwice() error {
	if t.options.replace {
		return nil
	}
	text, _, err := t.crontab.Read()
	if err != nil {
		return nil // without a crontab there are no lines; a later step says that it needs one
	}
	replace, _, err := t.replaceable(text)
	var both []string
	for _, line := range slices.Sorted(maps.Keys(replace)) {
		if replace[line] {
			both = append(both, strconv.Itoa(line))
		}
	}
	if len(both) == 0 || err != nil {
		return err
	}
	hint := "--replace comments them out, and `sched uninstall` brings them back"
	if t.options.systemd != "" {
		hint = "comment them out first: crontab -e"
	}
	return failed(hint, "%s of %s would run twice: tasks of the schedule do the same", lineNumbers(both), t.crontabName())
}

// A matcher finds the tasks of lines, each task for one line.
type matcher struct {
	*target
	found     map[*schedule.Task]bool
	from      time.Time
	calendars map[string]*vixie.Calendar
	proven    map[string]bool // by times, zone and conditions: many lines have the same
}

// isTask reports whether the line is a task of the schedule, as import would write it, with --tidy
// or without.
func (m *matcher) isTask(entry crontab.Entry) (bool, error) {
	for _, tidy := range []bool{false, true} {
		s := crontab.Convert([]*crontab.Table{{Entries: []crontab.Entry{entry}}}, crontab.Options{Tidy: tidy})
		if len(s.Tasks) != 1 || s.Tasks[0].Times == nil && !s.Tasks[0].Boot {
			return false, nil
		}
		opts := m.app.options()
		opts.Root = false
		imported, err := load.Text(s.YAML(nil), m.schedule.File, opts)
		if err != nil {
			return false, nil // it was never importable
		}
		for _, task := range m.schedule.Tasks {
			if m.schedule.Active(task) && !m.found[task] && sameWork(task, imported.Tasks[0]) && m.sameTimes(task, s.Tasks[0], imported) {
				m.found[task] = true
				return true, nil
			}
		}
	}
	return false, nil
}

func sameWork(a, b *schedule.Task) bool {
	return a.Command.Line == b.Command.Line && len(a.Command.List) == 0 && fmt.Sprint(a.Command.Shell) == fmt.Sprint(b.Command.Shell) &&
		a.Dir == b.Dir && a.Output == b.Output && a.Timeout == b.Timeout && a.WithoutOverlapping == b.WithoutOverlapping && a.As.User == b.As.User
}

// sameTimes proves that the task runs in the minutes in which cron starts the line, as far as time
// decides.
func (m *matcher) sameTimes(task *schedule.Task, line *crontab.Task, imported *schedule.Schedule) bool {
	if len(task.ConditionCommands) > 0 {
		return false
	}
	if line.Boot || task.When.Boot {
		return line.Boot && task.When.Boot && len(task.When.Crons) == 0 && task.Conditions.String() == ""
	}
	zone := localZone()
	if line.Timezone != "" {
		zone = imported.Tasks[0].When.Location
	}
	to := m.from.AddDate(28, 0, 0)
	calendar := m.calendars[zone.String()]
	if calendar == nil {
		calendar = vixie.NewCalendar(zone, m.from, to)
		m.calendars[zone.String()] = calendar
	}
	key := fmt.Sprint(line.Times.Key(), zone, task.When, task.When.Location, task.Conditions)
	same, known := m.proven[key]
	if !known {
		same = crontab.Compare(*line.Times, calendar, runTimes(task), m.from, to) == nil
		m.proven[key] = same
	}
	return same
}

func runTimes(task *schedule.Task) func(from, to time.Time) iter.Seq[time.Time] {
	return func(from, to time.Time) iter.Seq[time.Time] {
		return func(yield func(time.Time) bool) {
			for at := range task.When.Forward(from, to) {
				if task.Conditions.FirstUnmet(at.In(task.When.Location)) == "" && !yield(at) {
					return
				}
			}
		}
	}
}
