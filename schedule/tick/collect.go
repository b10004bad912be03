package tick

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/cgroup"
	"sched/schedule/clock"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A collector looks after runs that other ticks have begun: runs that wait and whose time has come,
// runs of processes that were killed, runs that have ended badly, and runs that a pause stops.
type collector struct {
	launcher *launcher
	requests requests
	freeing  *sync.WaitGroup // what freeLocks finishes
}

// freePatience is how long the slots of a minute wait for the locks of lost runs: the hooks of such
// a run may be slow.
const freePatience = 2 * time.Second

// freeLocks finishes the lost runs whose mutex or seat a slot of the minute needs, unless their
// commands live. It comes before the slots, which would be skipped: the lease of a killed process
// outlives it in the store.
func (c collector) freeLocks(slots []schedule.Slot) {
	var needed []string
	for _, slot := range slots {
		needed = append(needed, holding.NeedOf(slot.Task).Names()...)
	}
	if len(needed) == 0 || c.launcher.fallback.InUse() {
		return
	}
	rows, _ := c.unwatched() // collectLost reports an error
	for _, row := range rows {
		holds := row.Locked && slices.Contains(needed, row.Mutex) || row.Seat != "" && slices.Contains(needed, row.Seat)
		if holds && !row.Waits() && !holding.LivesOn(row) {
			c.freeing.Go(func() { c.collect(row) })
		}
	}
	freed := make(chan struct{})
	go func() {
		c.freeing.Wait()
		close(freed)
	}()
	select {
	case <-freed:
	case <-time.After(freePatience):
	}
}

// resumeQueued gives the runs that wait for their turn, and whose supervisor was killed, to the
// supervisor of this tick, in their order. It comes before the slots of the minute, so that no slot
// overtakes such a run.
func (c collector) resumeQueued() {
	if c.launcher.fallback.InUse() {
		return
	}
	rows, _ := c.unwatched() // collectLost reports an error
	for _, row := range rows {
		if row.Queued() {
			c.collect(row)
		}
	}
}

// startLongestWaiting starts the runs that have waited for their mutex or a seat, the longest
// waiting first. It comes before the slots of the minute. Otherwise a task that is due every minute
// would take its own mutex each time, and a request for it, or the next attempt of another task,
// would never run. A slot of a task that replaces its runs comes before the next attempt of an
// older one.
func (c collector) startLongestWaiting() {
	if c.launcher.fallback.InUse() {
		return
	}
	rows, _ := c.launcher.storage.DB.Runs().Waiting(context.Background()) // requests.startBackground reports an error
	for _, row := range rows {
		switch {
		case row.Wait.Since.IsZero(): // it has not waited yet
		case row.Deferred() && taskOf(c.launcher.schedule, row).Replace:
		case row.Deferred():
			c.collect(row)
		case row.Requested():
			c.requests.handOverAll([]state.Row{row})
		}
	}
}

// maxCollecting is how many runs are collected at the same time: their hooks may be slow.
const maxCollecting = 16

// collectLost removes cgroups that dead runs left, finishes lost runs, goes on with the runs whose
// deferred retry is due, and tries again to deliver the messages that wait in the outbox.
func (c collector) collectLost() {
	needsCgroup := func(t *schedule.Task) bool { return t.Limits.NeedsCgroup() }
	if slices.ContainsFunc(c.launcher.schedule.Tasks, needsCgroup) {
		cgroup.Sweep()
	}
	rows, err := c.unwatched()
	c.launcher.fallback.ReportOrFallBack(err)
	var collecting sync.WaitGroup
	places := make(chan struct{}, maxCollecting)
	for _, row := range rows {
		if _, handedOver := c.launcher.handedOverIDs.Load(row.ID); handedOver {
			continue
		}
		if row.Queued() { // one after another: such runs keep their order
			c.collect(row)
			continue
		}
		places <- struct{}{}
		collecting.Go(func() {
			defer func() { <-places }()
			c.collect(row)
		})
	}
	collecting.Wait()
	if !c.launcher.report.Apart { // else nobody else would be told of a message that is dropped
		c.launcher.sender.SendWaiting()
	}
}

// collect finishes a run that no process looks after, or goes on with it if its time has come.
func (c collector) collect(row state.Row) {
	goesOn, err := c.launcher.caller().Collect(row, c.factsOf(row))
	c.launcher.fallback.ReportOrFallBack(err)
	if goesOn == nil {
		return
	}
	switch run.Next(*goesOn, c.factsOf(*goesOn)) {
	case run.Start, run.Queue:
		c.resume(*goesOn)
	}
}

