package view

import (
	"context"
	"slices"
	"time"

	"sched/schedule/state"
)

// Records opens the records of the schedule.
func (s Source) Records(ctx context.Context) (*Records, error) {
	if err := readable(s.Schedule.StateDir); err != nil {
		return &Records{Err: err}, err
	}
	return Look(ctx, s.Schedule.StateDir)
}

// Live returns the runs of all tasks that live on this machine, or wait for a deferred retry.
func (s Source) Live() []state.Row {
	if readable(s.Schedule.StateDir) != nil {
		return nil
	}
	r, err := Look(context.Background(), s.Schedule.StateDir)
	if err != nil {
		s.Problem("%v", err)
		return nil
	}
	defer r.Close()
	return r.Live
}

// History returns the live and the lost runs of all tasks, and the records that the query covers.
func (s Source) History(ctx context.Context, q state.Query) (live, lost []state.Row, found []state.Row, err error) {
	r, err := s.Records(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	defer r.Close()
	found, err = find(ctx, r, q, s.Now())
	return r.Live, r.Lost, found, err
}

// find returns the records that the query covers, newest first. A run of --at may have a slot that
// is yet to come: its record stands at the time at which its outcome came. If that is yet to come,
// too, the clock was wrong, and the record stands at the end.
func find(ctx context.Context, all *Records, q state.Query, now time.Time) ([]state.Row, error) {
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
	cameAt := func(r state.Row) time.Time {
		switch {
		case !r.Slot.After(now):
			return r.Slot
		case !r.Ended.After(now):
			return r.Ended
		}
		return time.Time{}
	}
	found = append(slices.DeleteFunc(toCome, func(r state.Row) bool { return !r.Slot.After(now) }), found...)
	slices.SortStableFunc(found, func(x, y state.Row) int { return cameAt(y).Compare(cameAt(x)) })
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, err
}

// MostOfAPage is the most records of one page.
const MostOfAPage = 1000

// Page returns the records of the query, the newest slot first, and the position of the next page
// (zero on the last page). Its cost does not grow with the history. The query has a Limit from 1 to
// MostOfAPage.
func (s Source) Page(ctx context.Context, q state.Query) (page []state.Row, next state.Position, err error) {
	all, err := s.Records(ctx)
	if err != nil {
		return nil, next, err
	}
	defer all.Close()
	limit := q.Limit
	q.Limit++ // whether there is a next page
	page, err = all.Find(ctx, q)
	if err == nil && len(page) > limit {
		page = slices.Clip(page[:limit])
		next = state.Position{Slot: page[limit-1].Slot, ID: page[limit-1].ID}
	}
	return page, next, err
}

// newestBefore calls NewestBefore with the present time.
func newestBefore(ctx context.Context, s Source, all *Records, last state.Row) state.Row {
	return NewestBefore(last, s.Now(), func(q state.Query) ([]state.Row, error) { return all.Find(ctx, q) })
}
