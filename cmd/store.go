package cmd

import (
	"os"
	"path/filepath"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
)

// store returns a store that is not connected yet; nil if the schedule has none.
func (st *storages) store(s *schedule.Schedule) mutex.Store {
	if st.remote == nil && len(s.Store.Servers) > 0 {
		remote, err := stores.Open(mutex.Config{Servers: s.Store.Servers, Dir: filepath.Dir(s.File), Namespace: s.Name, Lease: s.Store.Lease})
		if err != nil {
			panic(err) // the schedule is valid, so these servers were checked
		}
		st.remote = remote
	}
	return st.remote
}

// closeStore closes the database, and ends the connections to the store. Commands that are still on
// their way to the store have a moment to arrive.
func (st *storages) closeStore() {
	if st.caller != nil {
		st.caller.Self.Close()
		st.caller.DB.Close()
	}
	if st.remote != nil {
		st.remote.Close()
	}
}

// storage returns the storage of the schedule, which closeStore closes. It opens nothing yet.
func (st *storages) storage(s *schedule.Schedule) run.Storage { return st.runs(s).Storage }

// runs returns what this process gives to runs of the schedule.
func (st *storages) runs(s *schedule.Schedule) run.Caller {
	if st.caller == nil || st.caller.Dir != s.StateDir {
		caller := run.NewCaller(run.StorageAt(s.StateDir, st.store(s)), state.Tick, os.Environ())
		st.caller = &caller
	}
	return *st.caller
}

func (st *storages) controls(s *schedule.Schedule) pause.Source {
	return pause.Source{Dir: s.StateDir, Store: st.store(s), ReadOnly: st.looks}
}
