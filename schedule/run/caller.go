package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/run/output"
	"sched/schedule/state"
	"slices"
	"sync"
)

// A Caller is what a process gives to the runs that it begins or finishes.
type Caller struct {
	Storage
	Self       *state.Self    // this process in the database of the storage, as the owner of runs
	Environ    []string       // the environment of this process, which commands and hooks inherit
	Sender     *notify.Sender // of messages; nil in a process that fires no hooks
	Leases     *Leases        // of the process; nil: each run keeps only its own
	queueCache *queueView     // what runs that wait in the process have seen; nil: each looks itself
	// Terminate is done when this process was asked to end. It ends what a run waits for and could
	// do without.
	Terminate context.Context
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

// Collect finishes a run that no process looks after. If the run waits for its next attempt, or for
// its turn, Collect returns its row instead, for Resume.
func (c Caller) Collect(row state.Row) (unfinished *state.Row, err error) {
	if row.Deferred() || row.Queued() || row.BetweenAttempts() && row.Background && UnrecordedStarts(c.Dir, row) == 0 {
		return &row, nil
	}
	o, err := c.take(row)
	if err != nil {
		return nil, ignoreAlive(err)
	}
	if deferred := o.finishOrRetry(); deferred {
		return &o.run.row.Row, nil
	}
	return nil, nil
}

// take makes a run ours that has no owner, or a dead one. Its lock was dropped with its processes,
// or is held by a process that the command left behind. The error is *AliveError if another process
// has the run.
func (c Caller) take(row state.Row) (*orphan, error) {
	ctx := context.Background()
	if row.Phase == state.Ended || row.Owner != 0 && c.DB.Owners().Alive(row.Owner) {
		return nil, &AliveError{row.ID}
	}
	if copied, err := c.DB.Owners().InCopy(ctx, row.Owner); copied || err != nil { // the next tick settles it
		return nil, cmp.Or[error](err, &AliveError{row.ID})
	}
	own, err := c.Self.Owned(ctx)
	if err == nil {
		err = own.Apply(ctx, state.Take(), &row)
	}
	if isStale(err) || errors.Is(err, state.ErrGone) {
		return nil, &AliveError{row.ID}
	}
	if err != nil {
		return nil, err
	}
	r, err := c.restoreOrLose(own, row)
	if err != nil {
		return nil, err
	}
	r.adopt(nil)
	return &orphan{r}, nil
}

// restoreOrLose is restore that ends the run as lost if its task cannot be read.
func (c Caller) restoreOrLose(own state.Owned, row state.Row) (*Run, error) {
	r, err := c.restore(own, row)
	if err != nil {
		lost := state.Result{Outcome: outcome.Lost, Reason: err.Error(), Ended: clock.Now()}
		return nil, errors.Join(err, own.Apply(context.Background(), state.End(state.Ending{Result: lost}), &row))
	}
	return r, nil
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
			o, err := c.take(row)
			switch {
			case err == nil:
				return o.finishAlone(code), nil
			case !errors.As(err, &alive): // else another process takes it at this moment
				return state.Row{}, err
			}
		}
	}
	if alive != nil {
		return state.Row{}, alive
	}
	ended, err := c.DB.Runs().Find(ctx, state.Query{Mutex: mutex, Outcomes: outcome.Ran, Limit: 1})
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
	o, err := c.take(row)
	if err != nil {
		return state.Row{}, err
	}
	return o.finishAlone(code), nil
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
	result := r.endUnwatched(code)
	result.Reason = joinReasons(result.Reason, "finished by hand")
	return r.finishAlone(result), nil
}

// GiveUp ends a run that waits for its next attempt without that attempt. It does nothing if
// another process has the run.
func (c Caller) GiveUp(row state.Row) error {
	o, err := c.take(row)
	if err != nil {
		return ignoreAlive(err)
	}
	o.finish(nil)
	return nil
}

// Resume returns a run with its mutex for its next attempt, or as it is if it waits for its turn.
// The run is nil without an error
//
//   - if another process has the run,
//   - if a newer run of the task replaces it: the run has ended;
//   - if its mutex is held: a later tick tries again,
//   - or if its mutex was held for MaxHeld: the run has ended.
func (c Caller) Resume(row state.Row) (*Run, error) {
	o, err := c.take(row)
	if err != nil {
		return nil, ignoreAlive(err)
	}
	if !row.Queued() {
		if newer := o.replacement(); newer != "" {
			stop := replacedBy(newer)
			o.run.row.Stop = &stop
			o.finish(nil)
			return nil, nil
		}
		if reason := o.reacquire(); reason != "" {
			o.postpone(reason)
			return nil, nil
		}
	}
	return o.run, nil
}

