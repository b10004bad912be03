package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A Caller begins runs in this process, and settles runs that no process looks after.
type Caller struct{ holding.Process }

// NewCaller returns the Caller of a process that owns rows of the storage as that kind, and that
// nobody asks to end.
func NewCaller(storage holding.Storage, kind state.OwnerKind, environ []string) Caller {
	return Caller{holding.Process{
		Storage:   storage,
		Self:      storage.DB.Self(kind),
		Environ:   environ,
		Terminate: context.Background(),
	}}
}

// Begin begins a run in this process: Prepare and Prepared.Begin in one. From here on the run will
// be finished, whatever happens to this process. The lock (nil: none) belongs to the run; after an
// error it is still the caller's.
func (c Caller) Begin(row state.Row, task *schedule.Task, lock mutex.Lock) (*Run, error) {
	p, err := c.Prepare(row, task, lock)
	if err != nil {
		return nil, err
	}
	return p.Begin()
}

// Prepare opens the output of a run that is about to begin. The lock (nil: none) belongs to the
// prepared run; after an error it is still the caller's.
func (c Caller) Prepare(row state.Row, task *schedule.Task, lock mutex.Lock) (*Prepared, error) {
	return prepare(c.Process, row, task, lock)
}

// Skip settles that a slot does not run, and fires the on_skip hooks of its task. The row has the
// outcome. The row that Skip returns also has the notes about hooks that failed. A tick that is
// killed meanwhile leaves a row that is finishing, and the next one fires the hooks that have not
// ended. The error is *state.StaleError when another process has the row.
func (c Caller) Skip(row state.Row, task *schedule.Task) (state.Row, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return row, err
	}
	row.Snapshot = snapshot
	own, err := c.Self.Owned(context.Background())
	if err == nil {
		err = own.Begin(context.Background(), row)
	}
	if err != nil {
		return row, err
	}
	r := newRun(c.Process, *task, row)
	r.Own.As, r.Own.Phase, r.Own.Owner = own, state.Finishing, own.ID
	return Finish(r, row), nil
}

// Overdue fires the on_overdue hooks of a task that the incident in the row is about, each once:
// the database notes which have ended. It returns notes about hooks that failed. The caller makes
// sure that no other process does the same.
func (c Caller) Overdue(row state.Row, task *schedule.Task) (notes []string) {
	r := newRun(c.Process, *task, row)
	r.Own.As = c.DB.Unowned()
	return r.Hooks.Overdue(row)
}

// Recovered fires the on_recovery hooks of a task whose run in the row failed, each once, for a
// later success on another server. It returns notes about hooks that failed.
func (c Caller) Recovered(row state.Row, task *schedule.Task, success state.Row) (notes []string) {
	r := newRun(c.Process, *task, row)
	r.Own.As = c.DB.Unowned()
	return r.Hooks.Recovered(success)
}

// Unwatched returns the runs that no process looks after: runs whose owner is dead, and runs that
// wait for their next attempt, or for their turn.
func (c Caller) Unwatched(ctx context.Context) ([]state.Row, error) {
	live, lost, err := c.DB.LiveAndLost(ctx)
	live = slices.DeleteFunc(live, func(row state.Row) bool {
		return !row.Deferred() && (!row.Queued() || c.DB.Owners().Alive(row.Owner))
	})
	return append(live, lost...), err
}

// Collect does what Next says with a run that no process looks after. If its next attempt is to
// start, or if it is to go on waiting for its turn, Collect returns its row instead, for Resume. It
// also returns the row of a run that has another attempt to come now.
func (c Caller) Collect(row state.Row, facts Facts) (goesOn *state.Row, err error) {
	action := Next(row, facts)
	switch action {
	case Nothing, Wait:
		return nil, nil
	case Start, Queue:
		return &row, nil
	}
	o, err := take(c.Process, row)
	if err != nil {
		return nil, ignoreAlive(err)
	}
	r := o.run
	if action == GiveBack && o.giveBack() {
		r.releaseLock()
		return &r.Own.Row, nil
	}
	result := o.result(nil)
	if action == Lose && DeferAfterLost(r, &result) {
		r.releaseLock()
		return &r.Own.Row, nil
	}
	Finish(r, result)
	return nil, nil
}

// Resume returns a run with its mutex for its next attempt, or as it is if it waits for its turn.
// The run is nil without an error
//
//   - if another process has the run,
//   - if a newer run of the task replaces it: the run has ended;
//   - if its mutex is held: a later tick tries again,
//   - or if its mutex was held for MaxHeld: the run has ended.
func (c Caller) Resume(row state.Row) (*Run, error) {
	o, err := take(c.Process, row)
	if err != nil {
		return nil, ignoreAlive(err)
	}
	if !row.Queued() {
		if newer := o.replacement(); newer != "" {
			stop := replacedBy(newer)
			o.run.Own.Stop = &stop
			Finish(o.run, o.result(nil))
			return nil, nil
		}
		if reason := o.acquire(); reason != "" {
			o.giveBackBlocked(reason)
			return nil, nil
		}
	}
	return o.run, nil
}

