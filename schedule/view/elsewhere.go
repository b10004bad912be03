package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// certainFor is how long a run is taken to live after its server has announced it. A server
// announces its runs every ten seconds while a tick lasts, and else at the next tick.
const certainFor = 5 * time.Second

// RunningElsewhere returns the runs that live on other servers, as these servers last announced
// them. Without a store it returns no runs.
func RunningElsewhere(ctx context.Context, s Source) (live []state.Row, err error) {
	live, _, err = announcedElsewhere(ctx, s)
	return live, err
}

// announcedElsewhere returns the runs that live on other servers, and those that must be over by
// now, because another run of the task has come since (see confirm). How these ended is known
// unless their server died.
func announcedElsewhere(ctx context.Context, s Source) (live, over []state.Row, err error) {
	if s.Controls.Store == nil {
		return nil, nil, nil
	}
	all, err := cluster.List(ctx, s.Controls.Store)
	all = slices.DeleteFunc(all, func(server cluster.Server) bool { return server.Name == s.Server })
	if err == nil {
		err = confirm(ctx, s, all)
	}
	for _, server := range all {
		for _, r := range server.Running {
			row := state.Row{
				ID:      r.Run,
				Task:    r.Task,
				Slot:    r.Slot,
				Server:  server.Name,
				Phase:   state.Running,
				Attempt: state.Attempt{Number: 1, PID: r.PID, At: r.Since},
			}
			if server.Age > certainFor && !r.Confirmed {
				row.LastReported = clock.Now().Add(-server.Age)
			}
			if r.Followed {
				over = append(over, row)
			} else {
				live = append(live, row)
			}
		}
	}
	return live, over, err
}

// confirm asks for the locks of the runs that servers announced some time ago. It confirms a run
// that has its lock. A run is followed if another run has the lock, or if a run of the task that
// has ended began no earlier: runs of such a task do not overlap.
func confirm(ctx context.Context, s Source, servers []cluster.Server) error {
	mutexOf := map[string]string{} // by task
	for _, server := range servers {
		for _, r := range server.Running {
			t := s.Schedule.Task(r.Task)
			if server.Age > certainFor && t != nil && t.WithoutOverlapping {
				mutexOf[r.Task] = t.Mutex
			}
		}
	}
	if len(mutexOf) == 0 {
		return nil
	}
	holders, err := s.Controls.Store.Held(ctx, slices.Collect(maps.Values(mutexOf))...)
	if err != nil {
		return err
	}
	last, err := cluster.Last(ctx, s.Controls.Store, "", slices.Collect(maps.Keys(mutexOf)))
	for i := range servers {
		server := &servers[i]
		if server.Age <= certainFor {
			continue
		}
		for j := range server.Running {
			r := &server.Running[j]
			holder, isHeld := holders[mutexOf[r.Task]]
			isOver := isHeld || last[r.Task].ID >= r.Run // ids are in the order in which runs begin
			r.Confirmed = isHeld && holder.Run == r.Run
			r.Followed = mutexOf[r.Task] != "" && !r.Confirmed && isOver
		}
	}
	return err
}

// LiveElsewhere returns the runs of a task that live on other servers, or the run with that id, as
// far as the store knows them.
func LiveElsewhere(ctx context.Context, s Source, name string) []state.Row {
	live, err := RunningElsewhere(ctx, s)
	if err == nil && s.Controls.Store != nil {
		live, err = withHolders(ctx, s.Schedule, s.Controls.Store, live, nil)
	}
	if err != nil {
		s.LeftOut(err)
	}
	return slices.DeleteFunc(live, func(row state.Row) bool {
		return row.Server == s.Server || !outcome.IsID(row.ID) || !isNamed(row, name)
	})
}

// isNamed reports whether name is the task of a run, or stands for its id (see OneRun).
func isNamed(r state.Row, name string) bool {
	id, _ := past.OneRun([]string{r.ID}, name)
	return id != "" || r.Task == name
}

// OrNotHere returns err or, if another server has a run of that name or id, the error of NotHere.
func OrNotHere(ctx context.Context, s Source, command, name string, err error) error {
	rows := LiveElsewhere(ctx, s, name)
	if s.Controls.Store != nil {
		ended, err := cluster.Recent(ctx, s.Controls.Store, s.Server, past.Query{}, cluster.MaxRuns)
		if err != nil {
			s.LeftOut(err)
		}
		for _, r := range ended {
			if isNamed(r, name) {
				rows = append(rows, r)
			}
		}
	}
	if len(rows) == 0 {
		return err
	}
	return NotHere(slices.MaxFunc(rows, func(a, b state.Row) int { return strings.Compare(a.ID, b.ID) }), command)
}

