package tick

import (
	"context"
	"slices"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/overdue"
	"sched/schedule/recovery"
	"sched/schedule/state"
)

// reportOverdue finds tasks that are overdue, reports each once, and fires their on_overdue hooks
// beside everything else.
func reportOverdue(l *launcher, nothingToDo bool) {
	watch := newOverdueWatch(l)
	if watch == nil {
		return
	}
	live, err := liveRuns(l, nothingToDo, watch.Tasks)
	if err != nil {
		return // collectLost reports it; without the live runs what takes too long would look over
	}
	began, unreported, err := watch.Look(live)
	if err != nil {
		l.report.Hourly(l.storage.Dir, "overdue", "whether a task is overdue is not known: %v", err)
	}
	for _, incident := range began {
		l.report.Problem("%s is overdue: %s", incident.Task, incident.Text(incident.Found))
	}
	for _, incident := range unreported {
		task := l.schedule.Task(incident.Task)
		l.hooks.Go(func() {
			notes, err := watch.Report(l.caller(), task, incident)
			for _, note := range notes {
				l.report.Problem("%s: %s", incident.Task, note)
			}
			if err != nil {
				l.report.Problem("that %s is overdue is told later: %v", incident.Task, err)
			}
		})
	}
}

// watchRecoveries returns a function that fires on_recovery, beside everything else, of tasks that
// failed here and succeeded elsewhere. A store that does not answer leaves that to a later tick.
func watchRecoveries(l *launcher) (report func()) {
	if l.moment.replay || l.moment.only != "" || l.fallback.InUse() {
		return func() {}
	}
	find := recovery.Watch(context.Background(), l.storage.DB, l.storage.Store, l.host.Server, l.schedule.Tasks)
	return func() {
		for _, r := range find() {
			l.hooks.Go(func() {
				for _, note := range l.caller().Recovered(r.Failed, r.Task, r.Success) {
					l.report.Problem("%s: %s", r.Task.Name, note)
				}
			})
		}
	}
}

// newOverdueWatch returns the watch that looks for tasks that are overdue. It returns nil if
// nothing is expected of any task, and for ticks with --at or --only.
func newOverdueWatch(l *launcher) *overdue.Watch {
	tasks := l.schedule.Expecting()
	if len(tasks) == 0 || l.moment.replay || l.moment.only != "" {
		return nil
	}
	watch := &overdue.Watch{DB: l.storage.DB, Tasks: tasks, Server: l.host.Server, Now: clock.Now}
	if l.storage.Store != nil {
		watch.Elsewhere = overdue.Elsewhere(l.storage.Store, l.host.Server)
	}
	return watch
}

// liveRuns returns the runs that live, if a task has a bound for how long a run may take.
func liveRuns(l *launcher, nothingToDo bool, tasks []*schedule.Task) ([]state.Row, error) {
	isBounded := func(t *schedule.Task) bool { return t.Expect.Within > 0 }
	if nothingToDo || !slices.ContainsFunc(tasks, isBounded) {
		return nil, nil
	}
	live, _, err := l.storage.DB.LiveAndLost(context.Background())
	return live, err
}
