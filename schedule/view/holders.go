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

// HeldBy says which of the live runs holds the mutex of a task. It returns "" when the mutex is
// free, or the task needs no mutex.
func HeldBy(live []state.Row, t *schedule.Task) string {
	if !t.WithoutOverlapping {
		return ""
	}
	for _, row := range live {
		if row.Locked && row.Mutex == t.Mutex && !row.Waits() {
			return "by " + row.Task + " " + run.HolderOf(row).String()
		}
	}
	return ""
}

// A Pool says which runs have the seats of a pool at one moment.
type Pool struct {
	Name    string `json:"pool"`
	Seats   int    `json:"seats"`
	Holders []Seat `json:"holders"` // of the seats that are taken

	mutexHolders []mutex.Holder // Holders, exactly
}

// A Seat is a run that has a seat of a pool.
type Seat struct {
	Task string `json:"task"`
	Running
}

// Pool returns the runs that have the seats of a pool; nil for a task without a pool. The live runs
// are runs of this machine. If the schedule's store does not answer, Pool reports that and leaves
// out the runs of other servers.
func (s Source) Pool(ctx context.Context, live []state.Row, pool schedule.Pool) *Pool {
	if pool.Name == "" {
		return nil
	}
	holders, err := run.Storage{Dir: s.Schedule.StateDir, Store: s.Controls.Store}.SeatHolders(ctx, live, pool)
	if err != nil {
		s.LeftOut(err)
	}
	return poolOf(pool, holders)
}

func poolOf(pool schedule.Pool, holders []mutex.Holder) *Pool {
	p := &Pool{Name: pool.Name, Seats: pool.Seats, Holders: []Seat{}, mutexHolders: holders}
	for _, holder := range holders {
		p.Holders = append(p.Holders, Seat{holder.Task, runningOf(holder)})
	}
	return p
}

// Full says in words that every seat is taken, and by whom. It returns "" while a seat is free, and
// for nil.
func (p *Pool) Full() string {
	if p == nil || len(p.mutexHolders) < p.Seats {
		return ""
	}
	return (&mutex.FullError{Pool: p.Name, Seats: p.Seats, Holders: p.mutexHolders}).Error()
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

// poolsOf returns the pools of a schedule with the seats that runs of this machine have.
func poolsOf(h *Health) []Pool {
	pools := []Pool{}
	var live []state.Row
	for _, t := range h.Tasks {
		live = append(live, t.Running...)
	}
	for _, p := range h.Schedule.Pools {
		// Without a store only the seats of this machine are asked for, so no error comes.
		holders, _ := run.Storage{}.SeatHolders(context.Background(), live, p)
		pools = append(pools, *poolOf(p, holders))
	}
	return pools
}
