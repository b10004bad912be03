package tick

import (
	"context"
	"errors"
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
	// runs that were lost or ended badly since an earlier tick.
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
		r.Done(row)
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

// problemHourly reports a problem that goes on, at most once an hour. The parameter kind names the
// problem.
func (t *Tick) problemHourly(kind, format string, a ...any) {
	path := filepath.Join(t.Storage.Dir, "told-"+kind)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()).Abs() < repeatAfter {
		return
	}
	_ = statedir.Replace(path, nil) // after an error the next tick reports the problem, too
	t.Report.Problem(format, a...)
}

// reportEnded reports lost runs, and background runs that ended badly. No tick has reported them
// (docs/internals/decisions.md#the-next-tick-prints-a-failed-background-run). The runs that this
// tick handed over are for the next tick, however soon they end.
func (r *tickRun) reportEnded() {
	ctx := context.Background()
	rows, err := r.tick.Storage.DB.Runs().Unreported(ctx)
	for _, row := range rows {
		if _, handedOver := r.launcher.handedOverIDs.Load(row.ID); handedOver {
			continue
		}
		ours, rerr := r.tick.Storage.DB.Runs().Report(ctx, row.ID)
		if ours {
			r.tick.Report.Done(row)
		}
		err = errors.Join(err, rerr)
	}
	if err != nil && !r.records.fallback.inUse() { // else that was reported already
		r.tick.Report.Problem("which runs have ended is not known: %v", err)
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

// reportOverdue finds tasks that are overdue, reports each once, and fires their on_overdue hooks
// beside everything else.
func (r *tickRun) reportOverdue() {
	watch := r.tick.newOverdueWatch()
	if watch == nil {
		return
	}
	began, unreported, err := watch.Look(r.liveRuns(watch.Tasks))
	if err != nil {
		r.tick.problemHourly("overdue", "whether a task is overdue is not known: %v", err)
	}
	for _, incident := range began {
		r.tick.Report.Problem("%s is overdue: %s", incident.Task, incident.Text(incident.Found))
	}
	for _, incident := range unreported {
		task := r.tick.Schedule.Task(incident.Task)
		r.launcher.hooks.Go(func() {
			notes, err := watch.Tell(r.launcher.caller(), task, incident)
			for _, note := range notes {
				r.tick.Report.Problem("%s: %s", incident.Task, note)
			}
			if err != nil {
				r.tick.Report.Problem("that %s is overdue is told later: %v", incident.Task, err)
			}
		})
	}
}

// liveRuns returns the runs that live, if a task has a bound for how long a run may take.
func (r *tickRun) liveRuns(tasks []*schedule.Task) []state.Row {
	isBounded := func(t *schedule.Task) bool { return t.Expect.Within > 0 }
	if r.nothingToDo || !slices.ContainsFunc(tasks, isBounded) {
		return nil
	}
	live, _, _ := r.tick.Storage.DB.LiveAndLost(context.Background()) // collectLost reports an error
	return live
}

// deliveries are the notifications that a tick sends, beside everything else.
type deliveries struct {
	tick    *Tick
	records *records
	sender  *notify.Sender // nil until start
}

// start begins to deliver notifications, so that no server that hangs delays a task. When kill is
// done the undelivered ones are left to a later tick.
func (d *deliveries) start(kill context.Context) {
	d.sender = notify.NewSender(kill, d.tick.Storage.DB, d.tick.Host.Environ)
	d.sender.Undelivered = d.reportUndelivered
	d.sender.Delivered = func(sent *notify.Delivery, target string) {
		d.tick.Report.detail("%s: %s: sent %s", sent.Message.Task, sent.Hook, target)
	}
}

// reportUndelivered prints that a delivery failed and what becomes of it, and notes both in the
// row of its run.
func (d *deliveries) reportUndelivered(failed *notify.Delivery, err error, what string) {
	d.tick.Report.Problem("%s: %s: %v; %s", failed.Message.Task, failed.Hook, err, what)
	d.records.note(failed.Run, failed.Hook+": "+err.Error()+"; "+what)
}
