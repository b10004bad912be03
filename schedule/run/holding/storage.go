// Package holding is what a run of this machine stands on: the storage with its row and its locks,
// what it holds while it goes on (its mutex, a seat of its pool, or both as one lock), and who is
// before it in the queues for that.
package holding

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/lease"
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
	files := mutex.Files{
		Dir:         s.Locks(),
		GoesOn:      s.GoesOn,
		Over:        s.Over,
		HeldByOther: process.OpenInOtherRun,
		Lenient:     s.DB.InMemory(),
	}
	return mutex.NewLocks(files, s.Store)
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

// Holders returns who holds at this moment what a run needs, by the names of the mutex and of the
// seats. It asks the store and the live runs of this machine. With an error of the store it returns
// what this machine alone knows.
func (s Storage) Holders(
	ctx context.Context, live []state.Row, need mutex.Need,
) (held map[string]mutex.Holder, err error) {
	if s.Store != nil {
		held, err = s.Store.Held(ctx, need.Names()...)
	}
	if held == nil {
		held = map[string]mutex.Holder{}
	}
	for _, row := range live {
		if row.Seat != "" && !row.Waits() {
			held[row.Seat] = HolderOf(row)
		}
		if row.Locked && !row.Waits() {
			held[row.Mutex] = HolderOf(row)
		}
	}
	return held, err
}

// SeatHolders returns who has the seats of a pool, in the order of the seats; see Holders.
func (s Storage) SeatHolders(ctx context.Context, live []state.Row, pool schedule.Pool) ([]mutex.Holder, error) {
	need := mutex.Need{Pool: pool.Name, Seats: pool.Seats}
	held, err := s.Holders(ctx, live, need)
	return need.SeatHolders(held), err
}

// Behind returns a *BehindError if runs wait for the mutex or for a seat that is needed. Any other
// error says that this is not known.
func (s Storage) Behind(need mutex.Need) error {
	rows, err := s.DB.LiveQueue(context.Background())
	if err != nil {
		return err
	}
	return FirstOf(rows, QueuesOf(need))
}

// GoesOn reports whether the last run that had a mutex goes on, though nothing holds the lock of
// the kernel any more. There are two cases:
//
//   - The supervisor, which had the descriptor, was killed, and the command has closed its own
//     descriptor. Then the witness goes on with the run. If the witness was killed, too, the command
//     may live on.
//   - The run has ended, and processes of its command survived KILL.
func (s Storage) GoesOn(name string, last mutex.Holder) bool {
	db := s.DB
	if db.InMemory() {
		file, err := state.OpenRead(s.Dir, state.Patience)
		if err != nil {
			return false
		}
		defer file.Close()
		db = file
	}
	row, err := db.Runs().Row(context.Background(), last.Run)
	if err != nil || row.Waits() {
		return false
	}
	if row.Phase == state.Ended {
		return LivesOn(row)
	}
	// A run that could not begin, as on a full disk, may have begun later with another seat.
	if _, isSeat := mutex.PoolOf(name); isSeat && row.Seat != name {
		return false
	}
	return row.Background && db.Owners().Alive(row.Owner) || LivesOn(row)
}

// Over reports whether a run of this machine needs no lock any more: see mutex.Files. A lost run
// may need its lock: something of its command may live. So may a run whose processes survived KILL.
func (s Storage) Over(id string) bool {
	row, err := s.DB.Runs().Row(context.Background(), id)
	isOver := row.Waits() || row.Phase == state.Ended && row.Outcome != outcome.Lost
	return err == nil && isOver && !LivesOn(row)
}

// LivesOn reports whether processes of a run live: of one with a result those that survived KILL,
// and else its command. It is false if the system cannot tell.
func LivesOn(row state.Row) bool {
	for text := range strings.FieldsSeq(row.Survivors) {
		if process.ParseSurvivor(text).Alive() {
			return true
		}
	}
	if row.Outcome != "" || !process.FindsByRun || row.Phase != state.Running {
		return false
	}
	return len(LiveGroups(row)) > 0
}

// LiveGroups returns the process groups of the run's last command that live. Of a command without
// an environment it knows the group that was written down, as long as it prints.
func LiveGroups(row state.Row) []int {
	var task schedule.Task
	json.Unmarshal(row.Snapshot, &task) // else it is a task without a user
	last := row.Attempt.PID
	groups := process.LiveGroups(row.ID, task.As.User, last, row.Attempt.Number)
	if last != 0 && len(groups) == 0 && process.Prints(last, row.Output) {
		groups = append(groups, last)
	}
	return groups
}

// A Process is what a process of sched gives to the runs that it begins or finishes.
type Process struct {
	Storage
	Self    *state.Self    // this process in the database of the storage, as the owner of runs
	Environ []string       // the environment of this process, which commands and hooks inherit
	Sender  *notify.Sender // of messages; nil in a process that fires no hooks
	Leases  *lease.Keeper  // of the process; nil: each run keeps only its own
	// Terminate is done when this process was asked to end. It ends what a run waits for and could
	// do without.
	Terminate context.Context
}
