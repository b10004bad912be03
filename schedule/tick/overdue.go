package tick

import (
	"context"
	"slices"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/overdue"
	"sched/schedule/state"
)

// watch returns what looks for tasks that are overdue. It returns nil if nothing is expected of any
// task, and for ticks with --at or --only.
func (t *Tick) watch() *overdue.Watch {
	tasks := t.Schedule.Expecting()
	if len(tasks) == 0 || t.Replay || t.Only != "" {
		return nil
	}
	w := &overdue.Watch{DB: t.Storage.DB, Tasks: tasks, Server: t.Host.Server, Now: clock.Now}
	if t.Storage.Store != nil {
		w.Elsewhere = overdue.Elsewhere(t.Storage.Store, t.Host.Server)
	}
	return w
}

// lookForOverdue finds tasks that are overdue, says so once, and fires their on_overdue hooks
// beside everything else.
func (r *running) lookForOverdue() {
	w := r.watch()
	if w == nil {
		return
	}
	began, untold, err := w.Look(r.liveRuns(w.Tasks))
	if err != nil {
		r.problemHourly("overdue", "whether a task is overdue is not known: %v", err)
	}
	for _, i := range began {
		r.Report.Problem("%s is overdue: %s", i.Task, i.Text(i.Found))
	}
	for _, i := range untold {
		task := r.task(i.Task)
		r.starter.skipHooks.Go(func() {
			notes, err := w.Tell(r.starter.caller(), task, i)
			for _, note := range notes {
				r.Report.Problem("%s: %s", i.Task, note)
			}
			if err != nil {
				r.Report.Problem("that %s is overdue is told later: %v", i.Task, err)
			}
		})
	}
}

// liveRuns returns the runs that live, if a task has a bound for them.
func (r *running) liveRuns(tasks []*schedule.Task) []state.Row {
	if r.quiet || !slices.ContainsFunc(tasks, func(t *schedule.Task) bool { return t.Expect.Within > 0 }) {
		return nil
	}
	live, _, _ := r.Storage.DB.Going(context.Background()) // collectLost reports an error
	return live
}
