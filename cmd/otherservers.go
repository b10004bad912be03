package cmd

import (
	"maps"
	"slices"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/servers"
)

// runningElsewhere returns the runs that live on other servers, as these announced them last.
func runningElsewhere(store *mutex.Redis) (live []runfile.State, err error) {
	all, err := servers.List(ctx, store)
	here, _ := hostname()
	for _, s := range all {
		if s.Name == here {
			continue
		}
		for _, r := range s.Running {
			live = append(live, runfile.State{
				Begin:   outcome.Record{Run: r.Run, Task: r.Task, Slot: r.Slot, Server: s.Name},
				Attempt: &runfile.Attempt{PID: r.PID, At: r.Since},
			})
		}
	}
	return live, err
}

// readAllHistory is readHistory for all servers of the store. It has only what ran: servers do not share what they skipped or
// missed. When the store does not answer it is about this machine alone, and prints so.
func (a *app) readAllHistory(s *schedule.Schedule, q history.Query) (live, lost []runfile.State, records []outcome.Record, err error) {
	store, err := a.needStore(s)
	if err != nil {
		return nil, nil, nil, err
	}
	if q.Outcomes = ran(q.Outcomes); len(q.Outcomes) == 0 {
		return nil, nil, nil, usage("call it on each server, without --all", "servers do not tell each other what they skipped or missed")
	}
	live, lost, records, err = a.readHistory(s, q)
	if err != nil {
		return live, lost, nil, err
	}
	others, err := runningElsewhere(store) // before the records, so that a run that ends meanwhile is in one of them or both
	var copies []outcome.Record
	if err == nil {
		copies, err = servers.Recent(ctx, store, q)
	}
	if err != nil {
		a.leftOut(err)
		return live, lost, records, nil
	}
	runs := map[string]outcome.Record{}
	for _, r := range slices.Concat(copies, records) { // the records of this machine replace their copies
		runs[r.Run] = r
	}
	for _, state := range others {
		if _, ended := runs[state.Begin.Run]; !ended {
			live = append(live, state)
		}
	}
	slices.SortStableFunc(live, func(a, b runfile.State) int { return a.Begin.Slot.Compare(b.Begin.Slot) })
	return live, lost, servers.Newest(runs, q.Limit), nil
}

// ran returns those of the outcomes that a run has which took place; for no outcomes it returns all that it may have.
func ran(outcomes []outcome.Outcome) []outcome.Outcome {
	if len(outcomes) == 0 {
		return outcome.Ran
	}
	return slices.DeleteFunc(slices.Clone(outcomes), func(o outcome.Outcome) bool { return !slices.Contains(outcome.Ran, o) })
}

// withElsewhere adds to what list says of the past what other servers run, and ran last.
func (a *app) withElsewhere(s *schedule.Schedule, p past) past {
	store := a.store(s)
	if store == nil {
		return p
	}
	live, err := runningElsewhere(store)
	var last map[string]outcome.Record
	if err == nil {
		last, err = servers.Last(ctx, store, taskNames(s))
	}
	if err == nil {
		live, err = withHolders(s, store, live, p.running)
	}
	if err != nil {
		a.leftOut(err)
		return p
	}
	for _, state := range live {
		p.addRunning(state)
	}
	merged := maps.Clone(p.last)
	if merged == nil {
		merged = map[string]outcome.Record{}
	}
	for name, r := range last {
		if r.Run > merged[name].Run {
			merged[name] = r
		}
	}
	p.last = merged
	return p
}

// withHolders adds to live the runs that hold the lock of a task on another server and were not announced yet. It leaves
// out mutexes that tasks share: their holder may be a run of any of these tasks.
func withHolders(s *schedule.Schedule, store *mutex.Redis, live []runfile.State, here map[string][]runningJSON) ([]runfile.State, error) {
	var names []string
	for _, t := range s.Tasks {
		if t.WithoutOverlapping && t.Mutex == t.Name && len(here[t.Name]) == 0 {
			names = append(names, t.Name)
		}
	}
	holders, err := store.Held(ctx, names...)
	for name, holder := range holders {
		if !slices.ContainsFunc(live, func(state runfile.State) bool { return state.Begin.Run == holder.Run }) {
			live = append(live, runfile.State{
				Begin:   outcome.Record{Run: holder.Run, Task: name, Server: holder.Host},
				Attempt: &runfile.Attempt{PID: holder.PID, At: holder.Since},
			})
		}
	}
	return live, err
}

// leftOut prints that what follows is about this machine alone.
func (a *app) leftOut(err error) { a.problem("other servers are left out: %s", err.Error()) }
