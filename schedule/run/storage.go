package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule/process"
	"sched/schedule/statedir"
)

// A Storage is where runs keep what they must not forget: the state folder of this machine, and the store that its servers share.
type Storage struct {
	Dir   string      // the state folder, or a spare one
	Store mutex.Store // nil for a machine that stands alone
}

// Locks is the folder of the mutexes of this machine.
func (s Storage) Locks() string { return filepath.Join(s.Dir, "locks") }

// Mutexes returns the mutexes of the schedule.
func (s Storage) Mutexes() mutex.Locks { return s.storeAt(s.Locks()) }

// storeAt is Mutexes with the part of this machine in another folder: a run that began while the state folder could
// not be written has its lock in a spare one.
func (s Storage) storeAt(locks string) mutex.Locks {
	return mutex.NewLocks(mutex.Files{Dir: locks, GoesOn: s.goesOn}, s.Store)
}

// Alone returns the storage without its store.
func (s Storage) Alone() Storage { return Storage{Dir: s.Dir} }

// Spares returns the storage with each of the spare folders of its state folder, whether they exist or not.
func (s Storage) Spares() (spares []Storage) {
	for _, dir := range statedir.Spares(s.Dir) {
		spares = append(spares, Storage{dir, s.Store})
	}
	return spares
}

// Folders returns the storage, and those of its spares that exist and belong to this user alone.
func (s Storage) Folders() (all []Storage) {
	for _, dir := range statedir.Folders(s.Dir) {
		all = append(all, Storage{dir, s.Store})
	}
	return all
}

// Variables returns what passes the storage on to the processes of a background run (StorageFrom).
func (s Storage) Variables() []string {
	variables := []string{process.StateVariable + "=" + s.Dir}
	if s.Store != nil {
		config, _ := json.Marshal(s.Store.Config()) // texts and a number
		variables = append(variables, process.StoreVariable+"="+string(config))
	}
	return variables
}

// StorageFrom returns the storage that the environment of a process of a background run names; ok is false in any other
// process.
func StorageFrom(getenv func(string) string) (s Storage, ok bool, err error) {
	s.Dir = getenv(process.StateVariable)
	if store := getenv(process.StoreVariable); store != "" && s.Dir != "" {
		var config mutex.Config
		if err := json.Unmarshal([]byte(store), &config); err != nil {
			return s, true, fmt.Errorf("$%s: %w", process.StoreVariable, err)
		}
		s.Store, err = stores.Open(config)
	}
	return s, s.Dir != "", err
}
