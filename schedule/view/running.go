package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Running is a run that lives.
type Running struct {
	Run   string `json:"run"`
	PID   *int   `json:"pid"` // null until the command has started
	Host  string `json:"host"`
	Since string `json:"since"` // empty if the holder of a lock did not write it down

	LastReported *string `json:"last_told"` // when its server last reported the run; null unless it is silent now

	Began time.Time `json:"-"` // the time of Since, exactly
}

func runningOfRow(row state.Row) Running {
	r := runningOf(run.HolderOf(row))
	r.LastReported = timeOrNil(row.LastReported)
	return r
}

func runningOf(holder mutex.Holder) Running {
	since := ""
	if !holder.Since.IsZero() {
		since = timeText(holder.Since)
	}
	return Running{Run: holder.Run, PID: pidOrNil(holder.PID), Host: holder.Host, Since: since, Began: holder.Since}
}

// pidOrNil is nil for 0, which stands for a command that has not started yet.
func pidOrNil(pid int) *int {
	if pid == 0 {
		return nil
	}
	return &pid
}

// RunningText says how long a run has lived, and on which machine.
func RunningText(row state.Row, now time.Time) string {
	holder := run.HolderOf(row)
	if !row.LastReported.IsZero() {
		return "it was running " + LastReportedText(row, now) + ", " + holder.String()
	}
	if holder.PID == 0 {
		return "it is starting " + holder.String()
	}
	return fmt.Sprintf("it has been running for %s, %s", humanize.Duration(now.Sub(holder.Since)), holder)
}

// LastReportedText says when a silent server last reported. A run on that server may have ended.
func LastReportedText(row state.Row, now time.Time) string {
	return fmt.Sprintf("%s ago, when %s said something last", humanize.Duration(now.Sub(row.LastReported)), row.Server)
}

// HolderOf says which of the live runs holds the mutex of a task. It returns "" when the mutex is
// free, or the task needs no mutex.
func HolderOf(live []state.Row, t *schedule.Task) string {
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
	holders, err := run.Storage{Dir: s.Schedule.StateDir, Store: s.Controls.Store}.SeatHolders(ctx, live, of)
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
