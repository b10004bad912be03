package records

import (
	"context"
	"slices"
	"time"

	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A Past is what became of the slots of a task in some time.
type Past struct {
	Records []outcome.Record // the newest first, and Short. Where there are too many: those of several slots, and those that wait in files
	Hours   []state.Hour     // all others, the earliest first; nil where Records has all
}

// Past returns what became of the slots of each span before until. A task that has more than most records in it comes with its hours. The
// cost does not depend on how many records there are.
func (r *Records) Past(ctx context.Context, spans []state.Span, until time.Time, most int) (map[string]Past, error) {
	few, many, err := r.split(ctx, spans, until, most)
	if err != nil {
		return nil, err
	}
	single, err := r.db.Newest(ctx, few, until, most)
	if err != nil {
		return nil, err
	}
	ranges, err := r.db.Ranges(ctx, spans, until)
	if err != nil {
		return nil, err
	}
	past := map[string]Past{}
	for _, s := range spans {
		records := slices.DeleteFunc(single[s.Task], outcome.Record.IsRange) // those are in ranges, with earlier ones that reach into the span
		records = append(records, ranges[s.Task]...)
		q := state.Query{Task: s.Task, Since: s.Since, Until: until}
		past[s.Task] = Past{Records: r.withWaiting(records, q)}
	}
	return past, r.addHours(ctx, past, many, until)
}

func (r *Records) split(ctx context.Context, spans []state.Span, until time.Time, most int) (few, many []state.Span, err error) {
	counts, err := r.db.Counts(ctx, spans, until, most+1)
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
	hours, err := r.db.Hours(ctx, tasks, since, until)
	for _, h := range hours {
		of := past[h.Task]
		of.Hours = append(of.Hours, h)
		past[h.Task] = of
	}
	return err
}

// Newest returns the newest n records of each of the tasks, the newest first. They are Short.
func (r *Records) Newest(ctx context.Context, tasks []string, n int) (map[string][]outcome.Record, error) {
	spans := make([]state.Span, len(tasks))
	for i, task := range tasks {
		spans[i].Task = task
	}
	newest, err := r.db.Newest(ctx, spans, time.Time{}, n)
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		all := r.withWaiting(newest[task], state.Query{Task: task})
		newest[task] = all[:min(n, len(all))]
	}
	return newest, nil
}

// withWaiting adds the records that are not in the history yet, as far as the query covers them.
func (r *Records) withWaiting(records []outcome.Record, q state.Query) []outcome.Record {
	for i := range r.waiting {
		if r.waiting[i].Task == q.Task && history.Matches(q, r.waiting[i]) {
			records = append(records, r.waiting[i])
		}
	}
	slices.SortStableFunc(records, outcome.NewestFirst)
	return records
}
