package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A Waiting is a run that waits: a requested run, a next attempt, or a slot that was delayed.
type Waiting struct {
	Run        string             `json:"run"`
	At         humanize.JSONTime  `json:"at"`
	Attempt    int                `json:"attempt"`
	Origin     string             `json:"origin"`
	LockSince  *humanize.JSONTime `json:"held"`        // since when it waits for its mutex or a seat of its pool; else null
	LockUntil  *humanize.JSONTime `json:"until"`       // when that wait ends at the latest, once the run has begun; else null
	StoreUntil *humanize.JSONTime `json:"store"`       // when its wait for the store ends at the latest; else null
	PauseUntil *humanize.JSONTime `json:"after_pause"` // of a slot: when its wait for the end of a pause ends at the latest; else null

	Slot time.Time `json:"-"` // the slot of the run; At for a run that was asked for

	kind   waitKind
	since  time.Time // the time of LockSince, exactly
	until  time.Time // the time of LockUntil, StoreUntil or PauseUntil, exactly
	reason string    // forStore: why the store was of no use; forPauseEnd: who paused the task
	free   string    // forLock, forLockedTick: until what, in words: "its mutex is free"
	pause  *Pause    // forResume: the pause of its task
}

// A waitKind says what a run waits for.
type waitKind int

const (
	forTick       waitKind = iota // the tick of its time
	forLockedTick                 // a tick that finds its mutex and a seat free
	forResume                     // as forTick or forLockedTick, but first for the end of its task's pause
	forLock                       // begun: its mutex or a seat, for which a process waits
	forTurn                       // begun: its mutex or a seat, and the runs of earlier slots
	forStore                      // a slot of the schedule: the store
	forPauseEnd                   // a slot of the schedule: the end of a pause
)

// WaitingRuns returns what waits, by task, in the order of time. The live runs come from Records.
// Waiting calls pauses only if something waits.
func WaitingRuns(s Source, live []state.Row, pauses func() pause.Pauses) map[string][]Waiting {
	all := map[string][]Waiting{}
	for _, row := range live {
		if row.Waits() {
			all[row.Task] = append(all[row.Task], waitingOf(s, live, row))
		}
	}
	if len(all) == 0 {
		return all
	}
	paused := pauses()
	for name, waits := range all {
		slices.SortStableFunc(waits, func(a, b Waiting) int { return a.At.Compare(b.At.Time) })
		t, err := FindTask(s.Schedule, name)
		if err != nil {
			continue
		}
		if inEffect := PauseOf(paused, t, s.Now()); inEffect != nil {
			for i := range waits {
				if w := &waits[i]; w.kind == forTick || w.kind == forLockedTick {
					w.kind, w.pause = forResume, inEffect
				}
			}
		}
	}
	return all
}

// waitingOf returns for what a run waits. It does not know whether the task is paused.
func waitingOf(s Source, live []state.Row, row state.Row) Waiting {
	w := Waiting{
		Run:     row.ID,
		Attempt: 1,
		Origin:  row.Origin,
		At:      humanize.UTC(row.Slot),
		Slot:    row.Slot,
		kind:    forTick,
		since:   row.Wait.Since,
		until:   row.Wait.Until,
	}
	until := humanize.UTCOrNil(row.Wait.Until)
	switch {
	case row.DelayedSlot() && row.Wait.For == state.ForPause:
		w.kind, w.PauseUntil, w.reason = forPauseEnd, until, row.Reason
	case row.DelayedSlot():
		w.kind, w.StoreUntil, w.reason = forStore, until, row.Reason
	case row.Queued() && row.CatchesUp():
		w.kind, w.LockUntil = forTurn, until
	case row.Queued():
		w.kind, w.LockUntil = forLock, until
	case !row.Wait.Since.IsZero():
		w.kind = forLockedTick
	}
	if !row.DelayedSlot() {
		w.LockSince, w.free = humanize.UTCOrNil(row.Wait.Since), locksFreeText(s, row.Task)
	}
	if w.kind == forLockedTick && locksAreFree(s, live, row.Task) {
		w.free = "the next tick"
	}
	if row.Deferred() {
		w.At, w.Attempt = humanize.UTC(row.Wait.NotBefore), row.Attempt.Number+1
	}
	return w
}

// locksAreFree reports whether a run of the task could have its locks now. It asks no store: with
// one it returns false.
func locksAreFree(s Source, live []state.Row, task string) bool {
	t, err := FindTask(s.Schedule, task)
	if err != nil || s.Controls.Store != nil {
		return false
	}
	need := holding.NeedOf(t)
	held, _ := holding.Storage{}.Holders(context.Background(), live, need) // without a store no error comes
	_, isHeld := held[need.Mutex]
	return !isHeld && (need.Pool == "" || len(need.SeatHolders(held)) < need.Seats)
}

