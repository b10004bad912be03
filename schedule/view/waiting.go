package view

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule/runfile"
)

// A Waiting is what waits for a tick: a requested run, or the next attempt of one that failed.
type Waiting struct {
	Run     string  `json:"run"`
	At      string  `json:"at"`
	Attempt int     `json:"attempt"`
	Origin  string  `json:"origin"`
	Held    *string `json:"held"` // since when it waits for its mutex; null where it does not

	Time  time.Time `json:"-"` // At, exactly
	pause *Pause    // of its task; nil for none
}

// Waiting returns what waits for a tick, by task, the first to come first. The live runs are those of records.Records.
func (s Source) Waiting(live []runfile.State) map[string][]Waiting {
	all := map[string][]Waiting{}
	add := func(task, run string, at time.Time, attempt int, origin string, held time.Time) {
		all[task] = append(all[task], Waiting{run, timeText(at), attempt, origin, timeOrNil(held), at, nil})
	}
	for _, state := range live {
		if state.Deferred() {
			add(state.Begin.Task, state.Begin.Run, state.Deferral.Until, state.Deferral.Attempt, state.Begin.Origin, state.Deferral.HeldSince)
		}
	}
	requests, err := runfile.Requests(s.Schedule.StateDir)
	if err != nil {
		s.Problem("%v", err)
	}
	for _, r := range requests {
		add(r.Task, r.Run, r.At, 1, r.Origin, r.HeldSince)
	}
	for _, of := range all {
		slices.SortStableFunc(of, func(a, b Waiting) int { return a.Time.Compare(b.Time) })
	}
	return all
}

// MarkPaused notes at what waits that its task is paused, for Text.
func (s Source) MarkPaused(waiting map[string][]Waiting) {
	if len(waiting) == 0 {
		return
	}
	pauses, now := s.Pauses(), s.Now()
	for _, t := range s.Schedule.Tasks {
		for i := range waiting[t.Name] {
			waiting[t.Name][i].pause = PauseOf(pauses, t, now)
		}
	}
}

// Text says what it waits for, at the time now.
func (w Waiting) Text(now time.Time, zone *time.Location) string {
	text := "waiting"
	if w.Attempt > 1 {
		text = fmt.Sprintf("waiting for attempt %d", w.Attempt)
	}
	switch {
	case w.pause != nil && !w.pause.Raw.Until.IsZero():
		until := w.pause.Raw.Until
		text += " until " + clock(FirstTick(until, until.Add(-1)), now, zone) + ", when its pause is over"
	case w.pause != nil:
		text += " until it is resumed"
	case w.Held != nil:
		text += " until its mutex is free"
	default:
		text += " until " + clock(FirstTick(w.Time, w.Time.Add(-1)), now, zone)
	}
	if w.Origin != "" {
		text += " (" + w.Origin + ")"
	}
	return text
}

// FirstTick is the minute of the first tick after now that finds at in the past.
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
}

// RequestOf returns a request that the tick of that minute will answer.
func RequestOf(r runfile.Request, tick time.Time) Request {
	return Request{r.Run, r.Task, timeText(r.At), timeText(tick), r.Origin}
}
