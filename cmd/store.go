package cmd

import (
	"os"
	"path/filepath"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/run"
)

// store returns the store of the schedule, without connecting to it yet; nil where there is none.
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

// closeStore ends the connections to the store; what is still on its way has a moment to arrive.
func (st *storages) closeStore() {
	if st.remote != nil {
		st.remote.Close()
	}
}

// storage is where the runs of the schedule keep what they must not forget.
func (st *storages) storage(s *schedule.Schedule) run.Storage {
	return run.Storage{Dir: s.StateDir, Store: st.store(s)}
}

// runs is what a command that finishes or stops runs gives to them.
func (st *storages) runs(s *schedule.Schedule) run.Caller {
	return run.Caller{Storage: st.storage(s), Environ: os.Environ()}
}

// controls is where what people ask of the ticks of a schedule is kept.
func (st *storages) controls(s *schedule.Schedule) controls.Source {
	return controls.Source{Dir: s.StateDir, Store: st.store(s), ReadOnly: st.looks}
}