// locksFreeText says that the locks that a run of the task needs are free.
func locksFreeText(s Source, task string) string {
	t, err := FindTask(s.Schedule, task)
	switch {
	case err != nil || t.Pool.Name == "":
		return "its mutex is free"
	case t.WithoutOverlapping:
		return "its mutex, or a seat of pool " + t.Pool.Name + ", is free"
	}
	return "a seat of pool " + t.Pool.Name + " is free"
}

// Text says what the run waits for, at the time now.
func (w Waiting) Text(now time.Time, zone *time.Location) string {
	text := "waiting"
	if w.Attempt > 1 {
		text = fmt.Sprintf("waiting for attempt %d", w.Attempt)
	}
	text += w.waitsFor(now, zone)
	if w.Origin != "" {
		text += " (" + w.Origin + ")"
	}
	return text
}

// waitsFor returns what Text writes after the word waiting.
func (w Waiting) waitsFor(now time.Time, zone *time.Location) string {
	minute := func(t time.Time) string { return humanize.MinuteNearZone(t, now, zone) }
	latest := ", until " + minute(w.until) + " at the latest"
	switch w.kind {
	case forStore:
		return " for the store" + latest + ": " + w.reason
	case forPauseEnd:
		return latest + ": " + w.reason
	case forTurn:
		return " for " + humanize.Age(w.since, now) + " for its turn" + latest
	case forLock:
		return " for " + humanize.Age(w.since, now) + " until " + w.free + latest
	case forLockedTick:
		return " until " + w.free
	case forResume:
		if end := w.pause.Raw.Until; !end.IsZero() {
			return " until " + minute(TickAt(end)) + ", when its pause is over"
		}
		return " until it is resumed"
	}
	return " until " + minute(TickAt(w.At.Time))
}

// isDelayed reports whether the run is a slot of the schedule that was delayed.
func (w Waiting) isDelayed() bool { return w.kind == forStore || w.kind == forPauseEnd }

// TickAt returns the minute of the first tick at or after a time.
func TickAt(at time.Time) time.Time { return at.Add(time.Minute - 1).Truncate(time.Minute) }

// reportWait reports what a run waits for, if it has begun and waits.
func reportWait(s Source, row state.Row) {
	id := humanize.ShortRun(row.ID)
	if row.Queued() {
		s.Problem("run %s waits for its turn", id)
	}
	if row.Deferred() {
		until := row.Wait.NotBefore
		s.Problem("run %s waits for attempt %d, until %s", id, row.Attempt.Number+1,
			humanize.MinuteNearZone(TickAt(until), s.Now(), s.Schedule.Location))
	}
}

// RefuseWaiting returns the error of a command for a run that waits and has not begun; nil for an
// empty row.
func RefuseWaiting(s Source, r state.Row) error {
	if r.ID == "" {
		return nil
	}
	waits := "until " + humanize.MinuteNearZone(TickAt(r.Slot), s.Now(), s.Schedule.Location)
	switch {
	case r.DelayedSlot() && r.Wait.For == state.ForPause:
		waits = "for the end of a pause"
	case r.DelayedSlot():
		waits = "for the store"
	}
	id := humanize.ShortRun(r.ID)
	return Fail(Conflict, "`sched trigger --cancel "+id+"` takes it back",
		"run %s of %s has not begun: it waits %s", id, r.Task, waits)
}

// A Request is a run that was asked for.
type Request struct {
	Run    string            `json:"run"`
	Task   string            `json:"task"`
	At     humanize.JSONTime `json:"at"`
	Tick   humanize.JSONTime `json:"tick"`
	Origin string            `json:"origin"`
	Server string            `json:"server"` // the server that will run it

	NoChain bool              `json:"no_chain"`         // its hooks trigger no other task
	Params  map[string]string `json:"params,omitempty"` // the values that were set for it
	Record  *Record           `json:"record,omitempty"` // how it ended, if somebody waited for that
}

// RequestOf returns a request that the tick of that minute, on that server, will answer.
func RequestOf(r state.Row, tick time.Time, server string) Request {
	return Request{
		Run:     r.ID,
		Task:    r.Task,
		At:      humanize.UTC(r.Slot),
		Tick:    humanize.UTC(tick),
		Origin:  r.Origin,
		Server:  server,
		NoChain: r.NoChain,
		Params:  r.Params,
	}
}