// NotHere is the error for a run that the store reports from another server: the command has to be
// called there. A run that has ended there cannot be stopped.
func NotHere(r state.Row, command string) error {
	id := humanize.ShortRun(r.ID)
	if command == "stop" && r.Outcome != "" {
		return Fail(Conflict, "", "run %s of %s is on %s, and is not running: it %s",
			id, humanize.Line(r.Task), humanize.Line(r.Server), r.OutcomeText())
	}
	return Fail(Conflict, "", "run %s of %s is on %s: `sched %s %s` there",
		id, humanize.Line(r.Task), humanize.Line(r.Server), command, id)
}

// NewerElsewhere says on which server the newest run of a one_server task is that q covers, if it
// began after a run of this server; nil if the store knows no such run.
func NewerElsewhere(ctx context.Context, s Source, q past.Query, here state.Row) error {
	t := s.Schedule.Task(q.Task)
	if s.Controls.Store == nil || t == nil || !t.OneServer {
		return nil
	}
	rows := append(LiveElsewhere(ctx, s, t.Name), lastElsewhere(ctx, s, t)[t.Name])
	if !q.Since.IsZero() || !q.Until.IsZero() {
		ended, err := cluster.Recent(ctx, s.Controls.Store, s.Server, q, cluster.MaxRuns)
		if err != nil {
			s.LeftOut(err)
		}
		rows = append(rows, ended...)
	}
	newest := here
	for _, r := range rows {
		if r.ID > newest.ID && q.Matches(r) {
			newest = r
		}
	}
	if newest.ID == here.ID {
		return nil
	}
	id := humanize.ShortRun(newest.ID)
	return fmt.Errorf("the newest run of %s is on %s: `sched logs %s` there", t.Name, humanize.Line(newest.Server), id)
}

// HistoryOfAll is History for all servers of the store. It has only slots that ran, because servers
// do not share what they skipped or missed. When the store does not answer, HistoryOfAll reports
// that and covers this machine alone.
func HistoryOfAll(s Source, ctx context.Context, q past.Query) (live, lost []state.Row, rows []state.Row, err error) {
	if err := onlyRuns(s, &q, "call it on each server, without --all-servers"); err != nil {
		return nil, nil, nil, err
	}
	live, lost, rows, err = s.History(ctx, q)
	if err != nil {
		return live, lost, nil, err
	}
	others, over, err := announcedElsewhere(ctx, s) // before the records: a run that ends meanwhile is in one of them
	var runs map[string]state.Row
	if err == nil {
		runs, err = withCopies(ctx, s, q, rows)
	}
	if err != nil {
		s.LeftOut(err)
		return live, lost, rows, nil
	}
	for _, row := range append(others, over...) {
		if _, ended := runs[row.ID]; !ended {
			live = append(live, row)
		}
	}
	slices.SortStableFunc(live, func(a, b state.Row) int { return a.Slot.Compare(b.Slot) })
	return live, lost, cluster.Newest(runs, q.Limit), nil
}

// PageOfAll is Page for all servers, without slots that did not run. It reaches back as far as the
// store keeps runs of other servers. If the store does not answer, PageOfAll reports that and
// covers this machine alone.
func PageOfAll(s Source, ctx context.Context, q past.Query) (page []state.Row, next past.Position, err error) {
	if err := onlyRuns(s, &q, "ask each server for its own"); err != nil {
		return nil, next, err
	}
	page, next, err = s.Page(ctx, q)
	if err != nil {
		return nil, next, err
	}
	limit := q.Limit
	q.Limit++ // whether there is a next page
	runs, err := withCopies(ctx, s, q, page)
	if err != nil {
		s.LeftOut(err)
		return page, next, nil
	}
	page = cluster.Newest(runs, limit)
	if len(runs) > limit {
		next = past.Position{Slot: page[limit-1].Slot, ID: page[limit-1].ID}
	}
	return page, next, nil
}

// onlyRuns limits a query to the slots that ran, which are all that servers tell each other. If
// nothing is left of the query, the error has the hint.
func onlyRuns(s Source, q *past.Query, hint string) error {
	if _, err := s.Store(); err != nil {
		return err
	}
	if len(q.Outcomes) == 0 {
		q.Outcomes = outcome.Ran
	}
	q.Outcomes = slices.DeleteFunc(slices.Clone(q.Outcomes), func(o outcome.Outcome) bool {
		return o != outcome.Warned && !slices.Contains(outcome.Ran, o)
	})
	if len(q.Outcomes) == 0 {
		return Fail(Invalid, hint, "servers do not tell each other what they skipped or missed")
	}
	return nil
}

