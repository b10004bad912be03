package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/run/holding"
	"sched/schedule/run/hook"
	"sched/schedule/state"
)

// This file is about how a run begins: its output is opened, and then its row is written. The end
// of the file is for slots that do not get that far.

// A Prepared is a run that is about to begin: its output is open, and its row has yet to be
// written. Its lock belongs to it until it has begun, with Begin, BeginIn or Supervisors.Begin.
// When it can begin nowhere, FailUnbegun or Abandon releases the lock.
type Prepared struct{ run *Run }

// Row is the row that is yet to be written.
func (p *Prepared) Row() state.Row { return p.run.Own.Row }

// Storage is where the run is to begin.
func (p *Prepared) Storage() holding.Storage { return p.run.Storage }

// Begin writes down that the run is about to start in this process. The lock belongs to the run
// then; after an error it still belongs to p. The error is *state.StaleError if another process has
// the row.
func (p *Prepared) Begin() (*Run, error) {
	r, ctx := p.run, context.Background()
	own, err := r.Self.Owned(ctx)
	if err == nil {
		err = own.Begin(ctx, r.Own.Row)
	}
	switch {
	case err == nil:
		return p.begun(own, own.ID), nil
	case state.IsStale(err): // the file is the output of that process
		r.Output.Close()
	default:
		p.discardOutput()
	}
	return nil, err
}

// BeginToExecute is Begin for a run that Execute gets at once. If nothing comes between the
// beginning of the run and its first attempt, one step writes down both. A process that is killed
// then leaves the same work to the next tick as after Begin: what is left of the command is ended,
// and the run is lost.
func (p *Prepared) BeginToExecute() (*Run, error) {
	r := p.run
	isFirst := !hook.FiresBefore(&r.Task) && len(r.Task.Judge.Budgets()) == 0
	if r.Store == nil && !r.DB.InMemory() && isFirst {
		r.Own.Started = clock.Now()
		r.Own.Attempt = state.Attempt{Number: 1, At: r.Own.Started, Boot: clock.BootID()}
	}
	begun, err := p.Begin()
	if err != nil {
		r.Own.Started, r.Own.Attempt = time.Time{}, state.Attempt{}
	}
	return begun, err
}

// BeginIn is Begin in another storage than the one that the run was prepared for.
func (p *Prepared) BeginIn(other holding.Process) (*Run, error) {
	p.discardOutput()
	again, err := prepare(other, p.run.Own.Row, &p.run.Task, p.run.Lock)
	if err != nil {
		return nil, err
	}
	return again.Begin()
}

// BeginAs begins prepared runs of one storage as runs of a supervisor, all or none, with one write.
// After an error all are still prepared.
func BeginAs(supervisor *state.Owner, prepared ...*Prepared) (begun []*Run, err error) {
	ctx, first := context.Background(), prepared[0].run
	var rows []state.Row
	for _, p := range prepared {
		rows = append(rows, p.Row())
	}
	own, err := first.Self.Owned(ctx)
	if err == nil {
		err = first.DB.Owners().Owned(supervisor).Begin(ctx, rows...)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range prepared {
		begun = append(begun, p.begun(own, supervisor.ID))
	}
	return begun, nil
}

// begun returns the run when its row was written. The row belongs to the owner: to this process,
// which is own, or to a supervisor.
func (p *Prepared) begun(own state.Owned, owner int64) *Run {
	r := p.run
	r.Own.As, r.Own.Phase, r.Own.Owner = own, state.Ready, owner
	if r.Own.Attempted() {
		r.Own.Phase, r.IsAnnounced = state.Running, true
	}
	return r
}

// FailUnbegun fails a run that could not begin anywhere: see the function FailUnbegun.
func (p *Prepared) FailUnbegun(why error) state.Row {
	return FailUnbegun(p.run.Process, p.run.Own.Row, &p.run.Task, p.run.Lock, why)
}

// FailBeforeStart begins the run in this process, and fails it: see the function FailBeforeStart.
func (p *Prepared) FailBeforeStart(why error, printed []byte) state.Row {
	r, err := p.Begin()
	if err != nil {
		return p.FailUnbegun(err)
	}
	return FailBeforeStart(r, why, printed)
}

// Abandon releases the lock of a run that another process has.
func (p *Prepared) Abandon() {
	p.run.Output.Close()
	p.run.releaseLock()
}

// discardOutput removes the output of a run that does not begin here.
func (p *Prepared) discardOutput() {
	p.run.Output.Close()
	if p.run.Own.Output != "" {
		os.Remove(p.run.Own.Output)
	}
}

// prepare is Caller.Prepare.
func prepare(p holding.Process, row state.Row, task *schedule.Task, lock mutex.Lock) (*Prepared, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	row.Snapshot = snapshot
	row.Output = output.Path(p.Dir, row)
	captured, err := output.Open(row.Output)
	if err != nil && p.DB.InMemory() { // what cannot be kept is not printed anywhere
		row.Output = ""
		captured, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	row.Pool = task.Pool.Name
	r := newRun(p, *task, row)
	r.Lock, r.Output = lock, captured
	return &Prepared{r}, nil
}

// FailUnbegun fails a slot that no folder could hold, for the reason why: it fires the hooks that
// come after a failed run, and returns the row with the notes about hooks that failed. It releases
// the lock (nil: none) between commands and notifications.
func FailUnbegun(p holding.Process, row state.Row, task *schedule.Task, lock mutex.Lock, why error) state.Row {
	row.Outcome, row.Ended, row.Reason = outcome.Failed, clock.Now(), fmt.Sprintf("cannot begin: %v", why)
	r := newRun(p, *task, row)
	r.Lock, r.Own.Unstored = lock, true
	return Finish(r, row)
}
