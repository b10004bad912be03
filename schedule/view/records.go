package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// Records are the contents of a state folder at one moment. Close them after use.
type Records struct {
	*state.DB
	state.Runs
	past.Past
	Live []state.Row // runs that live, or wait, the oldest first
	Lost []state.Row // runs whose process is dead; the next tick will finish them; the oldest first
	Err  error       // why the database cannot be read; then all else is empty
}

// OpenRecords opens the database of a state folder to read. If the database does not exist, the
// records are empty. Err of the records is the returned error.
func OpenRecords(ctx context.Context, dir string) (*Records, error) {
	r := &Records{}
	if r.DB, r.Err = state.OpenRead(dir, state.Patience); r.Err != nil {
		return r, r.Err
	}
	r.Runs, r.Past = r.DB.Runs(), past.Of(r.DB)
	if r.Live, r.Lost, r.Err = r.DB.LiveAndLost(ctx); r.Err != nil {
		r.DB.Close()
	}
	return r, r.Err
}

// Close closes the database.
func (r *Records) Close() error {
	if r.Err != nil { // it is not open
		return nil
	}
	return r.DB.Close()
}

// Pending returns the runs that wait and have not begun, the oldest first: runs that somebody or a
// hook has asked for, and slots that wait for the store or for the end of a pause.
func (r *Records) Pending() []state.Row {
	return slices.DeleteFunc(slices.Clone(r.Live), func(row state.Row) bool { return !row.Pending() })
}

// aheadBy is how far ahead of the clock a run may have begun. If a run began later than that, the
// clock is taken to have been wrong then.
const aheadBy = time.Minute

// newestBefore returns last, unless last began by a clock that was ahead of now. Then it returns
// the run that began last by the clock of now, among the newest hundred of its task. If there is no
// such run, it returns last.
func newestBefore(ctx context.Context, records past.Past, last state.Row, now time.Time) state.Row {
	if !last.Started.After(now.Add(aheadBy)) {
		return last
	}
	query := past.Query{Task: last.Task, Outcomes: outcome.Ran, NoTests: true, Until: now, Limit: 100}
	found, _ := records.Find(ctx, query)
	var newest state.Row
	for _, r := range found {
		if !r.Started.After(now) && r.Started.After(newest.Started) {
			newest = r
		}
	}
	if newest.ID == "" {
		return last
	}
	return newest
}

// missedBefore returns the slot of a total of missed slots, unless a tick came by a clock that was
// ahead of now: then it returns the newest missed slot before now, or zero.
func missedBefore(ctx context.Context, records past.Past, total past.Total, now time.Time) time.Time {
	if !total.Slot.After(now.Add(aheadBy)) {
		return total.Slot
	}
	query := past.Query{Task: total.Task, Outcomes: []outcome.Outcome{outcome.Missed}, Until: now, Limit: 1}
	found, _ := records.Find(ctx, query)
	if len(found) == 0 {
		return time.Time{}
	}
	return found[0].Slot
}

// Usual returns how long runs of the tasks usually take, as far as the history in a state folder
// knows.
func Usual(dir string, tasks []string) map[string]time.Duration {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil
	}
	defer db.Close()
	known, _ := past.Of(db).Usual(context.Background(), tasks)
	took := map[string]time.Duration{}
	for name, usual := range known {
		took[name] = usual.Duration
	}
	return took
}

// A TaskPast is what became of the slots of a task in some time.
type TaskPast struct {
	Records []state.Row // the newest first, with the fields that past.Past reads; if too many, only ranges
	Hours   []past.Hour // all other records, the earliest first; nil if Records has all
}

// PastOf returns what became of the slots of each span before until. A task with more than limit
// records in its span comes with its hours. The cost does not depend on how many records there are.
func (r *Records) PastOf(
	ctx context.Context, spans []past.Span, until time.Time, limit int,
) (map[string]TaskPast, error) {
	listed, summed, err := r.split(ctx, spans, until, limit)
	if err != nil {
		return nil, err
	}
	single, err := r.Newest(ctx, listed, until, limit)
	if err != nil {
		return nil, err
	}
	ranges, err := r.Ranges(ctx, spans, until)
	if err != nil {
		return nil, err
	}
	all := map[string]TaskPast{}
	for _, s := range spans {
		rows := slices.DeleteFunc(ended(single[s.Task]), state.Row.IsRange)
		rows = append(rows, ranges[s.Task]...) // also earlier ranges that reach into the span
		slices.SortStableFunc(rows, past.NewestFirst)
		all[s.Task] = TaskPast{Records: rows}
	}
	return all, r.addHours(ctx, all, summed, until)
}

