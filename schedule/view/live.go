package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
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
	return fmt.Sprintf("it has been running for %s, %s", humanize.Duration(now.Sub(holder.Since)), holder)
}

// LastReportedText says when a silent server last reported. A run on that server may have ended.
func LastReportedText(row state.Row, now time.Time) string {
	return fmt.Sprintf("%s ago, when %s said something last", humanize.Duration(now.Sub(row.LastReported)), row.Server)
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
	waited := humanize.Duration(max(0, now.Sub(w.since)))
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
		text += " until " + humanize.MinuteNear(FirstTick(until, until.Add(-1)), now, zone) + ", when its pause is over"
	case w.pause != nil:
		text += " until it is resumed"
	case w.Held != nil:
		text += " until " + needs + " is free"
	default:
		text += " until " + humanize.MinuteNear(FirstTick(w.Time, w.Time.Add(-1)), now, zone)
	}
	if w.Origin != "" {
		text += " (" + w.Origin + ")"
	}
	return text
}

// FirstTick returns the minute of the first tick after now for which at is in the past.
func FirstTick(at, now time.Time) time.Time {
	minute := at.Truncate(time.Minute)
	if minute.Before(at) || !minute.After(now) {
		minute = minute.Add(time.Minute)
	}
	return minute
}

// A Request is a run that was asked for.
type Request struct {
	Run    string `json:"run"`
	Task   string `json:"task"`
	At     string `json:"at"`
	Tick   string `json:"tick"`
	Origin string `json:"origin"`
	Server string `json:"server"` // the server that will run it

	NoChain bool              `json:"no_chain"`         // its hooks trigger no other task
	Params  map[string]string `json:"params,omitempty"` // the values that were set for it
}

// RequestOf returns a request that the tick of that minute, on that server, will answer.
func RequestOf(r state.Row, tick time.Time, server string) Request {
	return Request{
		Run:     r.ID,
		Task:    r.Task,
		At:      timeText(r.Slot),
		Tick:    timeText(tick),
		Origin:  r.Origin,
		Server:  server,
		NoChain: r.NoChain,
		Params:  r.Params,
	}
}
