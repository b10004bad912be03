package view

import (
	"context"
	"fmt"
	"strings"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Pool says which runs have the seats of a pool at one moment.
type Pool struct {
	Name    string `json:"pool"`
	Seats   int    `json:"seats"`
	Holders []Seat `json:"holders"` // of the seats that are taken

	holders []mutex.Holder
}

// A Seat is a run that has a seat of a pool.
type Seat struct {
	Task string `json:"task"`
	Running
}

// Pool returns the runs that have the seats of a pool; nil for a task without a pool. The live runs
// are runs of this machine. If the schedule's store does not answer, Pool reports that and leaves
// out the runs of other servers.
func (s Source) Pool(ctx context.Context, live []state.Row, of schedule.Pool) *Pool {
	if of.Name == "" {
		return nil
	}
	holders, err := run.Storage{Dir: s.Schedule.StateDir, Store: s.Controls.Store}.Sitting(ctx, live, of)
	if err != nil {
		s.LeftOut(err)
	}
	return poolOf(of, holders)
}

func poolOf(of schedule.Pool, holders []mutex.Holder) *Pool {
	p := &Pool{Name: of.Name, Seats: of.Seats, Holders: []Seat{}, holders: holders}
	for _, holder := range holders {
		p.Holders = append(p.Holders, Seat{holder.Task, runningOf(holder)})
	}
	return p
}

// Full says in words that every seat is taken, and by whom. It returns "" while a seat is free, and
// for nil.
func (p *Pool) Full() string {
	if p == nil || len(p.holders) < p.Seats {
		return ""
	}
	return (&mutex.FullError{Pool: p.Name, Seats: p.Seats, Holders: p.holders}).Error()
}

// Text says how many seats are taken, and by which tasks: "pool db: 1 of 2 (report)".
func (p *Pool) Text() string {
	var tasks []string
	for _, seat := range p.Holders {
		tasks = append(tasks, seat.Task)
	}
	text := fmt.Sprintf("pool %s: %d of %d", p.Name, len(p.Holders), p.Seats)
	if len(tasks) > 0 {
		text += " (" + strings.Join(tasks, ", ") + ")"
	}
	return text
}