// split splits spans into those that have at most limit records, and the others.
func (r *Records) split(
	ctx context.Context, spans []past.Span, until time.Time, limit int,
) (listed, summed []past.Span, err error) {
	counts, err := r.Counts(ctx, spans, until, limit+1)
	for _, s := range spans {
		if counts[s.Task] > limit {
			summed = append(summed, s)
		} else {
			listed = append(listed, s)
		}
	}
	return listed, summed, err
}

// addHours adds to past the hours from the earliest Since of the spans to until.
func (r *Records) addHours(ctx context.Context, past map[string]TaskPast, spans []past.Span, until time.Time) error {
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
		task := past[h.Task]
		task.Hours = append(task.Hours, h)
		past[h.Task] = task
	}
	return err
}

// NewestOf returns the newest records of each of the tasks, n at most, the newest first, with the
// few fields that past.Past reads.
func (r *Records) NewestOf(ctx context.Context, tasks []string, n int) (map[string][]state.Row, error) {
	spans := make([]past.Span, len(tasks))
	for i, task := range tasks {
		spans[i].Task = task
	}
	newest, err := r.Newest(ctx, spans, time.Time{}, n)
	for task, rows := range newest {
		newest[task] = ended(rows)
	}
	return newest, err
}

// ended drops the rows without an outcome: callers draw live runs from Records.Live.
func ended(rows []state.Row) []state.Row {
	return slices.DeleteFunc(rows, func(row state.Row) bool { return row.Outcome == "" })
}

// findByClock returns the records that the query covers, newest first. A run of --at may have a
// slot that is yet to come: its record stands at the time at which its outcome came. If that is yet
// to come, too, the clock was wrong, and the record stands at the end.
func findByClock(ctx context.Context, records *Records, q past.Query, now time.Time) ([]state.Row, error) {
	before, after := q, q
	before.Until, after.Since = now.Add(time.Microsecond), now.Add(time.Microsecond)
	endsBefore := !q.Until.IsZero() && q.Until.Before(before.Until)
	if endsBefore || q.Since.After(now) || !q.Slot.IsZero() {
		return records.Find(ctx, q)
	}
	found, err := records.Find(ctx, before)
	if err != nil {
		return nil, err
	}
	toCome, err := records.Find(ctx, after)
	if len(toCome) == 0 {
		return found, err
	}
	found = append(slices.DeleteFunc(toCome, func(r state.Row) bool { return !r.Slot.After(now) }), found...)
	slices.SortStableFunc(found, func(x, y state.Row) int { return listedAt(y, now).Compare(listedAt(x, now)) })
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, err
}

// listedAt returns the time at which findByClock lists a record; zero for a record at the end.
func listedAt(r state.Row, now time.Time) time.Time {
	switch {
	case !r.Slot.After(now):
		return r.Slot
	case !r.Ended.After(now):
		return r.Ended
	}
	return time.Time{}
}

// MaxPageSize is the most records of one page.
const MaxPageSize = 1000

// A DeniedError says that the state folder of another user cannot be read.
type DeniedError struct {
	Dir   string
	Owner int
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the state folder %s belongs to %s, and others cannot read it", e.Dir, UserName(e.Owner))
}

// Readable returns an error if we have no right to read the state folder: a *DeniedError if it
// belongs to another user. A folder that is not there can be read, and is empty.
func Readable(dir string) error {
	var foreign *statedir.ForeignError
	_, err := os.ReadDir(dir)
	switch {
	case !errors.Is(err, os.ErrPermission):
		return nil
	case errors.As(statedir.Check(dir), &foreign):
		return &DeniedError{dir, foreign.Owner}
	}
	return err
}

// UserName returns the login name of a user, or "user 1000" for a user without a name.
func UserName(uid int) string {
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("user %d", uid)
}
