package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/runfile"

	"sched/schedule/text"
)

// readHistory returns the live and the lost runs of all tasks, and the records that the query covers. A history that does
// not exist yet is empty; what cannot be read of live runs is printed.
func (a *app) readHistory(s *schedule.Schedule, q history.Query) (live, lost []runfile.State, records []outcome.Record, err error) {
	live, lost, err = run.PutAwayEnded(s.StateDir)
	if err != nil {
		a.problem("%v", err)
	}
	db, err := history.OpenRead(s.StateDir)
	if err != nil {
		return live, lost, nil, err
	}
	defer db.Close()
	records, err = a.find(db, q)
	return live, lost, records, err
}

// find returns the records that the query covers, newest first. A slot that is yet to come, of --at, stands where its outcome
// came, and at the end if that is yet to come, too: then the clock was wrong.
func (a *app) find(db *history.DB, q history.Query) ([]outcome.Record, error) {
	now := a.now()
	past, future := q, q
	past.Until, future.Since = now.Add(time.Microsecond), now.Add(time.Microsecond)
	if !q.Until.IsZero() && q.Until.Before(past.Until) || q.Since.After(now) || !q.Slot.IsZero() {
		return db.Find(ctx, q)
	}
	records, err := db.Find(ctx, past)
	if err != nil {
		return nil, err
	}
	toCome, err := db.Find(ctx, future)
	if len(toCome) == 0 {
		return records, err
	}
	cameAt := func(r outcome.Record) time.Time {
		switch {
		case !r.Slot.After(now):
			return r.Slot
		case !r.Ended.After(now):
			return r.Ended
		}
		return time.Time{}
	}
	records = append(slices.DeleteFunc(toCome, func(r outcome.Record) bool { return !r.Slot.After(now) }), records...)
	slices.SortStableFunc(records, func(x, y outcome.Record) int { return cameAt(y).Compare(cameAt(x)) })
	if q.Limit > 0 {
		records = records[:min(q.Limit, len(records))]
	}
	return records, err
}

// findRun returns the record of the run with that id (see DB.Get), or an error that names what was meant.
func (a *app) findRun(s *schedule.Schedule, name string) (outcome.Record, error) {
	db, err := history.OpenRead(s.StateDir)
	if err != nil {
		return outcome.Record{}, err
	}
	defer db.Close()
	record, err := db.Get(ctx, name)
	if err == nil || !errors.Is(err, history.ErrNotFound) {
		return record, err
	}
	if r, err := oneRequest(s, name); err != nil || r.Run != "" {
		return outcome.Record{}, errors.Join(err, a.notBegun(s, r))
	}
	if _, err := task(s, name); err == nil {
		return outcome.Record{}, failed("run it once with `sched test "+name+"`", "%s never ran", name)
	}
	var names []string
	for _, t := range s.Tasks {
		names = append(names, t.Name)
	}
	hint := didYouMean(name, names)
	if newest, err := db.Find(ctx, history.Query{Limit: 1000}); err == nil && nearestRun(name, newest) != "" {
		hint = nearestRun(name, newest)
	}
	return outcome.Record{}, failed(hint, "there is no task and no run %q", name)
}

// newestRun returns the run of a task that began last, whatever its slot, or the one named. One that has not ended has no
// outcome. The output is empty, or names a file that is missing, where nothing was printed.
func (a *app) newestRun(s *schedule.Schedule, name string) (outcome.Record, error) {
	live, lost, err := run.PutAwayEnded(s.StateDir)
	if err != nil {
		a.problem("%v", err)
	}
	db, err := history.OpenRead(s.StateDir)
	if err != nil {
		return outcome.Record{}, err
	}
	last, err := db.Last(ctx, []string{name})
	if err = errors.Join(err, db.Close()); err != nil {
		return outcome.Record{}, err
	}
	ended, ran := last[name]
	for _, log := range slices.Backward(append(lost, live...)) { // oldest first
		if log.Begin.Task == name || log.Begin.Run == name || text.ShortRun(log.Begin.Run) == name {
			if log.Deferred() {
				if log.Begin.Task == name && ran && ended.Run > log.Begin.Run {
					continue // a newer one has ended
				}
				a.problem("run %s waits for attempt %d, until %s", text.ShortRun(log.Begin.Run), log.Deferral.Attempt, a.clock(log.Deferral.Until, s.Location))
			}
			return log.Begin, nil
		}
	}
	if !ran {
		return a.findRun(s, name)
	}
	return ended, nil
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
