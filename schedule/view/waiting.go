package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/state"
)

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
	since time.Time // the time of Held, exactly, if Until is set
	until time.Time // the time of Until, Store or AfterPause, exactly
	why   string    // why the store was of no use, or who paused it
}

// Waiting returns what waits for a tick, by task, in the order of time. The live runs come from
// Records. Waiting calls pauses only if something waits.
func (s Source) Waiting(live []state.Row, pauses func() pause.Pauses) map[string][]Waiting {
	all := map[string][]Waiting{}
	add := func(task string, w Waiting) {
		w.At = timeText(w.Time)
		all[task] = append(all[task], w)
	}
	for _, row := range live {
		w := Waiting{Run: row.ID, Time: row.Slot, Slot: row.Slot, Attempt: 1, Origin: row.Origin}
		switch {
		case row.Queued():
			w.Held, w.needs = timeOrNil(row.Wait.Since), needs(s, row.Task)
			w.Until, w.since, w.until = timeOrNil(row.Wait.Until), row.Wait.Since, row.Wait.Until
			w.turn = row.CatchesUp()
		case row.Deferred():
			w.Held, w.needs = timeOrNil(row.Wait.Since), needs(s, row.Task)
			w.Time, w.Attempt = row.Wait.NotBefore, row.Attempt.Number+1
		case row.Requested():
			w.Held, w.needs = timeOrNil(row.Wait.Since), needs(s, row.Task)
		case row.DelayedSlot() && row.Wait.For == state.ForPause:
			w.AfterPause, w.until, w.why = timeOrNil(row.Wait.Until), row.Wait.Until, row.Reason
		case row.DelayedSlot():
			w.Store, w.until, w.why = timeOrNil(row.Wait.Until), row.Wait.Until, row.Reason
		default:
			continue
		}
		add(row.Task, w)
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

// An Upcoming is a slot that is to come, or was to come.
type Upcoming struct {
	Task   string `json:"task"`
	Slot   string `json:"slot"`   // UTC
	Unmet  string `json:"unmet"`  // the condition of time that will keep it from running; empty: none
	Paused bool   `json:"paused"` // it will be skipped unless it is resumed

	At time.Time `json:"-"` // Slot, exactly
}

// Upcoming returns the slots at or after from and before to, ordered by time; slots of the same
// time come in file order. It returns at most limit slots. It begins after the slot of the task
// that after names; the zero value is before all slots. More reports whether there are others.
func (s Source) Upcoming(from, to time.Time, after Upcoming, limit int) (slots []Upcoming, more bool) {
	pauses := s.Pauses()
	names := TaskNames(s.Schedule)
	last := slices.Index(names, after.Task)
	if from.Before(after.At) {
		from = after.At
	}
	var next []dueTask
	for i, t := range s.Schedule.Tasks {
		start := from.Add(-1)
		if i <= last && from.Equal(after.At) {
			start = from
		}
		if at, ok := t.When.Next(start); ok && at.Before(to) && s.Schedule.Active(t) {
			next = append(next, dueTask{t, at})
		}
	}
	slots = []Upcoming{}
	for len(next) > 0 {
		if len(slots) == limit {
			return slots, true
		}
		first := 0
		for i := range next {
			if next[i].at.Before(next[first].at) {
				first = i
			}
		}
		t, at := next[first].task, next[first].at
		slots = append(slots, Upcoming{
			Task:   t.Name,
			Slot:   timeText(at),
			Unmet:  t.UnmetCondition(at),
			Paused: PauseOf(pauses, t, at) != nil,
			At:     at.UTC(),
		})
		if again, ok := t.When.Next(at); ok && again.Before(to) {
			next[first].at = again
		} else {
			next = slices.Delete(next, first, first+1)
		}
	}
	return slots, false
}

type dueTask struct {
	task *schedule.Task
	at   time.Time
}
