package tick

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/overdue"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A Report receives what a tick does, as it happens. Several goroutines may call its functions at
// once.
type Report struct {
	// Begun is called when a foreground run begins; may be nil.
	Begun func(state.Row)
	// Started is called when a background run was handed over. Others may follow at once.
	Started func(state.Row)
	// Flush shows what Started has collected, because no other run follows at once; may be nil.
	Flush func()
	// Done is called when a foreground run, or a skipped slot, has its outcome, and with background
	// runs that were lost, or ended badly, or could not start. If it is nil, a later tick reports
	// the background runs.
	Done func(state.Row)
	// Skipped is called with slots of one task without on_skip hooks that were skipped together for
	// one reason. If it is nil, Done is called for each.
	Skipped func([]state.Row)
	// Problem reports that something is wrong that is not a task's own failure.
	Problem func(format string, a ...any)
	// Detail reports something for people who asked for more; may be nil.
	Detail func(format string, a ...any)
}

// begun reports that a foreground run begins.
func (r Report) begun(row state.Row) {
	if r.Begun != nil {
		r.Begun(row)
	}
}

// done reports a row that has its outcome.
func (r Report) done(row state.Row) {
	if r.Done != nil {
		r.Done(row)
	}
}

// flush has the caller show what Started has collected.
func (r Report) flush() {
	if r.Flush != nil {
		r.Flush()
	}
}

// skipped reports slots of one task that were skipped together.
func (r Report) skipped(rows []state.Row) {
	if r.Skipped != nil {
		r.Skipped(rows)
		return
	}
	for _, row := range rows {
		r.done(row)
	}
}

// detail reports something for people who asked for more.
func (r Report) detail(format string, a ...any) {
	if r.Detail != nil {
		r.Detail(format, a...)
	}
}

// repeatAfter is how often a problem that goes on is reported.
const repeatAfter = time.Hour

// ProblemHourly reports a problem that goes on, at most once an hour. The parameter kind names the
// problem.
func (t *Tick) ProblemHourly(kind, format string, a ...any) {
	path := filepath.Join(t.Storage.Dir, "told-"+kind)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()).Abs() < repeatAfter {
		return
	}
	_ = statedir.Replace(path, nil) // after an error the next tick reports the problem, too
	t.Report.Problem(format, a...)
}

// startSender begins to deliver notifications beside everything else, so that no server that hangs
// delays a task. When kill is done the undelivered ones are left to a later tick.
func (l *launcher) startSender(kill context.Context) {
	l.sender = notify.NewSender(kill, l.tick.Storage.DB, l.tick.Host.Environ)
	l.sender.Undelivered = l.records.reportUndelivered
	l.sender.Delivered = func(sent *notify.Delivery, target string) {
		l.tick.Report.detail("%s: %s: sent %s", sent.Message.Task, sent.Hook, target)
	}
}

// reportUndelivered reports that a delivery failed, and what becomes of it. It notes both in the
// row of the run.
func (r *records) reportUndelivered(failed *notify.Delivery, err error, what string) {
	r.tick.Report.Problem("%s: %s: %v; %s", failed.Message.Task, failed.Hook, err, what)
	note := failed.Hook + ": " + err.Error() + "; " + what
	r.note(failed.Run, note)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported = append(r.reported, reportedNote{failed.Run, note})
}

// A reportedNote is a note of a run that this tick has reported already.
type reportedNote struct{ run, note string }

// notReported returns the notes of a run that this tick has not reported as problems.
func (r *records) notReported(row state.Row) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(row.Notes), func(note string) bool {
		return slices.Contains(r.reported, reportedNote{row.ID, note})
	})
}

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
		r.tick.ProblemHourly("overdue", "whether a task is overdue is not known: %v", err)
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
