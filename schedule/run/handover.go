package run

import (
	"context"
	"fmt"
	"os"

	"sched/schedule/run/output"
	"sched/schedule/state"
)

// Descriptors are what a process needs to go on with a run that another one began.
type Descriptors struct {
	Output *os.File
	Locks  []*os.File // of the mutex and of the seat; none where the run has none
}

// GiveTo makes the supervisor the owner of the run, and returns what that needs besides the row.
// From here on the run is alive as long as the supervisor or its witness lives.
func (r *Run) GiveTo(supervisor int64) (Descriptors, error) {
	if r.output == nil { // a deferred retry: what it prints follows the attempts before
		captured, err := output.Open(r.record.Output)
		if err != nil {
			return Descriptors{}, err
		}
		r.output = captured
	}
	err := r.write(func(ctx context.Context) error { return r.own.HandOver(ctx, supervisor, r.row.ID) },
		func(row *state.Row) { row.Owner = supervisor })
	return Descriptors{r.output, r.inheritedLocks()}, err
}

// TakeBack makes a run ours again that its supervisor did not get. After an error it is still the
// supervisor's.
func (r *Run) TakeBack() error {
	return r.write(func(ctx context.Context) error { return r.own.Take(ctx, r.row) }, func(row *state.Row) { row.Owner = r.own.ID })
}

// Receive returns a run that another process has given to this one, with its descriptors, which
// belong to it then.
func (c Caller) Receive(id string, d Descriptors) (*Run, error) {
	ctx := context.Background()
	own, err := c.Self.Owned(ctx)
	if err != nil {
		return nil, err
	}
	row, err := c.DB.Runs().Row(ctx, id)
	if err == nil && row.Owner != own.ID {
		err = fmt.Errorf("run %s was not given to this process", id)
	}
	if err != nil {
		return nil, err
	}
	r, err := c.restore(own, row)
	if err != nil {
		return nil, err
	}
	r.output = d.Output
	r.adopt(d.Locks)
	return r, nil
}