// withCopies returns, by id, the rows of this machine and the ended runs of other servers that
// match q.
func withCopies(ctx context.Context, s Source, q past.Query, rows []state.Row) (map[string]state.Row, error) {
	copies, err := cluster.Recent(ctx, s.Controls.Store, s.Server, q, cluster.MaxRuns)
	runs := map[string]state.Row{}
	for _, r := range slices.Concat(copies, rows) { // the rows of this machine replace their copies
		runs[r.ID] = r
	}
	return runs, err
}

// withHolders adds to live the runs that hold the lock of a task on another server and were not
// announced yet. It leaves out mutexes that tasks share, because their holder may be a run of any
// of these tasks.
func withHolders(
	ctx context.Context, s *schedule.Schedule, store mutex.Store, live []state.Row, here map[string][]Running,
) ([]state.Row, error) {
	var names []string
	for _, t := range s.Tasks {
		if t.WithoutOverlapping && t.Mutex == t.Name && len(here[t.Name]) == 0 {
			names = append(names, t.Name)
		}
	}
	holders, err := store.Held(ctx, names...)
	for name, holder := range holders {
		if !slices.ContainsFunc(live, func(row state.Row) bool { return row.ID == holder.Run }) {
			live = append(live, state.Row{
				ID: holder.Run, Task: name, Server: holder.Host, Phase: state.Running,
				Attempt: state.Attempt{Number: 1, PID: holder.PID, At: holder.Since},
			})
		}
	}
	return live, err
}

// RanElsewhere returns the runs of other servers for slots that did not run here. It looks only at
// records of one_server tasks, and the id of the record is the key of the map. A run that lives has
// no outcome; of ended runs it searches the last thousand. A slot that another server had and
// skipped has the outcome skipped. When the store does not answer it reports that and returns nil.
func RanElsewhere(ctx context.Context, s Source, records []state.Row) map[string]state.Row {
	ran, err := ranElsewhere(ctx, s, records, cluster.PageSize)
	if err != nil {
		s.LeftOut(err)
	}
	return ran
}

// ranElsewhere is RanElsewhere. Of ended runs it searches so many, and it returns the error.
func ranElsewhere(ctx context.Context, s Source, records []state.Row, searched int) (map[string]state.Row, error) {
	if s.Controls.Store == nil {
		return nil, nil
	}
	sharedTasks := map[string]*schedule.Task{}
	for _, t := range s.Schedule.Tasks {
		if t.OneServer {
			sharedTasks[t.Name] = t
		}
	}
	recordOf, takenOf := map[schedule.Slot]string{}, map[schedule.Slot]string{}
	var since time.Time
	for _, r := range records {
		if sharedTasks[r.Task] == nil || r.Ran() || r.IsRange() || r.Origin != "" {
			continue
		}
		slot := schedule.Slot{Task: sharedTasks[r.Task], At: r.Slot.UTC()}
		if recordOf[slot] = r.ID; r.Kind == outcome.Elsewhere {
			takenOf[slot] = r.ID
		}
		if since.IsZero() || r.Slot.Before(since) {
			since = r.Slot
		}
	}
	if len(recordOf) == 0 {
		return nil, nil
	}
	live, ended, skipped, err := slotsElsewhere(ctx, s, past.Query{Since: since}, searched)
	if err != nil {
		return nil, err
	}
	ran := map[string]state.Row{}
	for _, r := range slices.Concat(skipped, live, ended) {
		slot := schedule.Slot{Task: sharedTasks[r.Task], At: r.Slot.UTC()}
		record := recordOf[slot]
		if r.Outcome == outcome.Skipped {
			record = takenOf[slot]
		}
		if record != "" && r.Origin == "" && r.Server != s.Server {
			ran[record] = r
		}
	}
	return ran, nil
}

// slotsElsewhere returns all runs that live on other servers, or lived when their server said
// something last, the ended runs that a query covers (see cluster.Recent), and the slots that
// servers had and skipped. A run that ends meanwhile is live or has ended, or is both.
func slotsElsewhere(
	ctx context.Context, s Source, q past.Query, searched int,
) (live, ended, skipped []state.Row, err error) {
	live, over, err := announcedElsewhere(ctx, s)
	if err != nil {
		return nil, nil, nil, err
	}
	if skipped, err = cluster.Skips(ctx, s.Controls.Store, s.Server, q); err != nil {
		return nil, nil, nil, err
	}
	q.Outcomes = outcome.Ran
	ended, err = cluster.Recent(ctx, s.Controls.Store, s.Server, q, searched)
	for _, row := range over {
		if !slices.ContainsFunc(ended, func(r state.Row) bool { return r.ID == row.ID }) {
			live = append(live, row)
		}
	}
	return live, ended, skipped, err
}
