package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// FindRun returns the record of the run with that id (see state.Runs.Get). Otherwise its error says
// why there is no record, with a hint.
func FindRun(ctx context.Context, s Source, name string) (state.Row, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return state.Row{}, err
	}
	defer all.Close()
	row, err := all.Get(ctx, name)
	if err == nil || !errors.Is(err, state.ErrNotFound) {
		return row, err
	}
	if r, err := OneWaiting(s, name); err != nil || r.ID != "" {
		return state.Row{}, errors.Join(err, StillWaits(s, r))
	}
	if _, err := FindTask(s.Schedule, name); err == nil {
		return state.Row{}, Fail(NotFound, "run it once with `sched test "+name+"`", "%s never ran", name)
	}
	hint := DidYouMean(name, TaskNames(s.Schedule))
	if newest, err := all.Find(ctx, state.Query{Limit: 1000}); err == nil && nearestRun(name, newest) != "" {
		hint = nearestRun(name, newest)
	}
	return state.Row{}, Fail(NotFound, hint, "there is no task and no run %q", name)
}

// NewestRun returns the run of a task that began last, whatever its slot, or the run with the id
// name. A run that has not ended has no outcome. If the run printed nothing, its output is empty or
// names a file that is missing.
func NewestRun(ctx context.Context, s Source, name string) (state.Row, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return state.Row{}, err
	}
	defer all.Close()
	last, err := all.Last(ctx, []string{name})
	if err != nil {
		return state.Row{}, err
	}
	ended, ran := last[name]
	if newest, err := all.Find(ctx, state.Query{Task: name, Outcomes: outcome.Ran, Limit: 1}); err == nil && len(newest) > 0 && newest[0].ID > ended.ID {
		ended, ran = newest[0], true // a test, which Last leaves out
	}
	ended = newestBefore(ctx, s, all, ended)
	for _, row := range slices.Backward(append(all.Lost, all.Live...)) { // oldest first
		if row.Task != name && row.ID != name && humanize.ShortRun(row.ID) != name || row.NotBegun() {
			continue
		}
		if row.Queued() {
			s.Problem("run %s waits for its turn", humanize.ShortRun(row.ID))
		}
		if row.Deferred() {
			if row.Task == name && ran && ended.ID > row.ID {
				continue // a newer one has ended
			}
			until := row.Wait.NotBefore
			s.Problem("run %s waits for attempt %d, until %s", humanize.ShortRun(row.ID), row.Attempt.Number+1,
				humanize.MinuteNear(FirstTick(until, until.Add(-1)), s.Now(), s.Schedule.Location))
		}
		return row.WithoutOutcome(), nil
	}
	if !ran {
		return FindRun(ctx, s, name)
	}
	return ended, nil
}

// OneWaiting returns the run with that id (see state.OneRun) that waits and has not begun. If
// there is no such run, its ID is empty.
func OneWaiting(s Source, name string) (state.Row, error) {
	all, _ := NotBegun(s.Schedule.StateDir) // a tick reports the error
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	id, err := state.OneRun(ids, name)
	if id == "" {
		return state.Row{}, err
	}
	return all[slices.Index(ids, id)], nil
}

// StillWaits is the error for a run that waits and has not begun; nil for an empty row.
func StillWaits(s Source, r state.Row) error {
	if r.ID == "" {
		return nil
	}
	what := "until " + humanize.MinuteNear(FirstTick(r.Slot, r.Slot.Add(-1)), s.Now(), s.Schedule.Location)
	switch {
	case r.KeptSlot() && r.Wait.For == state.ForPause:
		what = "for the end of a pause"
	case r.KeptSlot():
		what = "for the store"
	}
	return Fail(Conflict, "`sched trigger --cancel "+humanize.ShortRun(r.ID)+"` takes it back", "run %s of %s has not begun: it waits %s",
		humanize.ShortRun(r.ID), r.Task, what)
}

func nearestRun(name string, rows []state.Row) string {
	var ids []string
	for _, r := range rows {
		ids = append(ids, humanize.ShortRun(r.ID))
	}
	near := humanize.Nearest(humanize.ShortRun(name), ids)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q, a run of %s?", near, rows[slices.Index(ids, near)].Task)
}
