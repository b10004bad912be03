package tick

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/placement"
	"sched/schedule/state"
)

// A gap is a time in which no tick came, from since to before to; what lies before from is not
// looked at. Tasks has the tasks that were in the schedule all the time and were due in the gap.
type gap struct {
	since, from, to time.Time
	tasks           map[string]bool
}

// gap returns the time between the last minute that a tick covered and this minute; nil if nothing
// was due in it. Only tasks count that were in the schedule before it
// (docs/internals/decisions.md#only-what-was-in-the-schedule-can-be-missed).
func (l *Ledger) gap(ctx context.Context, last time.Time) *gap {
	since := last.Add(time.Minute)
	if last.IsZero() || !since.Before(l.Minute) {
		return nil
	}
	g := &gap{since: since, from: since, to: l.Minute, tasks: map[string]bool{}}
	if bound := l.Minute.Add(-min(schedule.LookBack, l.Schedule.History.Keep)).Truncate(time.Minute); g.from.Before(bound) {
		g.from = bound
	}
	times := l.timesBefore(ctx)
	for _, task := range l.Schedule.Tasks {
		if !l.Schedule.Active(task) || times[task.Name] != timesOf(task) {
			continue
		}
		if next, ok := task.When.Next(g.from.Add(-time.Second)); ok && next.Before(g.to) {
			g.tasks[task.Name] = true
		}
	}
	if len(g.tasks) == 0 {
		return nil
	}
	return g
}

// timesBefore returns the due times of the tasks that the last tick had, by their names. The last
// tick had this schedule, or the last valid one. The result is nil if that is not known: then
// nothing counts as missed.
func (l *Ledger) timesBefore(ctx context.Context) map[string]string {
	before, valid := l.Schedule, validSchedule(l.Schedule)
	last, err := l.plan.Values().LastValid(ctx, l.Schedule.File)
	if l.Valid && (err != nil || last.Digest != valid.Digest || last.Machine != valid.Machine) {
		if err == nil && last.Digest == "" {
			return nil
		}
		if err == nil {
			before, err = l.Parse(last.Text)
		}
		if err != nil {
			return nil
		}
		before.Machine = machineOf(last)
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
	if bounds := task.Bounds(); bounds != "" {
		times += " " + bounds
	}
	return times
}

// reason says why the slots of a gap were missed.
func (g *gap) reason(zone *time.Location) string {
	last := g.to.Add(-time.Minute)
	reason := "no tick ran at " + humanize.MinuteZone(last, zone)
	if g.since.Before(last) {
		reason = fmt.Sprintf("no tick ran from %s to %s", humanize.MinuteZone(g.since, zone), humanize.MinuteZone(last, zone))
	}
	if g.from.After(g.since) {
		reason += ", and what was due before " + humanize.MinuteZone(g.from, zone) + " is not counted"
	}
	return reason
}

// withoutOutcome leaves out slots of this minute that have an outcome already, because a tick
// covered this minute or a later one before the clock was set back
// (docs/internals/decisions.md#wrong-clocks). A slot that counted as missed while the clock was
// wrong runs.
func (l *Ledger) withoutOutcome(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	newest, err := l.plan.Values().NewestCovered(ctx)
	setBack := l.Minute.Before(newest) || l.Minute.Equal(newest) && last.Before(newest)
	if err != nil || !setBack || len(slots) == 0 {
		return slots, err
	}
	settled := map[due]bool{}
	all, err := l.plan.Runs().Slots(ctx, l.Minute, l.Minute.Add(time.Minute))
	for _, slot := range all {
		if !slot.Missed {
			settled[due{slot.Task, slot.At.UTC()}] = true
		}
	}
	open := slices.DeleteFunc(slices.Clone(slots), func(s schedule.Slot) bool { return settled[dueOf(s)] })
	if n := len(slots) - len(open); n > 0 {
		l.say("the clock was set back: %s of %s had an outcome before, and `sched run --at` alone runs them again",
			humanize.Count(n, "slot"), humanize.MinuteZone(l.Minute, l.Schedule.Location))
	}
	return open, err
}

// validSchedule is what the database keeps of a valid schedule. Tasks with `servers` are compared
// with what the machine was then.
func validSchedule(s *schedule.Schedule) state.ValidSchedule {
	return state.ValidSchedule{
		File: s.File, Digest: s.Digest, Since: clock.Now(),
		Machine: strings.Join(append([]string{s.Machine.Name}, s.Machine.Labels...), " "),
	}
}

// machineOf returns what the machine was when the schedule was kept.
func machineOf(last state.ValidSchedule) placement.Machine {
	words := strings.Split(last.Machine, " ")
	return placement.Machine{Name: words[0], Labels: words[1:]}
}

// keepValid keeps the schedule of this tick as the last valid one, for the day when an edit breaks
// the file.
func (l *Ledger) keepValid(ctx context.Context) error {
	if !l.Valid {
		return nil
	}
	var unread error
	err := l.plan.Values().KeepValid(ctx, validSchedule(l.Schedule), func() (text []byte, err error) {
		text, unread = l.Schedule.Archive()
		return text, unread
	})
	if unread != nil {
		l.say("the last valid schedule is not kept: %v", unread)
		return nil
	}
	return err
}

// LastValid returns the last valid text of the schedule in file, for load.Archive; the error is
// os.ErrNotExist if there is no such text. It changes nothing in the folder.
func LastValid(dir, file string) ([]byte, error) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	last, err := db.Values().LastValid(context.Background(), file)
	if err == nil && last.Digest == "" {
		err = os.ErrNotExist
	}
	return last.Text, err
}

// keyBoot is the value that names the boot of the machine at which tasks with `every: boot` were
// started last. It is there for such tasks, and a tick reads it only for them.
const keyBoot = "boot"

// freshBoot is how long ago the machine may have booted when its first tick ever comes. An earlier
// boot counts as one from before there was a schedule.
const freshBoot = 10 * time.Minute

// atBoot adds the slots of a boot to the due slots: of tasks that this boot of the machine has not
// started yet. Their instant is the minute of this tick. It notes this boot even if it starts
// nothing.
func (l *Ledger) atBoot(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	var boots []schedule.Slot
	for _, task := range l.Schedule.Tasks {
		if task.When.Boot && task.When.Bounds(l.Minute) && l.Schedule.Active(task) {
			boots = append(boots, schedule.Slot{Task: task, At: l.Minute.UTC()})
		}
	}
	id, noted := clock.BootID(), ""
	if len(boots) == 0 || id == "" {
		return slots, nil
	}
	known, err := l.plan.Values().Get(ctx, keyBoot, &noted)
	if err != nil || noted == id {
		return slots, err
	}
	if err := l.plan.Values().Set(ctx, keyBoot, id); err != nil {
		return nil, err
	}
	if !known && !isFirstSinceBoot(last) {
		return slots, nil
	}
	isDue := func(task *schedule.Task) bool { // by another time of the task
		return slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.Task == task && s.At.Equal(l.Minute) })
	}
	for _, slot := range boots {
		if !isDue(slot.Task) {
			slots = append(slices.Clip(slots), slot)
		}
	}
	l.sortStarts(slots)
	return slots, nil
}

// isFirstSinceBoot reports, when no boot was noted yet, whether this is the first tick after the
// machine booted. If that is not known, boots count from the next one on.
func isFirstSinceBoot(last time.Time) bool {
	elapsed, ok := clock.SinceBoot()
	if !ok {
		return false
	}
	if last.IsZero() {
		return elapsed <= freshBoot
	}
	return last.Before(clock.Now().Add(-elapsed).Truncate(time.Minute))
}