// FinishInherited finishes background runs that this process inherited (startFinish), with the
// results that their supervisor wrote down: all at the same time, so that none delays another.
func (c Caller) FinishInherited(ids []string) error {
	ctx, row := context.Background(), state.Row{}
	err := persistence{ending: c.Terminate}.read(func() (err error) { // a moment ago the database could be written
		row, err = c.DB.Runs().Row(ctx, ids[0])
		return err
	})
	if err != nil {
		return err
	}
	owner, ok := c.DB.Owners().Inherited(row.Owner, state.Finish, ownerDescriptor)
	if !ok {
		return fmt.Errorf("run %s was not begun by the process that calls this", ids[0])
	}
	c.Self, c.Leases = c.DB.As(owner), &Leases{}
	defer c.Self.Close()
	own, err := c.Self.Owned(ctx)
	if err != nil {
		return err
	}
	rows, err := own.Rows(ctx, false)
	if err != nil {
		return err
	}
	runs, failed := c.restoreAll(own, rows, ids)
	var finishing sync.WaitGroup
	for _, r := range runs {
		finishing.Go(func() { (&orphan{r}).finishAlone(nil) })
	}
	finishing.Wait()
	return failed
}

// restoreAll returns the runs of rows that this process owns, with the locks that it has inherited
// for the ids. A run whose task cannot be read ends as lost, and delays no other.
func (c Caller) restoreAll(own state.Owned, rows []state.Row, ids []string) (runs []*Run, failed error) {
	for _, row := range rows { // all before the first hook: it would inherit the locks of other runs
		r, err := c.restoreOrLose(own, row)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.sharesProcess = true
		if i := slices.Index(ids, row.ID); i >= 0 {
			r.adopt(inheritedFrom(firstDescriptor + i*descriptorsEach))
		}
		runs = append(runs, r)
	}
	return runs, failed
}

// takeOver goes on with a run of this owner whose supervisor was killed, and whose commands are now
// children of this process.
func (c Caller) takeOver(row state.Row) (*Run, error) {
	own, err := c.Self.Owned(context.Background())
	if err != nil {
		return nil, err
	}
	r, err := c.restore(own, row)
	if err != nil {
		return nil, err
	}
	if err := r.reopenOutput(); err != nil {
		return nil, err
	}
	r.adopt(nil)
	r.leftover = newLeftover(r)
	return r, nil
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
	snapshot, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	row.Snapshot = snapshot
	row.Output = output.Path(c.Dir, row)
	captured, err := output.Open(row.Output)
	if err != nil && c.DB.InMemory() { // what cannot be kept is not printed anywhere
		row.Output = ""
		captured, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	row.Pool = task.Pool.Name
	r := c.newRun(*task, row)
	r.lock, r.output = lock, captured
	return &Prepared{r}, nil
}

// Skip settles that a slot does not run, and fires the on_skip hooks of its task. The row has
// the outcome. The row that Skip returns also has the notes about hooks that failed. A tick that
// is killed meanwhile leaves a row that is finishing, and the next one fires the hooks that have
// not ended. The error is *state.StaleError when another process has the row.
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
	r := c.newRun(*task, row)
	r.row.own, r.row.Phase, r.row.Owner = own, state.Finishing, own.ID
	return r.finish(row), nil
}

// FailUnbegun fails a slot that no folder could hold, for the reason why: it fires the hooks that
// come after a failed run, and returns the row with the notes about hooks that failed. It releases
// the lock (nil: none) between commands and notifications.
func (c Caller) FailUnbegun(row state.Row, task *schedule.Task, lock mutex.Lock, why error) state.Row {
	row.Outcome, row.Ended, row.Reason = outcome.Failed, clock.Now(), fmt.Sprintf("cannot begin: %v", why)
	r := c.newRun(*task, row)
	r.lock, r.row.unstored = lock, true
	return r.finish(row)
}

