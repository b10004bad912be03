package view

import (
	"context"
	"slices"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/past"
	"sched/schedule/state"
)

// Activity is what all tasks together did in the last 24 hours.
type Activity struct {
	From, To time.Time     // To is the end of the bucket of now
	Buckets  []past.Bucket // each of BucketWidth; Begin is never before From
	Missed   []state.Row   // slots that were missed, one or several a row, the newest first
	Live     []state.Row   // runs of this machine that have begun

	WithoutStore int // slots that were skipped because the store did not answer
}

// BucketWidth is the width of the buckets of an Activity.
const BucketWidth = 10 * time.Minute

const activityFor = 24 * time.Hour

// activityOf returns the activity for a Health.
func activityOf(ctx context.Context, all *Records, h *Health) (a Activity, err error) {
	a.To = h.At.Truncate(BucketWidth).Add(BucketWidth)
	a.From = a.To.Add(-activityFor)
	for _, t := range h.Tasks {
		for _, row := range t.Running {
			if !row.Started.IsZero() {
				a.Live = append(a.Live, row)
			}
		}
	}
	a.Buckets, err = all.Buckets(ctx, namesOf(h), a.From, a.To, BucketWidth)
	return a, err
}

// addMissed adds the rows of missed slots that reach into the activity.
func (a *Activity) addMissed(missed []state.Row) { a.Missed = a.within(missed) }

// within returns the rows that reach into the activity.
func (a *Activity) within(rows []state.Row) []state.Row {
	isEarlier := func(r state.Row) bool { return humanize.Later(r.Slot, r.LastSlot).Before(a.From) }
	return slices.DeleteFunc(slices.Clone(rows), isEarlier)
}

func namesOf(h *Health) (names []string) {
	for _, t := range h.Tasks {
		names = append(names, t.Name)
	}
	return names
}
