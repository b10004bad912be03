package cmd

import (
	"maps"
	"slices"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/history"

	"sched/schedule/servers"

	"sched/schedule/outcome"

	"sched/schedule/runfile"
)

// runningElsewhere returns the runs that live on other servers, as these announced them. What lives
// here the files of the runs tell exactly.
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

// recallAll is recall for all servers: what ran, since each server keeps to itself what it skipped or
// missed. Without an answer of the store it is about this machine, and says so.
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
	others, err := runningElsewhere(store) // first, so that a run that ends meanwhile is seen once or twice, and not never
	var copies []outcome.Record
	if err == nil {
		copies, err = servers.Recent(ctx, store, q)
	}
	if err != nil {
		a.leftOut(err)
		return live, lost, records, nil
	}
	runs := map[string]outcome.Record{}
	for _, r := range slices.Concat(copies, records) { // what this machine knows of its runs is nearer to the truth
		runs[r.Run] = r
	}
	for _, log := range others {
		if _, ended := runs[log.Begin.Run]; !ended {
			live = append(live, log)
		}
	}
	slices.SortStableFunc(live, func(a, b runfile.State) int { return a.Begin.Slot.Compare(b.Begin.Slot) })
	return live, lost, servers.Newest(runs, q.Limit), nil
}

// ran returns those of the outcomes that runs have, or all of these for none.
func ran(outcomes []outcome.Outcome) []outcome.Outcome {
	if len(outcomes) == 0 {
		return outcome.Ran
	}
	return slices.DeleteFunc(slices.Clone(outcomes), func(o outcome.Outcome) bool { return !slices.Contains(outcome.Ran, o) })
}

// withElsewhere adds what other servers run and ran last.
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
	for _, log := range live {
		p.addRunning(log)
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

// withHolders adds the runs that have the lock of a task on another server, and that it has not announced
// yet. Who has a mutex that tasks share may be any of them, so of these only announcements tell.
func withHolders(s *schedule.Schedule, store *mutex.Redis, live []runfile.State, here map[string][]runningJSON) ([]runfile.State, error) {
	var names []string
	for _, t := range s.Tasks {
		if t.WithoutOverlapping && t.Mutex == t.Name && len(here[t.Name]) == 0 {
			names = append(names, t.Name)
		}
	}
	holders, err := store.Held(ctx, names...)
	for name, owner := range holders {
		if !slices.ContainsFunc(live, func(log runfile.State) bool { return log.Begin.Run == owner.Run }) {
			live = append(live, runfile.State{
				Begin:   outcome.Record{Run: owner.Run, Task: name, Server: owner.Host},
				Attempt: &runfile.Attempt{PID: owner.PID, At: owner.Since},
			})
		}
	}
	return live, err
}

// leftOut says that what follows is about this machine alone.
func (a *app) leftOut(err error) { a.problem("other servers are left out: %s", err.Error()) }
