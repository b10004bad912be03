package tick

import (
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/overdue"
	"sched/schedule/runfile"
)

// watch returns what looks for tasks that are overdue; nil where nothing is expected of any, and for ticks with --at or --only.
func (t *Tick) watch() *overdue.Watch {
	tasks := t.Schedule.Expecting()
	if len(tasks) == 0 || t.Replay || t.Only != "" {
		return nil
	}
	w := &overdue.Watch{Dir: t.Storage.Dir, Tasks: tasks, Server: t.Host.Server, Now: clock.Now}
	if t.Storage.Store != nil {
		w.Elsewhere = overdue.Elsewhere(t.Storage.Store, t.Host.Server)
	}
	return w
}

// lookForOverdue finds tasks that are overdue, says so once, and fires their on_overdue hooks beside everything else.
func (r *running) lookForOverdue() {
	w := r.records.expected
	if w == nil {
		return
	}
	r.records.noteSuccesses()
	began, untold, err := w.Look(r.liveRuns(w.Tasks))
	if err != nil && r.onceAnHour("overdue") {
		r.Report.Problem("whether a task is overdue is not known: %v", err)
	}
	for _, i := range began {
		r.Report.Problem("%s is overdue: %s", i.Task, i.Text(i.Found))
	}
	for _, i := range untold {
		task := r.task(i.Task)
		r.starter.skipHooks.Go(func() {
			notes, err := w.Tell(r.starter.caller(r.Storage), task, i)
			for _, note := range notes {
				r.Report.Problem("%s: %s", i.Task, note)
			}
			if err != nil {
				r.Report.Problem("that %s is overdue is told later: %v", i.Task, err)
			}
		})
	}
}

// liveRuns returns the runs that live, where a task has a bound for them.
func (r *running) liveRuns(tasks []*schedule.Task) (live []runfile.State) {
	for _, t := range tasks {
		if t.Expect.Within > 0 {
			for _, storage := range r.Storage.Folders() {
				some, _, _, _ := runfile.Survey(storage.Dir) // what cannot be read is told by those that collect it
				live = append(live, some...)
			}
			return live
		}
	}
	return nil
}
