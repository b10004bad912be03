// Package proof compares the tasks of an imported crontab with what cron does: minute for minute,
// with an evaluator that shares nothing with schedule/cron (vixie).
package proof

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/crontab"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
)

// Years is how far a proof goes: after 28 years the calendar repeats.
const Years = 28

// A Proof is the comparison of tasks with the lines that they come from.
type Proof struct {
	From, To    time.Time
	Tasks       int   // that were compared
	Minutes     int64 // that were looked at for each; 0 without tasks
	Changes     int   // of the clocks, in all zones
	Zones       []string
	HasCronTZ   bool            // a line has its zone from CRON_TZ, which Debian's cron does not know
	Uncompared  []*crontab.Task // Debian's cron does not take the line, or not as it is meant
	Boots       []*crontab.Task // tasks that cron starts at a boot, as the schedule does
	Differences []Difference
}

// A Difference is a task that is not due when cron would start its line, or that does not have what
// its line and the settings above it say.
type Difference struct {
	Task    *crontab.Task
	What    string    // what is not as the crontab says, such as the command; "" for times
	At      time.Time // the first minute that differs; zero with What, and at a boot
	Cron    bool      // cron starts the line then, and the task is not due; false: it is the other way round
	Boot    bool      // they differ at a boot
	Minutes int       // how many differ, in the first year with a difference
}

// Text says in which minutes the task differs from its line, in a zone.
func (d Difference) Text(zone *time.Location) string {
	switch {
	case d.Boot && d.Cron:
		return "cron starts the line at a boot alone, and the task is due otherwise"
	case d.Boot:
		return "the task is due at a boot, when cron does not start the line"
	case d.What != "":
		return "its " + d.What + " differs from what the crontab says"
	}
	at := humanize.MinuteZone(d.At, zone)
	first := "the task is due at " + at + ", when cron does not start the line"
	if d.Cron {
		first = "cron starts the line at " + at + ", when the task is not due"
	}
	return fmt.Sprintf("%s; %s of a year differ", first, humanize.Count(d.Minutes, "minute"))
}

// Prove compares the tasks with the schedule that was loaded from their YAML. It compares the
// commands, the mail, the variables and the like, and the times minute for minute over 28 years
// from the minute of from, at every change of the clocks. Lines without a zone are in zone.
func Prove(tasks []*crontab.Task, loaded *schedule.Schedule, from time.Time, zone *time.Location) *Proof {
	from = from.UTC().Truncate(time.Minute)
	p := &Proof{From: from, To: from.AddDate(Years, 0, 0)}
	var pairs []*pair
	calendars := map[string]*vixie.Calendar{}
	calendarOf := func(zone *time.Location) *vixie.Calendar {
		name := zone.String()
		if calendars[name] == nil {
			calendars[name] = vixie.NewCalendar(zone, p.From, p.To)
			p.Zones, p.Changes = append(p.Zones, name), p.Changes+len(calendars[name].ChangeTimes())
		}
		return calendars[name]
	}
	for _, t := range tasks {
		loadedTask := loaded.Task(t.Name)
		if p.compareWithoutTimes(t, loadedTask) {
			continue
		}
		taskZone := zone
		if t.Timezone != "" && t.Entry.Set["CRON_TZ"] != "" {
			taskZone, p.HasCronTZ = loadedTask.When.Location, true
		}
		pairs = append(pairs, &pair{task: t, when: loadedTask.When, calendar: calendarOf(taskZone)})
	}
	if p.Tasks = len(pairs); p.Tasks > 0 {
		p.Minutes = int64(p.To.Sub(p.From) / time.Minute)
	}
	compareAll(pairs, p.From, p.To)
	for _, pair := range pairs {
		if pair.difference != nil {
			p.Differences = append(p.Differences, *pair.difference)
		}
	}
	return p
}

// compareWithoutTimes notes the result for a task whose times need no comparison, and reports
// whether it did:
//
//   - The commands or their surroundings differ, or one of the two starts at a boot and the other
//     does not: a difference.
//   - Both start at a boot.
//   - Debian's cron refuses the line: nothing can be compared.
func (p *Proof) compareWithoutTimes(t *crontab.Task, loaded *schedule.Task) (done bool) {
	switch what := surroundingsThatDiffer(t, loaded); {
	case what != "":
		p.Differences = append(p.Differences, Difference{Task: t, What: what})
	case t.Boot && (!loaded.When.Boot || len(loaded.When.Crons) > 0):
		p.Differences = append(p.Differences, Difference{Task: t, Cron: true, Boot: true})
	case t.Boot:
		p.Boots = append(p.Boots, t)
	case loaded.When.Boot:
		p.Differences = append(p.Differences, Difference{Task: t, Boot: true})
	case t.Times == nil || t.Entry.Refused != "" || t.Entry.When == crontab.NicknameEveryMinute:
		p.Uncompared = append(p.Uncompared, t)
	default:
		return false
	}
	return true
}

