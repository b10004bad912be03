package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/pause"
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
	return Running{Run: holder.Run, PID: orNil(holder.PID), Host: holder.Host, Since: since, Began: holder.Since}
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
	return fmt.Sprintf("it has been running for %s, %s", humanize.Age(holder.Since, now), holder)
}

// LastReportedText says when a silent server last reported. A run on that server may have ended.
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

// Holders says in words which run has the mutex of a task, and returns the pool of the task. The
// words are empty if the mutex is free, or the task needs none; the pool is nil if it has none. The
// live runs are runs of this machine. If the schedule's store does not answer, Holders reports that
// and leaves out the runs of other servers.
func (s Source) Holders(ctx context.Context, live []state.Row, t *schedule.Task) (mutexHeld string, pool *Pool) {
	need := run.NeedOf(t)
	if need.Mutex == "" && need.Pool == "" {
		return "", nil
	}
	held, err := run.Storage{Dir: s.Schedule.StateDir, Store: s.Controls.Store}.Holders(ctx, live, need)
	if err != nil {
		s.LeftOut(err)
	}
	if holder, isHeld := held[need.Mutex]; isHeld {
		mutexHeld = holder.String()
		if holder.Task != "" {
			mutexHeld = "by " + humanize.Line(holder.Task) + " " + mutexHeld
		}
	}
	if need.Pool != "" {
		pool = poolOf(t.Pool, need.SeatHolders(held))
	}
	return mutexHeld, pool
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

// A Waiting is a requested run, a next attempt, or a slot that was kept or is paused.
type Waiting struct {
	Run        string  `json:"run"`
	At         string  `json:"at"`
	Attempt    int     `json:"attempt"`
	Origin     string  `json:"origin"`
	Held       *string `json:"held"`        // when it began to wait for its mutex or a seat of its pool; else null
	Until      *string `json:"until"`       // of a begun run: until when it waits for one of these at most; else null
	Store      *string `json:"store"`       // until when it waits for the store at the latest; else null
	AfterPause *string `json:"after_pause"` // of a slot: until when it waits for the end of a pause at most; else null

	Time  time.Time `json:"-"` // At, exactly
	Slot  time.Time `json:"-"` // the slot of the run; At for a run that was asked for
	pause *Pause    // of its task; nil for none
	needs string    // what its task needs, if that is not its mutex alone; else ""
	turn  bool      // it waits for the runs of earlier slots, too
	since time.Time // the time of Held, exactly
	until time.Time // the time of Until, Store or AfterPause, exactly
	why   string    // why the store was of no use, or who paused it
}

// Waiting returns what waits for a tick, by task, in the order of time. The live runs come from
// Records. Waiting calls pauses only if something waits.
func (s Source) Waiting(live []state.Row, pauses func() pause.Pauses) map[string][]Waiting {
	all := map[string][]Waiting{}
	for _, row := range live {
		if w, ok := waitingOf(s, row); ok {
			all[row.Task] = append(all[row.Task], w)
		}
	}
	for _, ofTask := range all {
		slices.SortStableFunc(ofTask, func(a, b Waiting) int { return a.Time.Compare(b.Time) })
	}
	if len(all) == 0 {
		return all
	}
	paused := pauses()
	for _, t := range s.Schedule.Tasks {
		for i := range all[t.Name] {
			all[t.Name][i].pause = PauseOf(paused, t, s.Now())
		}
	}
	return all
}

// waitingOf returns what a run waits for, without the pause of its task; false if it waits for
// nothing.
func waitingOf(s Source, row state.Row) (w Waiting, ok bool) {
	w = Waiting{
		Run:     row.ID,
		Attempt: 1,
		Origin:  row.Origin,
		Time:    row.Slot,
		Slot:    row.Slot,
		since:   row.Wait.Since,
		until:   row.Wait.Until,
	}
	switch {
	case row.Queued(), row.Deferred(), row.Requested():
		w.Held, w.needs = timeOrNil(row.Wait.Since), needs(s, row.Task)
	case row.DelayedSlot() && row.Wait.For == state.ForPause:
		w.AfterPause, w.why = timeOrNil(row.Wait.Until), row.Reason
	case row.DelayedSlot():
		w.Store, w.why = timeOrNil(row.Wait.Until), row.Reason
	default:
		return w, false
	}
	switch {
	case row.Queued():
		w.Until, w.turn = timeOrNil(row.Wait.Until), row.CatchesUp()
	case row.Deferred():
		w.Time, w.Attempt = row.Wait.NotBefore, row.Attempt.Number+1
	}
	w.At = timeText(w.Time)
	return w, true
}

// needs says what a run of a task waits for if that may be a seat; "" if it can only be its mutex.
func needs(s Source, name string) string {
	t, err := FindTask(s.Schedule, name)
	switch {
	case err != nil || t.Pool.Name == "":
		return ""
	case t.WithoutOverlapping:
		return "its mutex, or a seat of pool " + t.Pool.Name + ","
	}
	return "a seat of pool " + t.Pool.Name
}

// Text says what the run waits for, at the time now.
func (w Waiting) Text(now time.Time, zone *time.Location) string {
	text := "waiting"
	if w.Attempt > 1 {
		text = fmt.Sprintf("waiting for attempt %d", w.Attempt)
	}
	waited := humanize.Age(w.since, now)
	latest := "until " + humanize.MinuteNear(w.until, now, zone) + " at the latest"
	needs := cmp.Or(w.needs, "its mutex")
	switch {
	case w.Store != nil:
		return text + " for the store, " + latest + ": " + w.why
	case w.turn:
		text += " for " + waited + " for its turn, " + latest
	case w.Until != nil:
		text += " for " + waited + " until " + needs + " is free, " + latest
	case w.AfterPause != nil:
		return text + ", " + latest + ": " + w.why
	case w.pause != nil && !w.pause.Raw.Until.IsZero():
		until := w.pause.Raw.Until
		text += " until " + humanize.MinuteNear(TickAt(until), now, zone) + ", when its pause is over"
	case w.pause != nil:
		text += " until it is resumed"
	case w.Held != nil:
		text += " until " + needs + " is free"
	default:
		text += " until " + humanize.MinuteNear(TickAt(w.Time), now, zone)
	}
	if w.Origin != "" {
		text += " (" + w.Origin + ")"
	}
	return text
}

// TickAt returns the minute of the first tick at or after a time.
func TickAt(at time.Time) time.Time { return at.Add(time.Minute - 1).Truncate(time.Minute) }
