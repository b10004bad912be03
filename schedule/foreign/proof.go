package foreign

import (
	"fmt"
	"runtime"
	"sort"
	"time"

	"golang.org/x/sync/errgroup"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/dialect"
	"sched/schedule/humanize"
)

// years is how far a proof goes: after 28 years the calendar repeats.
const years = 28

// A Verdict is what became of a job.
type Verdict struct {
	Job     *Job
	Proven  bool
	Differs time.Time // the first time at which only one of the two is due; zero: none is known
	Text    string
}

// Prove returns a verdict for each job. loaded was loaded from the YAML of the jobs.
func Prove(jobs []*Job, loaded *schedule.Schedule, now time.Time) []Verdict {
	from := now.UTC().Truncate(time.Minute)
	verdicts := make([]Verdict, len(jobs))
	firsts := map[string]*difference{}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, j := range jobs {
		key := j.key()
		if j.Refused != "" {
			continue
		}
		if task := loaded.Task(j.Name); firsts[key] == nil && j.notSame == "" && task != nil {
			first := new(difference)
			firsts[key] = first
			group.Go(func() error {
				*first = firstDifference(j.readings, task, from)
				return nil
			})
		}
	}
	group.Wait()
	for i, j := range jobs {
		v := Verdict{Job: j, Text: "not taken, because " + j.Refused}
		if verdicts[i] = v; j.Refused != "" {
			continue
		}
		switch task := loaded.Task(j.Name); {
		case task == nil || task.Command.Line != j.Command:
			v.Text = "taken, and here it differs: its command is not the one that was read"
		case j.notSame != "":
			v.Text = "taken, and " + j.notSame
		case firsts[j.key()].first.IsZero() && !firsts[j.key()].isWhole:
			v.Text = fmt.Sprintf("taken, and compared for its next %d starts alone", maxStarts)
		case firsts[j.key()].first.IsZero():
			v.Proven, v.Text = true, "proven until "+from.AddDate(years, 0, 0).Format("2006")
		default:
			v.Differs = firsts[j.key()].first
			v.Text = "taken, and here it differs: first on " + humanize.MinuteZone(v.Differs, j.readings[0].Location) +
				", " + who(task, v.Differs)
		}
		verdicts[i] = v
	}
	return verdicts
}

// who says which of the two is due at a time at which the other is not.
func who(task *schedule.Task, at time.Time) string {
	if isDue(task, at) {
		return "when the task alone is due"
	}
	return "when the task is not due"
}

func isDue(task *schedule.Task, at time.Time) bool {
	next, ok := task.When.Next(at.Add(-time.Nanosecond))
	return ok && next.Equal(at) && task.Conditions.Days.Contains(at.In(task.When.Location).Weekday())
}

// maxStarts is how many starts are compared one by one, beside what Differ compares.
const maxStarts = 20_000

// A difference is what the comparison of a task with its job has found.
type difference struct {
	first   time.Time // at which only one of the two is due; zero: none was found
	isWhole bool      // all years were compared
}

// firstDifference compares a task with the readings of its expressions: the fields of each
// expression on all days until the end, and what package cron makes of them in the next starts and
// at each change of the clocks.
func firstDifference(readings []*dialect.Reading, task *schedule.Task, from time.Time) (d difference) {
	until := from.AddDate(years, 0, 0)
	note := func(at time.Time) {
		if !at.IsZero() && (d.first.IsZero() || at.Before(d.first)) {
			d.first = at
		}
	}
	ours, _ := dialect.Find("sched")
	texts, compared := task.When.Texts(), 0
	for i, reading := range readings {
		isBounded := !task.When.From.IsZero() || !task.When.Until.IsZero()
		if len(readings) != len(texts) || task.Conditions.Days != 0 || isBounded {
			break // only the starts are compared
		}
		if own, err := ours.Parse(texts[i], task.When.Location); err == nil {
			found := dialect.Differ(reading, own, from, until)
			if note(found.First); found.GaveUp.IsZero() {
				compared++
			}
		}
	}
	count := 0
	note(walk(readings, task, from, until, &count, maxStarts))
	d.isWhole = compared == len(readings) || count < maxStarts
	for _, change := range changes(task.When.Location, from, until) {
		note(walk(readings, task, change.Add(-48*time.Hour), change.Add(24*time.Hour), &count, 4*maxStarts))
	}
	return d
}

// changes returns instants less than a day after the clocks have changed.
func changes(zone *time.Location, from, until time.Time) (all []time.Time) {
	_, offset := from.In(zone).Zone()
	for at := from; at.Before(until); at = at.Add(24 * time.Hour) {
		if _, now := at.In(zone).Zone(); now != offset {
			all, offset = append(all, at), now
		}
	}
	return all
}

// walk compares starts one by one, and returns the first start that only one has. It adds to count,
// up to most.
func walk(readings []*dialect.Reading, task *schedule.Task, from, until time.Time, count *int, most int) time.Time {
	next := make([]time.Time, len(readings))
	for i, reading := range readings {
		next[i], _ = reading.Next(from.Add(-time.Nanosecond))
	}
	own := nextStart(task.When, task, from.Add(-time.Nanosecond), until)
	for ; *count < most; *count++ {
		theirs := earliest(next)
		if own.IsZero() && (theirs.IsZero() || !theirs.Before(until)) {
			return time.Time{}
		}
		if !own.Equal(theirs) {
			if own.IsZero() || !theirs.IsZero() && theirs.Before(own) {
				return theirs
			}
			return own
		}
		for i, reading := range readings {
			if next[i].Equal(theirs) {
				next[i], _ = reading.Next(theirs)
			}
		}
		own = nextStart(task.When, task, own, until)
	}
	return time.Time{}
}

// nextStart returns the next start of a task, or zero if none comes before until.
func nextStart(w cron.When, task *schedule.Task, after, until time.Time) time.Time {
	for at := range w.Forward(after.Add(time.Nanosecond), until) {
		if at.After(after) && task.Conditions.Days.Contains(at.In(w.Location).Weekday()) {
			return at
		}
	}
	return time.Time{}
}

// earliest returns the earliest of some times that is not zero.
func earliest(times []time.Time) time.Time {
	var all []time.Time
	for _, at := range times {
		if !at.IsZero() {
			all = append(all, at)
		}
	}
	sort.Slice(all, func(i, k int) bool { return all[i].Before(all[k]) })
	if len(all) == 0 {
		return time.Time{}
	}
	return all[0]
}
