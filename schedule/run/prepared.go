package run

import (
	"context"
	"os"

	"sched/schedule/state"
)

// This file is about how a run begins: its output is opened, and then its row is written. The end
// of the file is for slots that do not get that far.

// A Prepared is a run that is about to begin: its output is open, and its row has yet to be
// written. Its lock belongs to it until it has begun, with Begin, BeginIn or Supervisors.Begin.
// When it can begin nowhere, FailUnbegun or Abandon releases the lock.
type Prepared struct{ run *Run }

// Row is the row that is yet to be written.
func (p *Prepared) Row() state.Row { return p.run.Row() }

// InMemory reports whether no other process can see the run.
func (p *Prepared) InMemory() bool { return p.run.DB.InMemory() }

// Begin writes down that the run is about to start in this process. The lock belongs to the run
// then; after an error it still belongs to p. The error is *state.StaleError if another process has
// the row.
func (p *Prepared) Begin() (*Run, error) {
	r, ctx := p.run, context.Background()
	own, err := r.Self.Owned(ctx)
	if err == nil {
		err = own.Begin(ctx, r.row.Row)
	}
	switch {
	case err == nil:
		return p.begun(own, own.ID), nil
	case isStale(err): // the file is the output of that process
		r.output.Close()
	default:
		p.discardOutput()
	}
	return nil, err
}

// BeginIn is Begin in another storage than the one that the run was prepared for.
func (p *Prepared) BeginIn(c Caller) (*Run, error) {
	p.discardOutput()
	return c.Begin(p.run.row.Row, &p.run.task, p.run.lock)
}

// begun returns the run when its row was written. The row belongs to the owner: to this process,
// which is own, or to a supervisor.
func (p *Prepared) begun(own state.Owned, owner int64) *Run {
	r := p.run
	r.row.own, r.row.Phase, r.row.Owner = own, state.Ready, owner
	return r
}

// FailUnbegun fails a run that could not begin anywhere: see Caller.FailUnbegun.
func (p *Prepared) FailUnbegun(why error) state.Row {
	return p.run.Caller.FailUnbegun(p.run.row.Row, &p.run.task, p.run.lock, why)
}

// FailBeforeStart begins the run in this process, and fails it: see Run.FailBeforeStart.
func (p *Prepared) FailBeforeStart(why error, printed []byte) state.Row {
	r, err := p.Begin()
	if err != nil {
		return p.FailUnbegun(err)
	}
	return r.FailBeforeStart(why, printed)
}

// Abandon releases the lock of a run that another process has.
func (p *Prepared) Abandon() {
	p.run.output.Close()
	p.run.releaseLock()
}

// discardOutput removes the output of a run that does not begin here.
func (p *Prepared) discardOutput() {
	p.run.output.Close()
	if p.run.row.Output != "" {
		os.Remove(p.run.row.Output)
	}
}
