package view

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A Running is a run that lives.
type Running struct {
	Run   string            `json:"run"`
	PID   *int              `json:"pid"` // null until the command has started
	Host  string            `json:"host"`
	Since humanize.JSONTime `json:"since"` // empty if the holder of a lock did not write it down

	LastReported *humanize.JSONTime `json:"last_told"` // when its server last reported the run; null unless it may have ended since

	Ended       bool `json:"-"` // its command has ended, and that is not recorded yet
	NextAttempt int  `json:"-"` // the number of the attempt that comes after a delay; 0 during an attempt
}

func runningOfRow(row state.Row) Running {
	r := runningOf(holding.HolderOf(row))
	r.LastReported = humanize.UTCOrNil(row.LastReported)
	if r.Ended = CommandEnded(row); r.Ended {
		r.PID = nil
	}
	if row.BetweenAttempts() {
		r.NextAttempt = row.Attempt.Number + 1
	}
	return r
}

// Silent reports whether nothing was heard of the server of the run for so long that its locks are
// over.
func (r Running) Silent(now time.Time) bool {
	return r.LastReported != nil && now.Sub(r.LastReported.Time) >= cluster.QuietAfter
}

// CommandEnded reports whether the command of a live run of this machine has ended. The process
// that watches the run fires its hooks then, or cannot record the end.
func CommandEnded(row state.Row) bool {
	isHere := row.Owner != 0 // what the store knows of other servers has no owner
	hasPID := row.Phase == state.Running && row.Attempt.PID > 0
	return isHere && hasPID && errors.Is(unix.Kill(row.Attempt.PID, 0), unix.ESRCH)
}

func runningOf(holder mutex.Holder) Running {
	return Running{Run: holder.Run, PID: orNil(holder.PID), Host: holder.Host, Since: humanize.UTC(holder.Since)}
}

// RunningText says how long a run has lived, and on which machine.
func RunningText(row state.Row, now time.Time, zone *time.Location) string {
	holder := holding.HolderOf(row)
	held := holder.Text(zone)
	if !row.LastReported.IsZero() {
		return "it was running " + LastReportedText(row, now) + ", " + held
	}
	if CommandEnded(row) {
		return "its command has ended, and what became of it is not recorded yet, " + held
	}
	if row.BetweenAttempts() {
		return fmt.Sprintf("attempt %d failed (%s), and attempt %d comes at %s, %s", row.Attempt.Number, row.Reason,
			row.Attempt.Number+1, humanize.SecondZone(row.Wait.NotBefore, zone), held)
	}
	isHere := row.Owner != 0
	if holder.PID == 0 && isHere { // another server may have announced it before its command started
		return "it is starting " + held
	}
	return fmt.Sprintf("it has been running for %s, %s", humanize.Age(holder.Since, now), held)
}

// LastReportedText says when another server last reported a run, which may have ended since.
func LastReportedText(row state.Row, now time.Time) string {
	return fmt.Sprintf("%s ago, when %s said something last", humanize.Age(row.LastReported, now), row.Server)
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

// HoldersOf returns the run that has the mutex of a task, and the pool of the task. The holder is
// nil if the mutex is free, or the task needs none; the pool is nil if it has none. The live runs
// are runs of this machine. If the schedule's store does not answer, HoldersOf reports that and
// leaves out the runs of other servers.
func HoldersOf(ctx context.Context, s Source, live []state.Row, t *schedule.Task) (holder *mutex.Holder, pool *Pool) {
	need := holding.NeedOf(t)
	if need.Mutex == "" && need.Pool == "" {
		return nil, nil
	}
	held, err := holding.Storage{Dir: s.Schedule.StateDir, Store: s.Controls.Store}.Holders(ctx, live, need)
	if err != nil {
		s.LeftOut(err)
	}
	if found, isHeld := held[need.Mutex]; isHeld {
		holder = &found
	}
	if need.Pool != "" {
		pool = poolOf(t.Pool, need.SeatHolders(held))
	}
	return holder, pool
}

// HeldText says which run has a mutex; "" for nil.
func HeldText(holder *mutex.Holder, zone *time.Location) string {
	if holder == nil {
		return ""
	}
	text := holder.Text(zone)
	if holder.Task != "" {
		text = "by " + humanize.Line(holder.Task) + " " + text
	}
	return text
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
func (p *Pool) Full(zone *time.Location) string {
	if p == nil || len(p.mutexHolders) < p.Seats {
		return ""
	}
	return (&mutex.FullError{Pool: p.Name, Seats: p.Seats, Holders: p.mutexHolders}).Text(zone)
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
		holders, _ := holding.Storage{}.SeatHolders(context.Background(), live, p)
		pools = append(pools, *poolOf(p, holders))
	}
	return pools
}