// surroundingsThatDiffer names what the task of the schedule has otherwise than the line and the
// settings above it; "" if that is nothing. It leaves out what a comment `# sched:` sets.
func surroundingsThatDiffer(t *crontab.Task, loaded *schedule.Task) (what string) {
	if loaded == nil || loaded.Command.Line != t.Command {
		return "command"
	}
	dir := path.Clean(strings.ReplaceAll(t.Dir, "$${", "${")) // "${HOME}" is the home of the user who ticks
	after, onFailure := t.Mail, []string(nil)
	if t.MailFailures {
		after, onFailure = nil, t.Mail
	}
	for _, compared := range []struct {
		key, what string
		same      bool
	}{
		{"after", "mail", slices.Equal(mailedTo(loaded.Hooks.After), after)},
		{"on_failure", "mail", slices.Equal(mailedTo(loaded.Hooks.OnFailure), onFailure)},
		{"env", "environment", maps.Equal(loaded.Env, map[string]string(t.Env))},
		{"shell", "shell", slices.Equal(loaded.Command.Shell, []string{t.Shell, "-c"})},
		{"user", "user", loaded.As.User == t.User},
		{"dir", "folder", !path.IsAbs(dir) || loaded.Dir == dir},
		{"enabled", "enabled", loaded.Enabled == t.Enabled},
	} {
		if !compared.same && !t.Sets(compared.key) {
			return compared.what
		}
	}
	return ""
}

// mailedTo returns all addresses of hooks.
func mailedTo(hooks []schedule.Hook) (all []string) {
	for _, h := range hooks {
		if h.Notify != nil {
			all = append(all, h.Notify.Mail...)
		}
	}
	return all
}

// A pair is a line, and the time at which its task is due.
type pair struct {
	task       *crontab.Task
	when       cron.When
	calendar   *vixie.Calendar
	difference *Difference
}

// key is the same for pairs that have the same result: many lines have the same few times.
func (p *pair) key() string {
	w := p.when
	return fmt.Sprint(p.task.Times.Key(), " ", w, w.Location, w.Shift, w.From.Unix(), w.Until.Unix())
}

// compareAll sets the difference of each pair. It compares pairs with the same key once.
func compareAll(pairs []*pair, from, to time.Time) {
	alike := map[string][]*pair{}
	for _, p := range pairs {
		alike[p.key()] = append(alike[p.key()], p)
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, same := range alike {
		group.Go(func() error {
			found := Compare(*same[0].task.Times, same[0].calendar, same[0].when.Forward, from, to)
			if found == nil {
				return nil
			}
			for _, p := range same {
				difference := *found
				difference.Task = p.task
				p.difference = &difference
			}
			return nil
		})
	}
	group.Wait()
}

// Compare compares the minutes in which cron starts a line with the minutes that due yields for
// [from, to), year by year. It returns nil if all are the same.
func Compare(
	line vixie.Times, calendar *vixie.Calendar, due func(from, to time.Time) iter.Seq[time.Time], from, to time.Time,
) *Difference {
	var buffer []int64
	for from.Before(to) {
		until := from.AddDate(1, 0, 0)
		if until.After(to) {
			until = to
		}
		buffer = line.Due(calendar, from.Unix()/60, until.Unix()/60, buffer)
		if d := compareMinutes(buffer, due(from, until)); d != nil {
			return d
		}
		from = until
	}
	return nil
}

// compareMinutes returns the first minute of one year that only one of the two has, and how many
// such minutes there are; nil if there is no such minute.
func compareMinutes(cronStarts []int64, due iter.Seq[time.Time]) (d *Difference) {
	note := func(at time.Time, byCron bool) {
		if d == nil {
			d = &Difference{At: at, Cron: byCron}
		}
		d.Minutes++
	}
	i := 0
	for at := range due {
		second := at.Unix()
		for ; i < len(cronStarts) && cronStarts[i]*60 < second; i++ {
			note(time.Unix(cronStarts[i]*60, 0).UTC(), true)
		}
		if i < len(cronStarts) && cronStarts[i]*60 == second {
			i++
			continue
		}
		note(at, false)
	}
	for ; i < len(cronStarts); i++ {
		note(time.Unix(cronStarts[i]*60, 0).UTC(), true)
	}
	return d
}