// Stop ends the command of a live run (TERM, and KILL after the task's kill_after), and waits until
// the run has ended. A run that waits for its next attempt ends at once. The text by names who
// stops it. The error is
//
//   - ErrNotRunning, with the result, if the command has ended already;
//   - ErrVanished if the run is lost, and no process of it lives;
//   - state.ErrNotFound if there is no such run;
//   - any other error, which says why the run goes on.
func (c Caller) Stop(id, by string) (Stopping, error) {
	defer c.DB.CloseIfIdle(0)
	return stopBecause(c.Process, id, state.Stop{By: by, At: clock.Now().UTC()})
}

// FinishNewest settles what `sched finish MUTEX CODE` is about. It takes the first of these cases:
//
//  1. A run of the mutex is lost, or waits for a deferred retry: it finishes the newest such run.
//  2. A run of the mutex is running: the error is *AliveError.
//  3. A run of the mutex has ended: it returns the row of the last one.
//  4. A run of the mutex waits for its turn, and no process watches it: it ends the newest such run.
//  5. The error is ErrNothing.
func (c Caller) FinishNewest(mutex string, code *int) (state.Row, error) {
	ctx := context.Background()
	live, lost, err := c.DB.LiveAndLost(ctx)
	if err != nil {
		return state.Row{}, err
	}
	var alive *AliveError
	var queued string
	rows := append(live, lost...)
	slices.SortFunc(rows, func(a, b state.Row) int { return cmp.Compare(b.ID, a.ID) }) // the newest first
	for _, row := range rows {
		switch {
		case row.Mutex != mutex || row.Pending(): // none of these runs, or not begun
		case row.Owner != 0 && c.DB.Owners().Alive(row.Owner):
			alive = &AliveError{row.ID}
		case row.Queued(): // its command has not started: the code belongs to another run
			queued = cmp.Or(queued, row.ID)
		default:
			o, err := take(c.Process, row)
			switch {
			case err == nil:
				return FinishAndSend(o.run, o.result(code)), nil
			case !errors.As(err, &alive): // else another process takes it at this moment
				return state.Row{}, err
			}
		}
	}
	if alive != nil {
		return state.Row{}, alive
	}
	ended, err := c.DB.Runs().LastWith(ctx, mutex)
	switch {
	case err != nil:
		return state.Row{}, err
	case len(ended) > 0:
		return ended[0], nil
	case queued != "":
		return c.FinishByHand(queued, nil)
	}
	return state.Row{}, ErrNothing
}

// FinishByHand finishes a run that no process looks after, even if it waits for a deferred retry.
// The code is the exit code of its command, or nil if the caller does not know it. The error is
// *AliveError if a process looks after the run. It is state.ErrNotFound if there is no such run, or
// if it has ended.
func (c Caller) FinishByHand(id string, code *int) (state.Row, error) {
	row, err := c.DB.Runs().Row(context.Background(), id)
	if err == nil && row.Phase == state.Ended {
		err = state.ErrNotFound
	}
	if err != nil {
		return state.Row{}, err
	}
	o, err := take(c.Process, row)
	if err != nil {
		return state.Row{}, err
	}
	return FinishAndSend(o.run, o.result(code)), nil
}

// FinishUnrecorded fires the hooks of a task that has no recorded run, as if a run had ended now
// with the code (nil: 0).
func (c Caller) FinishUnrecorded(row state.Row, task *schedule.Task, code *int) (state.Row, error) {
	if code == nil {
		code = new(int)
	}
	r, err := c.Begin(row, task, nil)
	if err != nil {
		return state.Row{}, err
	}
	result := EndUnwatched(r, code)
	result.Reason = joinReasons(result.Reason, "finished by hand")
	return FinishAndSend(r, result), nil
}

// FinishOwned finishes background runs of this process with the results that their supervisor wrote
// down: all at the same time, so that none delays another. The locks are the descriptors that this
// process has of them, by the ids of the runs.
func (c Caller) FinishOwned(own state.Owned, rows []state.Row, locks map[string][]*os.File) error {
	runs, failed := c.takeAll(own, rows, locks)
	var finishing sync.WaitGroup
	for _, r := range runs {
		finishing.Go(func() { FinishAndSend(r, (&orphan{r}).result(nil)) })
	}
	finishing.Wait()
	return failed
}

// takeAll returns the runs of rows that this process owns, with their locks. A run whose task
// cannot be read ends as lost, and delays no other.
func (c Caller) takeAll(
	own state.Owned, rows []state.Row, locks map[string][]*os.File,
) (runs []*Run, failed error) {
	for _, row := range rows { // all before the first hook: it would inherit the locks of other runs
		r, err := runOrLose(c.Process, own, row)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.Own.SharesProcess = true
		if files, ok := locks[row.ID]; ok {
			r.TakeLock(files)
		}
		runs = append(runs, r)
	}
	return runs, failed
}

// StopForPause is Stop by a pause, which the reason of the outcome names. StopReplaced is Stop by
// the newer run that replaces the run.
func (c Caller) StopForPause(id, by, reason string) error {
	why := state.Stop{By: by, At: clock.Now().UTC(), Reason: reason, Kind: outcome.Paused}
	_, err := stopBecause(c.Process, id, why)
	return err
}

func (c Caller) StopReplaced(id, newer string) error {
	_, err := stopBecause(c.Process, id, replacedBy(newer))
	return err
}
