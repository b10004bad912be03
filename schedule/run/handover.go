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
	Locks  []*os.File // of the mutex and of the seat; empty if the run has neither
}

// GiveTo makes the supervisor the owner of runs of one storage. Prepared runs begin with that,
// either all of them or none. From here on the runs are alive as long as the supervisor or its
// witness lives.
func GiveTo(supervisor *state.Owner, runs ...*Run) error {
	ctx := context.Background()
	var begin []state.Row
	for _, r := range runs {
		if r.output == nil { // a deferred retry: its output follows the output of the attempts before
			captured, err := output.Open(r.row.Output)
			if err != nil {
				return err
			}
			r.output = captured
		}
		if r.prepared {
			begin = append(begin, r.row.Row)
			continue
		}
		if err := r.row.handOver(supervisor.ID); err != nil {
			return err
		}
	}
	if len(begin) == 0 {
		return nil
	}
	own, err := runs[0].Self.Owned(ctx)
	if err == nil {
		err = runs[0].DB.Owners().Owned(supervisor).Begin(ctx, begin...)
	}
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.prepared {
			r.begins(own, supervisor.ID)
		}
	}
	return nil
}

// A Receiver receives the runs that another process gives to this one.
type Receiver struct {
	Caller
	given map[string]state.Row // runs that were read and not received yet
}

// Receive returns a run with its descriptors, which belong to it then. Runs that were given
// together are read together.
func (c *Receiver) Receive(id string, d Descriptors) (*Run, error) {
	ctx := context.Background()
	own, err := c.Self.Owned(ctx)
	if err != nil {
		return nil, err
	}
	row, ok := c.given[id]
	if !ok {
		rows, err := own.Rows(ctx, true)
		if err != nil {
			return nil, err
		}
		c.given = map[string]state.Row{}
		for _, r := range rows {
			c.given[r.ID] = r
		}
		if row, ok = c.given[id]; !ok {
			return nil, fmt.Errorf("run %s was not given to this process", id)
		}
	}
	delete(c.given, id)
	r, err := c.restore(own, row)
	if err != nil {
		return nil, err
	}
	r.output = d.Output
	r.adopt(d.Locks)
	return r, nil
}
