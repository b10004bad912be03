package cmd

import (
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/runner"
)

// store returns the store of the schedule, without connecting to it yet; nil where there is none.
func (a *app) store(s *schedule.Schedule) *mutex.Redis {
	if a.remote == nil && len(s.Store.Servers) > 0 {
		remote, err := mutex.Dial(mutex.Config{Servers: s.Store.Servers, Namespace: s.Name, Lease: s.Store.Lease})
		if err != nil {
			panic(err) // the schedule is valid, so these servers were checked
		}
		a.remote = remote
	}
	return a.remote
}

// closeStore ends the connections to the store; what is still on its way has a moment to arrive.
func (a *app) closeStore() {
	if a.remote != nil {
		a.remote.Close()
	}
}

// state returns the state folder of the schedule, and its store.
func (a *app) state(s *schedule.Schedule) runner.State {
	return runner.State{Dir: s.StateDir, Remote: a.store(s)}
}

// controls is where what people ask of the ticks of a schedule is kept.
func (a *app) controls(s *schedule.Schedule) controls.Source {
	return controls.Source{Dir: s.StateDir, Store: a.store(s)}
}
