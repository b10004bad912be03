package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/text"
)

// What waits for a tick is a run that people asked for, or the next attempt of one that failed.
type waitingJSON struct {
	Run     string  `json:"run"`
	At      string  `json:"at"`
	Attempt int     `json:"attempt"`
	Origin  string  `json:"origin"`
	Held    *string `json:"held"` // since when it finds its mutex held

	at     time.Time
	paused bool // its task is
}

// waiting returns what waits, by task. The live runs are those of runner.Finished.
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
	for _, log := range live {
		if log.Deferred() {
			add(log.Begin.Task, log.Begin.Run, log.Deferral.Until, log.Deferral.Attempt, log.Begin.Origin, log.Deferral.HeldSince)
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

// waitText says for people what one of them waits for.
func (a *app) waitText(w waitingJSON, zone *time.Location) string {
	text := "waiting"
	if w.Attempt > 1 {
		text = fmt.Sprintf("waiting for attempt %d", w.Attempt)
	}
	switch {
	case w.paused:
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

// oneRun returns the id that name stands for: all of it, its beginning, or its end (from four characters
// on), like DB.Get; empty for none.
func oneRun(ids []string, name string) (string, error) {
	var found []string
	for _, id := range ids {
		switch {
		case id == name:
			return id, nil
		case len(name) >= 4 && (strings.HasPrefix(id, name) || strings.HasSuffix(id, name)):
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		slices.Reverse(found)
		return "", &history.AmbiguousError{ID: name, Candidates: found[:min(5, len(found))], More: len(found) > 5}
	}
	return found[0], nil
}

// nearestRun is a hint for a run that does not exist: one of the newest whose id is nearly the same.
func nearestRun(name string, records []outcome.Record) string {
	var ids []string
	for _, r := range records {
		ids = append(ids, text.ShortRun(r.Run))
	}
	near := text.Nearest(text.ShortRun(name), ids)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q, a run of %s?", near, records[slices.Index(ids, near)].Task)
}

// oneRequest returns the request that a name stands for by the id of its run; an empty one for none.
func oneRequest(s *schedule.Schedule, name string) (runfile.Request, error) {
	all, _ := runfile.Requests(s.StateDir) // a tick complains of what cannot be read
	var ids []string
	for _, r := range all {
		ids = append(ids, r.Run)
	}
	id, err := oneRun(ids, name)
	if id == "" {
		return runfile.Request{}, err
	}
	return all[slices.Index(ids, id)], nil
}

// notBegun says of a request that there is no run of it yet.
func (a *app) notBegun(s *schedule.Schedule, r runfile.Request) error {
	if r.Run == "" {
		return nil
	}
	return failed("`sched trigger --cancel "+text.ShortRun(r.Run)+"` takes it back",
		"run %s of %s has not begun: it waits until %s", text.ShortRun(r.Run), r.Task, a.clock(firstTick(r.At, r.At.Add(-1)), s.Location))
}
