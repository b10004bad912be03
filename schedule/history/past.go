package history

import (
	"context"
	"slices"
	"time"

	"sched/schedule/state"
)

// A Past is what became of the slots of a task in some time.
type Past struct {
	Records []state.Row  // the newest first, and Short; if there are too many, only records of several slots
	Hours   []state.Hour // all other records, the earliest first; nil if Records has all
}

// PastOf returns what became of the slots of each span before until. A task with more than most
// records in its span comes with its hours. The cost does not depend on how many records there are.
func (r *Records) PastOf(ctx context.Context, spans []state.Span, until time.Time, most int) (map[string]Past, error) {
	few, many, err := r.split(ctx, spans, until, most)
	if err != nil {
		return nil, err
	}
	single, err := r.Newest(ctx, few, until, most)
	if err != nil {
		return nil, err
	}
	ranges, err := r.Ranges(ctx, spans, until)
	if err != nil {
		return nil, err
	}
	past := map[string]Past{}
	for _, s := range spans {
		records := slices.DeleteFunc(single[s.Task], state.Row.IsRange) // ranges has those, and earlier ranges that reach into the span
		records = append(records, ranges[s.Task]...)
		slices.SortStableFunc(records, state.NewestFirst)
		past[s.Task] = Past{Records: records}
	}
	return past, r.addHours(ctx, past, many, until)
}

func (r *Records) split(ctx context.Context, spans []state.Span, until time.Time, most int) (few, many []state.Span, err error) {
	counts, err := r.Counts(ctx, spans, until, most+1)
	for _, s := range spans {
		if counts[s.Task] > most {
			many = append(many, s)
		} else {
			few = append(few, s)
		}
	}
	return few, many, err
}

func (r *Records) addHours(ctx context.Context, past map[string]Past, spans []state.Span, until time.Time) error {
	if len(spans) == 0 {
		return nil
	}
	var tasks []string
	since := until
	for _, s := range spans {
		tasks = append(tasks, s.Task)
		if s.Since.Before(since) {
			since = s.Since
		}
	}
	hours, err := r.Hours(ctx, tasks, since, until)
	for _, h := range hours {
		of := past[h.Task]
		of.Hours = append(of.Hours, h)
		past[h.Task] = of
	}
	return err
}

// NewestOf returns the newest n records of each of the tasks, the newest first. They are Short.
func (r *Records) NewestOf(ctx context.Context, tasks []string, n int) (map[string][]state.Row, error) {
	spans := make([]state.Span, len(tasks))
	for i, task := range tasks {
		spans[i].Task = task
	}
	return r.Newest(ctx, spans, time.Time{}, n)
}
