package tick

import (
	"context"
	"slices"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/overdue"
	"sched/schedule/state"
)

// reportOverdue finds tasks that are overdue, reports each once, and fires their on_overdue hooks
// beside everything else.
func (r *tickRun) reportOverdue() {
	watch := r.tick.newOverdueWatch()
	if watch == nil {
		return
	}
	live, err := r.liveRuns(watch.Tasks)
	if err != nil {
		return // collectLost reports it; without the live runs what takes too long would look over
	}
	began, unreported, err := watch.Look(live)
	if err != nil {
		r.tick.problemHourly("overdue", "whether a task is overdue is not known: %v", err)
	}
	for _, incident := range began {
		r.tick.Report.Problem("%s is overdue: %s", incident.Task, incident.Text(incident.Found))
	}
	for _, incident := range unreported {
		task := r.tick.Schedule.Task(incident.Task)
		r.launcher.hooks.Go(func() {
			notes, err := watch.Report(r.launcher.caller(), task, incident)
			for _, note := range notes {
				r.tick.Report.Problem("%s: %s", incident.Task, note)
			}
			if err != nil {
				r.tick.Report.Problem("that %s is overdue is told later: %v", incident.Task, err)
			}
		})
	}
}

// newOverdueWatch returns the watch that looks for tasks that are overdue. It returns nil if
// nothing is expected of any task, and for ticks with --at or --only.
func (t *Tick) newOverdueWatch() *overdue.Watch {
	tasks := t.Schedule.Expecting()
	if len(tasks) == 0 || t.Replay || t.Only != "" {
		return nil
	}
	watch := &overdue.Watch{DB: t.Storage.DB, Tasks: tasks, Server: t.Host.Server, Now: clock.Now}
	if t.Storage.Store != nil {
		watch.Elsewhere = overdue.Elsewhere(t.Storage.Store, t.Host.Server)
	}
	return watch
}

// liveRuns returns the runs that live, if a task has a bound for how long a run may take.
func (r *tickRun) liveRuns(tasks []*schedule.Task) ([]state.Row, error) {
	isBounded := func(t *schedule.Task) bool { return t.Expect.Within > 0 }
	if r.nothingToDo || !slices.ContainsFunc(tasks, isBounded) {
		return nil, nil
	}
	live, _, err := r.tick.Storage.DB.LiveAndLost(context.Background())
	return live, err
}
