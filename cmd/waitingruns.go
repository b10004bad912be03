package cmd

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/runfile"
)

// A waitingJSON is what waits for a tick: a requested run, or the next attempt of one that failed.
type waitingJSON struct {
	Run     string  `json:"run"`
	At      string  `json:"at"`
	Attempt int     `json:"attempt"`
	Origin  string  `json:"origin"`
	Held    *string `json:"held"` // since when it waits for its mutex; null where it does not

	at     time.Time
	paused *pausedJSON // the pause of its task; nil for none
}

// waiting returns what waits for a tick, by task, the first to come first. The live runs are those of runner.Finished.
func (a *app) waiting(s *schedule.Schedule, live []runfile.State) map[string][]waitingJSON {
	all := map[string][]waitingJSON{}
	add := func(task, run string, at time.Time, attempt int, origin string, held time.Time) {
		w := waitingJSON{Run: run, At: at.UTC().Format(time.RFC3339), Attempt: attempt, Origin: origin, at: at}
		if !held.IsZero() {
			since := held.UTC().Format(time.RFC3339)
			w.Held = &since
		}
		all[task] = append(all[task], w)
	}
	for _, state := range live {
		if state.Deferred() {
			add(state.Begin.Task, state.Begin.Run, state.Deferral.Until, state.Deferral.Attempt, state.Begin.Origin, state.Deferral.HeldSince)
		}
	}
	requests, err := runfile.Requests(s.StateDir)
	if err != nil {
		a.problem("%v", err)
	}
	for _, r := range requests {
		add(r.Task, r.Run, r.At, 1, r.Origin, r.HeldSince)
	}
	for _, of := range all {
		slices.SortStableFunc(of, func(a, b waitingJSON) int { return a.at.Compare(b.at) })
	}
	return all
}

// markPaused notes at what waits that its task is paused.
func (a *app) markPaused(s *schedule.Schedule, waiting map[string][]waitingJSON) {
	if len(waiting) == 0 {
		return
	}
	pauses, now := a.mustPauses(s), a.now()
	for _, t := range s.Tasks {
		for i := range waiting[t.Name] {
			waiting[t.Name][i].paused = pausedNow(pauses, t, now)
		}
	}
}

// waitText says what it waits for.
func (a *app) waitText(w waitingJSON, zone *time.Location) string {
	text := "waiting"
	if w.Attempt > 1 {
		text = fmt.Sprintf("waiting for attempt %d", w.Attempt)
	}
	switch {
	case w.paused != nil && !w.paused.pause.Until.IsZero():
		text += " until " + a.clock(firstTick(w.paused.pause.Until, w.paused.pause.Until.Add(-1)), zone) + ", when its pause is over"
	case w.paused != nil:
		text += " until it is resumed"
	case w.Held != nil:
		text += " until its mutex is free"
	default:
		text += " until " + a.clock(firstTick(w.at, w.at.Add(-1)), zone)
	}
	if w.Origin != "" {
		text += " (" + w.Origin + ")"
	}
	return text
}

// waitingIn returns what waits for a time that the query covers.
func waitingIn(waiting map[string][]waitingJSON, q history.Query) map[string][]waitingJSON {
	in := map[string][]waitingJSON{}
	for task, all := range waiting {
		for _, w := range all {
			if len(q.Outcomes) == 0 && !w.at.Before(q.Since) && (q.Until.IsZero() || w.at.Before(q.Until)) {
				in[task] = append(in[task], w)
			}
		}
	}
	return in
}