// newRun returns a run without its row, its lock and its output.
func (c Caller) newRun(task schedule.Task, row state.Row) *Run {
	r := &Run{Caller: c, task: task}
	r.row.Row, r.row.self = row, c.Self
	r.hooks = &hooks{run: r, marks: hookMarks{&r.row}}
	return r
}

// hasStarted reports whether a command or a hook of the run was started, even if that could not be
// written down.
func (c Caller) hasStarted(row state.Row) bool {
	if row.Attempted() || UnrecordedStarts(c.Dir, row) > 0 {
		return true
	}
	hooks, err := c.DB.Hooks(context.Background(), row.ID)
	return err == nil && len(hooks) > 0
}

// restore returns the run of a row that belongs to this process now, without its lock and its
// output.
func (c Caller) restore(own state.Owned, row state.Row) (*Run, error) {
	starts := UnrecordedStarts(c.Dir, row)
	if starts > 0 { // this process must not start the attempts again
		row.Phase, row.Attempt.Number, row.Attempt.PID = state.Running, row.Attempt.Number+starts, 0
	}
	r := c.newRun(schedule.Task{}, row)
	r.row.own, r.startsUnrecorded = own, starts
	if err := json.Unmarshal(row.Snapshot, &r.task); err != nil {
		return nil, fmt.Errorf("run %s: its task cannot be read: %w", row.ID, err)
	}
	return r, nil
}

// Overdue fires the on_overdue hooks of a task that the incident in the row is about, each once:
// the database notes which have ended. It returns notes about hooks that failed. The caller makes
// sure that no other process does the same.
func (c Caller) Overdue(row state.Row, task *schedule.Task) (notes []string) {
	r := c.newRun(*task, row)
	r.row.own = c.DB.Unowned()
	fired := keyedHooks{key: "on_overdue", hooks: task.Hooks.OnOverdue}
	notes = r.hooks.runCommands(fired, row)
	r.hooks.queueMessages(fired, row)
	r.hooks.send()
	return notes
}

// Stop ends the command of a live run (TERM, and KILL after the task's kill_after), and waits until
// the run has ended. A run that waits for its next attempt ends at once. The text by names who
// stops it. The error is
//
//   - ErrNotRunning, with the result, if the command has ended already;
//   - ErrVanished if the run is lost;
//   - state.ErrNotFound if there is no such run;
//   - any other error, which says why the run goes on.
func (c Caller) Stop(id, by string) (Stopping, error) {
	defer c.DB.CloseIfIdle(0)
	return c.stopBecause(id, state.Stop{By: by, At: clock.Now().UTC()})
}

// StopForPause is Stop by a pause, which the reason of the outcome names.
func (c Caller) StopForPause(id, by, reason string) error {
	_, err := c.stopBecause(id, state.Stop{By: by, At: clock.Now().UTC(), Reason: reason, Kind: outcome.Paused})
	return err
}

// stopBecause is Stop for each reason: by a person, by a newer run, or by a pause.
func (c Caller) stopBecause(id string, why state.Stop) (Stopping, error) {
	ctx := context.Background()
	row, err := c.DB.Runs().Row(ctx, id)
	switch {
	case err != nil:
		return Stopping{}, err
	case row.Phase == state.Ended, row.Pending():
		return Stopping{}, state.ErrNotFound
	case row.Outcome != "":
		return Stopping{Record: row}, ErrNotRunning
	case !row.Waits() && !c.DB.Owners().Alive(row.Owner):
		return Stopping{}, ErrVanished
	}
	var task schedule.Task
	if err := json.Unmarshal(row.Snapshot, &task); err != nil {
		return Stopping{}, fmt.Errorf("run %s: its task cannot be read: %w", id, err)
	}
	err = c.DB.Runs().AskStop(ctx, id, why)
	if err != nil && !errors.As(err, new(*state.OverError)) { // else it has ended meanwhile, and follow reports how
		return Stopping{}, err
	}
	s := stopper{caller: c, id: id, user: task.As.User, killAfter: task.KillAfter}
	err = s.follow()
	s.ending.Wait()
	return s.Stopping, err
}

// NewCaller returns the Caller of a process that owns rows of the storage as that kind, and that
// nobody asks to end.
func NewCaller(storage Storage, kind state.OwnerKind, environ []string) Caller {
	return Caller{
		Storage:   storage,
		Self:      storage.DB.Self(kind),
		Environ:   environ,
		Terminate: context.Background(),
	}
}
