package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule/process"
	"sched/schedule/state"
)

// A Storage is where runs keep what they must not forget: the state folder of this machine, and the
// store that its servers share.
type Storage struct {
	Dir   string      // the state folder
	DB    *state.DB   // its database, or one in memory while that cannot be written
	Store mutex.Store // nil for a machine that stands alone
}

// StorageAt returns the storage of a state folder. It opens nothing yet.
func StorageAt(dir string, store mutex.Store) Storage {
	return Storage{Dir: dir, DB: state.At(dir, state.Patience), Store: store}
}

// Locks is the folder of the mutexes of this machine.
func (s Storage) Locks() string { return filepath.Join(s.Dir, "locks") }

// Mutexes returns the mutexes of the schedule.
func (s Storage) Mutexes() mutex.Locks {
	return mutex.NewLocks(mutex.Files{Dir: s.Locks(), GoesOn: s.goesOn, HeldByOther: process.OtherRunHas, Lenient: s.DB.InMemory()}, s.Store)
}

// Alone returns the storage without its store.
func (s Storage) Alone() Storage { return Storage{Dir: s.Dir, DB: s.DB} }

// Variables returns what passes the storage on to the processes of a background run (StorageFrom).
func (s Storage) Variables() []string {
	variables := []string{process.StateVariable + "=" + s.Dir}
	if s.Store != nil {
		config, _ := json.Marshal(s.Store.Config()) // texts and a number
		variables = append(variables, process.StoreVariable+"="+string(config))
	}
	return variables
}

// StorageFrom returns the storage that the environment of a process of a background run names; ok
// is false in any other process.
func StorageFrom(getenv func(string) string) (s Storage, ok bool, err error) {
	s = StorageAt(getenv(process.StateVariable), nil)
	if store := getenv(process.StoreVariable); store != "" && s.Dir != "" {
		var config mutex.Config
		if err := json.Unmarshal([]byte(store), &config); err != nil {
			return s, true, fmt.Errorf("$%s: %w", process.StoreVariable, err)
		}
		s.Store, err = stores.Open(config)
	}
	return s, s.Dir != "", err
}
