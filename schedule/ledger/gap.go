package ledger

import (
	"context"
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// gap returns the time in which no tick came, and nil when nothing was due in it. Tasks count that were in the schedule
// before it (docs/internals/decisions.md#only-what-was-in-the-schedule-can-be-missed).
func (a *Account) gap(dead []*Journal, live []Promise) *Gap {
	last := a.lastCovered()
	if !last.IsZero() && !last.Before(a.Minute.Add(-time.Minute)) {
		return nil
	}
	for _, journal := range dead {
		live = append(live, journal.Promise)
	}
	for _, promise := range live { // of a tick that was killed before it could cover its minute
		if promise.Minute.After(last) && !promise.Minute.After(a.Minute) {
			last = promise.Minute
		}
	}
	since := last.Add(time.Minute)
	if last.IsZero() || !since.Before(a.Minute) {
		return nil
	}
	gap := &Gap{Since: since, From: since, To: a.Minute, Tasks: map[string]string{}}
	if bound := a.Minute.Add(-min(schedule.LookBack, a.Schedule.History.Keep)).Truncate(time.Minute); gap.From.Before(bound) {
		gap.From = bound
	}
	times := a.timesBefore()
	for _, task := range a.Schedule.Tasks {
		if !a.Schedule.Active(task) || times[task.Name] != timesOf(task) {
			continue
		}
		if next, ok := task.When.Next(gap.From.Add(-time.Second)); ok && next.Before(gap.To) {
			gap.Tasks[task.Name] = timesOf(task)
		}
	}
	if len(gap.Tasks) == 0 {
		return nil
	}
	return gap
}

// timesBefore says when the tasks were due that the last tick had, by their names: it had this schedule, or the last valid
// one. It is nil where that is not known; then nothing counts as missed.
func (a *Account) timesBefore() map[string]string {
	before, valid := a.Schedule, validSchedule(a.Schedule)
	kept, err := a.DB.Values().LastValid(context.Background(), a.Schedule.File)
	if said, _ := state.Settled(a.Dir, words(valid)); said && (err != nil || kept.Digest == "") {
		kept, err = valid, nil // the database cannot be read, or was set aside as damaged, and had this schedule before
	}
	if a.Valid && (err != nil || kept.Digest != valid.Digest || kept.Machine != valid.Machine) {
		if err == nil && kept.Digest == "" {
			return nil
		}
		if err == nil {
			before, err = a.Parse(kept.Text)
		}
		if err != nil {
			return nil
		}
		before.Machine = machineOf(kept)
	}
	times := map[string]string{}
	for _, task := range before.Tasks {
		if before.Active(task) {
			times[task.Name] = timesOf(task)
		}
	}
	return times
}

// timesOf is the same for two tasks that are due at the same times.
func timesOf(task *schedule.Task) string {
	times := task.When.String() + " " + task.When.Location.String()
	if task.When.Shift > 0 {
		times += " " + task.When.Shift.String()
	}
	return times
}

// reason says why the slots of a gap were missed.
func (g *Gap) reason(zone *time.Location) string {
	last := g.To.Add(-time.Minute)
	reason := "no tick ran at " + humanize.MinuteZone(last, zone)
	if g.Since.Before(last) {
		reason = fmt.Sprintf("no tick ran from %s to %s", humanize.MinuteZone(g.Since, zone), humanize.MinuteZone(last, zone))
	}
	if g.From.After(g.Since) {
		reason += ", and what was due before " + humanize.MinuteZone(g.From, zone) + " is not counted"
	}
	return reason
}
