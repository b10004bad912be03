package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sched/mutex"

	"sched/schedule/statedir"

	"sched/schedule/process"
)

// A State is the folder where runs leave what they must not forget. When it cannot be written
// (read-only, full, somebody else's) the runs go on with a spare one on another file system: the
// tasks run, the locks hold, and the loss of history is said.
type State struct {
	Dir    string
	Remote *mutex.Redis // where servers share the mutexes; nil for a machine that stands alone
}

// locks is where the mutexes of this machine are.
func (s State) locks() string { return filepath.Join(s.Dir, "locks") }

// Store returns the mutexes of the schedule.
func (s State) Store() mutex.Store { return s.storeAt(s.locks()) }

// storeAt returns the mutexes whose part on this machine is in another folder: a run that began while
// this one could not be written has its lock there.
func (s State) storeAt(locks string) mutex.Store {
	return mutex.NewStore(locks, s.Remote)
}

// meetStore lets this machine know the Redis of the store again, if it was started anew.
func (s State) meetStore() {
	if s.Remote != nil {
		os.MkdirAll(s.Dir, 0o700) // where that is impossible, others say so
		s.Remote.RememberInstances(filepath.Join(s.Dir, "store.json"))
	}
}

// alone is the same state without other servers.
func (s State) alone() State { return State{Dir: s.Dir} }

// StateFrom returns the state that the environment of a background run's process names, and false
// for any other process.
func StateFrom(getenv func(string) string) (s State, ok bool, err error) {
	s.Dir = getenv(process.StateVariable)
	if store := getenv(process.StoreVariable); store != "" && s.Dir != "" {
		var config mutex.Config
		if err := json.Unmarshal([]byte(store), &config); err != nil {
			return s, true, fmt.Errorf("$%s: %w", process.StoreVariable, err)
		}
		s.Remote, err = mutex.Dial(config)
	}
	return s, s.Dir != "", err
}

// variables are what StateFrom reads.
func (s State) variables() []string {
	variables := []string{process.StateVariable + "=" + s.Dir}
	if s.Remote != nil {
		config, _ := json.Marshal(s.Remote.Config()) // texts and a number
		variables = append(variables, process.StoreVariable+"="+string(config))
	}
	return variables
}

// spares are the same storage with the spare folders of its state folder in place of that.
func (s State) spares() (spares []State) {
	for _, dir := range statedir.Spares(s.Dir) {
		spares = append(spares, State{dir, s.Remote})
	}
	return spares
}

// folders are the storage, and those of its spares that are there and ours alone.
func (s State) folders() (all []State) {
	for _, dir := range statedir.Folders(s.Dir) {
		all = append(all, State{dir, s.Remote})
	}
	return all
}