// factsOf returns what this tick knows about a run that no process looks after.
func (c collector) factsOf(row state.Row) run.Facts {
	l := c.launcher
	task := taskOf(l.schedule, row)
	return run.Facts{
		Unrecorded:  run.UnrecordedStarts(l.storage.Dir, row),
		Now:         clock.Now(),
		DueBy:       l.moment.dueBy(),
		MayNotBegin: l.stops.noNewStarts.Err() != nil || l.moment.excludes(task.Name),
		IsPaused: (row.Deferred() || row.BetweenAttempts()) && (l.admission.PauseOf(task, row.Wait.NotBefore) != "" ||
			l.admission.MaintenanceOf(task, l.moment.minute) != ""),
	}
}

// unwatched returns the runs that no process looks after, in the order in which they wait.
func (c collector) unwatched() ([]state.Row, error) {
	rows, err := c.launcher.caller().Unwatched(context.Background())
	slices.SortFunc(rows, state.InOrder)
	return rows, err
}

// resume gives a run that waits to the supervisor of this tick. The run waits on if another process
// has it (run.Caller.Resume), and after an error.
func (c collector) resume(row state.Row) {
	begun, err := c.launcher.caller().Resume(row)
	if begun != nil && err == nil {
		c.launcher.handedOverIDs.Store(row.ID, true)
		if err = c.launcher.supervisors.HandOver(begun); err != nil { // the run still belongs to this process
			begun.GiveBack()
		}
	}
	if err != nil {
		c.launcher.report.Problem("%s waits on: %v", taskOf(c.launcher.schedule, row).Name, err)
	} else if begun != nil && !row.Queued() {
		c.launcher.report.Started(begun.Own.Row)
		c.launcher.report.flush()
	}
}

// reportEnded reports lost runs, and background runs that ended badly. No tick has reported them
// (docs/internals/decisions.md#the-next-tick-prints-a-failed-background-run). The runs that this
// tick handed over are for the next tick, however soon they end.
func (c collector) reportEnded() {
	ctx := context.Background()
	rows, err := c.launcher.storage.DB.Runs().Unreported(ctx)
	for _, row := range rows {
		if _, handedOver := c.launcher.handedOverIDs.Load(row.ID); handedOver {
			continue
		}
		ours, rerr := c.launcher.storage.DB.Runs().ClaimReport(ctx, row.ID)
		if ours {
			row.Notes = c.launcher.records.notReported(row)
			c.launcher.report.done(row)
		}
		err = errors.Join(err, rerr)
	}
	if err != nil && !c.launcher.fallback.InUse() { // else that was reported already
		c.launcher.report.Problem("which runs have ended is not known: %v", err)
	}
}

// stopPaused stops the runs of this machine that had begun before a pause which stops runs. Each
// tick during the pause does that, whatever became of the tick before.
func (c collector) stopPaused() {
	if c.launcher.moment.replay || c.launcher.moment.only != "" {
		return
	}
	live, _, err := c.launcher.storage.DB.LiveAndLost(context.Background())
	c.launcher.fallback.ReportOrFallBack(err)
	live = slices.DeleteFunc(live, func(row state.Row) bool { return row.Waits() || row.Test || row.Outcome != "" })
	if len(live) == 0 {
		return
	}
	var stopping sync.WaitGroup
	pauses, now := c.launcher.admission.Controls.Current().Pauses, clock.Now()
	for _, row := range live {
		task := c.launcher.schedule.Task(row.Task)
		if task == nil {
			continue
		}
		if p, ok := pauses.Stopping(task, now); ok && row.Started.Before(p.Since) {
			stopping.Go(func() { c.stopForPause(row, p, now) })
		}
	}
	stopping.Wait()
}

// stopForPause stops a run. A run that has ended meanwhile is no problem.
func (c collector) stopForPause(row state.Row, p pause.Pause, now time.Time) {
	reason := "because it is " + p.Text(now, c.launcher.schedule.Location)
	err := c.launcher.caller().StopForPause(row.ID, p.By, reason)
	isErr := func(ended error) bool { return errors.Is(err, ended) }
	if err != nil && !slices.ContainsFunc([]error{run.ErrNotRunning, run.ErrVanished, state.ErrNotFound}, isErr) {
		c.launcher.report.Problem("%s is not stopped: %v", row.Task, err)
	}
}
