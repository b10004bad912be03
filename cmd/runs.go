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
	"sched/schedule/records"
	"sched/schedule/runfile"
	"sched/schedule/text"
)

// openRecords opens the records of the schedule, and prints why the file of a run could not be read.
func (a *app) openRecords(s *schedule.Schedule) (*records.Records, error) {
	if err := readable(s); err != nil {
		return &records.Records{}, err
	}
	r, unread, err := records.Open(ctx, s.StateDir)
	if unread != nil {
		a.problem("%v", unread)
	}
	return r, err
}

// readHistory returns the live and the lost runs of all tasks, and the records that the query covers.
func (a *app) readHistory(s *schedule.Schedule, q history.Query) (live, lost []runfile.State, found []outcome.Record, err error) {
	r, err := a.openRecords(s)
	if err != nil {
		return r.Live, r.Lost, nil, err
	}
	defer r.Close()
	found, err = a.find(r, q)
	return r.Live, r.Lost, found, err
}

// find returns the records that the query covers, newest first. A slot that is yet to come, of --at, stands where its outcome
// came, and at the end if that is yet to come, too: then the clock was wrong.
func (a *app) find(all *records.Records, q history.Query) ([]outcome.Record, error) {
	now := a.now()
	past, future := q, q
	past.Until, future.Since = now.Add(time.Microsecond), now.Add(time.Microsecond)
	if !q.Until.IsZero() && q.Until.Before(past.Until) || q.Since.After(now) || !q.Slot.IsZero() {
		return all.Find(ctx, q)
	}
	found, err := all.Find(ctx, past)
	if err != nil {
		return nil, err
	}
	toCome, err := all.Find(ctx, future)
	if len(toCome) == 0 {
		return found, err
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
	found = append(slices.DeleteFunc(toCome, func(r outcome.Record) bool { return !r.Slot.After(now) }), found...)
	slices.SortStableFunc(found, func(x, y outcome.Record) int { return cameAt(y).Compare(cameAt(x)) })
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, err
}

// findRun returns the record of the run with that id (see records.Get), or an error that names what was meant.
func (a *app) findRun(s *schedule.Schedule, name string) (outcome.Record, error) {
	all, err := a.openRecords(s)
	if err != nil {
		return outcome.Record{}, err
	}
	defer all.Close()
	record, err := all.Get(ctx, name)
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
	if newest, err := all.Find(ctx, history.Query{Limit: 1000}); err == nil && nearestRun(name, newest) != "" {
		hint = nearestRun(name, newest)
	}
	return outcome.Record{}, failed(hint, "there is no task and no run %q", name)
}

// newestRun returns the run of a task that began last, whatever its slot, or the one named. One that has not ended has no
// outcome. The output is empty, or names a file that is missing, where nothing was printed.
func (a *app) newestRun(s *schedule.Schedule, name string) (outcome.Record, error) {
	all, err := a.openRecords(s)
	if err != nil {
		return outcome.Record{}, err
	}
	defer all.Close()
	last, err := all.Last(ctx, []string{name})
	if err != nil {
		return outcome.Record{}, err
	}
	ended, ran := last[name]
	if ran && ended.Started.After(a.now().Add(time.Minute)) {
		ended = newestBefore(all, ended, a.now())
	}
	for _, state := range slices.Backward(append(all.Lost, all.Live...)) { // oldest first
		if state.Begin.Task == name || state.Begin.Run == name || text.ShortRun(state.Begin.Run) == name {
			if state.Deferred() {
				if state.Begin.Task == name && ran && ended.Run > state.Begin.Run {
					continue // a newer one has ended
				}
				a.problem("run %s waits for attempt %d, until %s", text.ShortRun(state.Begin.Run), state.Deferral.Attempt, a.clock(state.Deferral.Until, s.Location))
			}
			return state.Begin, nil
		}
	}
	if !ran {
		return a.findRun(s, name)
	}
	return ended, nil
}

// newestBefore returns the run of a task that began last before now, among the newest, in place of one whose clock was ahead; that one
// where there is no other.
func newestBefore(all *records.Records, ahead outcome.Record, now time.Time) (newest outcome.Record) {
	past, err := all.Find(ctx, history.Query{Task: ahead.Task, Outcomes: outcome.Ran, Until: now, Limit: 100})
	if err != nil {
		return ahead
	}
	for _, r := range past {
		if !r.Started.After(now) && r.Started.After(newest.Started) {
			newest = r
		}
	}
	if newest.Run == "" {
		return ahead
	}
	return newest
}

// oneRun returns the id that name stands for: all of it, its beginning, or its end (from four characters
// on), like records.Get; empty for none.
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
