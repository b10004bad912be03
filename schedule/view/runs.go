package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/records"
	"sched/schedule/runfile"
	"sched/schedule/text"
)

// FindRun returns the record of the run with that id (see records.Get), or an error that names what was meant.
func (s Source) FindRun(ctx context.Context, name string) (outcome.Record, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return outcome.Record{}, err
	}
	defer all.Close()
	record, err := all.Get(ctx, name)
	if err == nil || !errors.Is(err, history.ErrNotFound) {
		return record, err
	}
	if r, err := s.OneRequest(name); err != nil || r.Run != "" {
		return outcome.Record{}, errors.Join(err, s.NotBegun(r))
	}
	if _, err := FindTask(s.Schedule, name); err == nil {
		return outcome.Record{}, Fail(NotFound, "run it once with `sched test "+name+"`", "%s never ran", name)
	}
	hint := DidYouMean(name, TaskNames(s.Schedule))
	if newest, err := all.Find(ctx, history.Query{Limit: 1000}); err == nil && nearestRun(name, newest) != "" {
		hint = nearestRun(name, newest)
	}
	return outcome.Record{}, Fail(NotFound, hint, "there is no task and no run %q", name)
}

// NewestRun returns the run of a task that began last, whatever its slot, or the one named. One that has not ended has no
// outcome. The output is empty, or names a file that is missing, where nothing was printed.
func (s Source) NewestRun(ctx context.Context, name string) (outcome.Record, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return outcome.Record{}, err
	}
	defer all.Close()
	last, err := all.Last(ctx, []string{name})
	if err != nil {
		return outcome.Record{}, err
	}
	ended, ran := last[name]
	ended = s.newestBefore(ctx, all, ended)
	for _, state := range slices.Backward(append(all.Lost, all.Live...)) { // oldest first
		if state.Begin.Task == name || state.Begin.Run == name || text.ShortRun(state.Begin.Run) == name {
			if state.Deferred() {
				if state.Begin.Task == name && ran && ended.Run > state.Begin.Run {
					continue // a newer one has ended
				}
				s.Problem("run %s waits for attempt %d, until %s", text.ShortRun(state.Begin.Run), state.Deferral.Attempt,
					clock(state.Deferral.Until, s.Now(), s.Schedule.Location))
			}
			return state.Begin, nil
		}
	}
	if !ran {
		return s.FindRun(ctx, name)
	}
	return ended, nil
}

// newestBefore is history.NewestBefore of now.
func (s Source) newestBefore(ctx context.Context, all *records.Records, last outcome.Record) outcome.Record {
	return history.NewestBefore(last, s.Now(), func(q history.Query) ([]outcome.Record, error) { return all.Find(ctx, q) })
}

// OneRun returns the id that name stands for: all of it, its beginning, or its end (from four characters
// on), like records.Get; empty for none.
func OneRun(ids []string, name string) (string, error) {
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

// OneRequest returns the request whose run has that id (see OneRun); an empty one for none.
func (s Source) OneRequest(name string) (runfile.Request, error) {
	all, _ := runfile.Requests(s.Schedule.StateDir) // a tick reports requests that cannot be read
	var ids []string
	for _, r := range all {
		ids = append(ids, r.Run)
	}
	id, err := OneRun(ids, name)
	if id == "" {
		return runfile.Request{}, err
	}
	return all[slices.Index(ids, id)], nil
}

// NotBegun is the error for a run that is only requested yet; nil for an empty request.
func (s Source) NotBegun(r runfile.Request) error {
	if r.Run == "" {
		return nil
	}
	return Fail(Conflict, "`sched trigger --cancel "+text.ShortRun(r.Run)+"` takes it back", "run %s of %s has not begun: it waits until %s",
		text.ShortRun(r.Run), r.Task, clock(FirstTick(r.At, r.At.Add(-1)), s.Now(), s.Schedule.Location))
}

// nearestRun is the hint for a run that does not exist: the one of the records whose id is nearly the same; else "".
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
