package view

import (
	"context"
	"maps"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// Store returns the store of the schedule, or an error if the schedule has no store.
func (s Source) Store() (mutex.Store, error) {
	if s.Controls.Store == nil {
		return nil, Fail(NotFound, "let the servers share a Redis: `store: redis://…` in the schedule",
			"%s has no store, so this machine stands alone", s.Schedule.File)
	}
	return s.Controls.Store, nil
}

// RunningElsewhere returns the runs that live on other servers, as these servers last announced
// them. Without a store it returns no runs.
func RunningElsewhere(ctx context.Context, s Source) (live []state.Row, err error) {
	if s.Controls.Store == nil {
		return nil, nil
	}
	all, err := cluster.List(ctx, s.Controls.Store)
	for _, one := range all {
		if one.Name == s.Server {
			continue
		}
		var lastTold time.Time
		if one.Silent() {
			lastTold = clock.Now().Add(-one.Age)
		}
		for _, r := range one.Running {
			live = append(live, state.Row{
				ID: r.Run, Task: r.Task, Slot: r.Slot, Server: one.Name, Phase: state.Running, LastTold: lastTold,
				Attempt: state.Attempt{Number: 1, PID: r.PID, At: r.Since},
			})
		}
	}
	return live, err
}

// LiveElsewhere returns the runs of a task that live on other servers, or the run with that id, as
// far as the store knows them.
func LiveElsewhere(ctx context.Context, s Source, name string) (found []state.Row) {
	live, err := RunningElsewhere(ctx, s)
	if err == nil && s.Controls.Store != nil {
		live, err = withHolders(ctx, s.Schedule, s.Controls.Store, live, nil)
	}
	if err != nil {
		s.LeftOut(err)
	}
	for _, row := range live {
		if row.Server != s.Server && outcome.IsID(row.ID) && named(row, name) {
			found = append(found, row)
		}
	}
	return found
}

// named reports whether name is the task of a run, or stands for its id (see OneRun).
func named(r state.Row, name string) bool {
	id, _ := state.OneRun([]string{r.ID}, name)
	return id != "" || r.Task == name
}

// ElseThere returns err or, if another server has a run of that name or id, the error of NotHere.
func ElseThere(ctx context.Context, s Source, command, name string, err error) error {
	var newest state.Row
	for _, r := range LiveElsewhere(ctx, s, name) {
		if r.ID > newest.ID {
			newest = r
		}
	}
	if s.Controls.Store != nil {
		ended, err := cluster.Recent(ctx, s.Controls.Store, s.Server, state.Query{}, cluster.MaxRuns)
		if err != nil {
			s.LeftOut(err)
		}
		for _, r := range ended {
			if r.Server != s.Server && named(r, name) && r.ID >= newest.ID {
				newest = r
			}
		}
	}
	if newest.ID == "" {
		return err
	}
	return NotHere(newest, command)
}

// NotHere is the error for a run that the store reports from another server: the command has to be
// called there.
func NotHere(r state.Row, command string) error {
	run := humanize.ShortRun(r.ID)
	return Fail(Conflict, "", "run %s of %s is on %s: `sched %s %s` there", run, humanize.Line(r.Task), humanize.Line(r.Server), command, run)
}

// HistoryOfAll is History for all servers of the store. It has only slots that ran, because servers
// do not share what they skipped or missed. When the store does not answer, HistoryOfAll reports
// that and covers this machine alone.
func (s Source) HistoryOfAll(ctx context.Context, q state.Query) (live, lost []state.Row, rows []state.Row, err error) {
	store, err := s.Store()
	if err != nil {
		return nil, nil, nil, err
	}
	if q.Outcomes = ran(q.Outcomes); len(q.Outcomes) == 0 {
		return nil, nil, nil, Fail(Invalid, "call it on each server, without --all-servers", "servers do not tell each other what they skipped or missed")
	}
	live, lost, rows, err = s.History(ctx, q)
	if err != nil {
		return live, lost, nil, err
	}
	others, err := RunningElsewhere(ctx, s) // before the records: a run that ends meanwhile is in at least one of them
	var copies []state.Row
	if err == nil {
		copies, err = cluster.Recent(ctx, store, s.Server, q, cluster.MaxRuns)
	}
	if err != nil {
		s.LeftOut(err)
		return live, lost, rows, nil
	}
	runs := map[string]state.Row{}
	for _, r := range slices.Concat(copies, rows) { // the records of this machine replace their copies
		runs[r.ID] = r
	}
	for _, row := range others {
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
func (s Source) PageOfAll(ctx context.Context, q state.Query) (page []state.Row, next state.Position, err error) {
	store, err := s.Store()
	if err != nil {
		return nil, next, err
	}
	if q.Outcomes = ran(q.Outcomes); len(q.Outcomes) == 0 {
		return nil, next, Fail(Invalid, "ask each server for its own", "servers do not tell each other what they skipped or missed")
	}
	page, next, err = s.Page(ctx, q)
	if err != nil {
		return nil, next, err
	}
	limit := q.Limit
	q.Limit++ // whether there is a next page
	copies, err := cluster.Recent(ctx, store, s.Server, q, cluster.MaxRuns)
	if err != nil {
		s.LeftOut(err)
		return page, next, nil
	}
	runs := map[string]state.Row{}
	for _, r := range slices.Concat(copies, page) { // the records of this machine replace their copies
		runs[r.ID] = r
	}
	page = cluster.Newest(runs, limit)
	if len(runs) > limit {
		next = state.Position{Slot: page[limit-1].Slot, ID: page[limit-1].ID}
	}
	return page, next, nil
}

// ran returns the given outcomes that runs have which took place. If no outcomes are given, it
// returns all such outcomes.
func ran(outcomes []outcome.Outcome) []outcome.Outcome {
	if len(outcomes) == 0 {
		return outcome.Ran
	}
	return slices.DeleteFunc(slices.Clone(outcomes), func(o outcome.Outcome) bool { return !slices.Contains(outcome.Ran, o) })
}

// withElsewhere adds the live runs and the last runs of other servers to the past of this machine.
func withElsewhere(ctx context.Context, s Source, names []string, p past) past {
	store := s.Controls.Store
	if store == nil {
		return p
	}
	live, err := RunningElsewhere(ctx, s)
	var last map[string]state.Row
	if err == nil {
		last, err = cluster.Last(ctx, store, s.Server, names)
	}
	if err == nil {
		live, err = withHolders(ctx, s.Schedule, store, live, p.running)
	}
	if err != nil {
		s.LeftOut(err)
		return p
	}
	for _, row := range live {
		p.addRunning(row)
	}
	merged := maps.Clone(p.last)
	if merged == nil {
		merged = map[string]state.Row{}
	}
	for name, r := range last {
		if r.ID > merged[name].ID {
			merged[name] = r
		}
	}
	p.last = merged
	return p
}

// withHolders adds to live the runs that hold the lock of a task on another server and were not
// announced yet. It leaves out mutexes that tasks share, because their holder may be a run of any
// of these tasks.
func withHolders(ctx context.Context, s *schedule.Schedule, store mutex.Store, live []state.Row, here map[string][]Running) ([]state.Row, error) {
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
