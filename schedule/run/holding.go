package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/state"
)

// This file is about what a run holds while it goes on: its mutex, a seat of its pool, or both, as
// one lock.

// NeedOf returns what a run of the task must hold. It leaves Taken unset.
func NeedOf(task *schedule.Task) mutex.Need {
	need := mutex.Need{Pool: task.Pool.Name, Seats: task.Pool.Seats}
	if task.WithoutOverlapping {
		need.Mutex = task.Mutex
	}
	return need
}

// NewHolder returns the run of a row as the holder of what this process is about to acquire.
func NewHolder(row state.Row) mutex.Holder {
	return mutex.Holder{Run: row.ID, PID: os.Getpid(), Host: row.Server, Task: row.Task, Since: clock.Now()}
}

// adopt makes the lock ours that another process acquired for the run. The files are its
// descriptors: of the mutex, then of the seat; there may be none. It is not known when the lease
// began, so the lease is renewed before a command starts.
func (r *Run) adopt(files []*os.File) {
	for _, file := range files {
		unix.CloseOnExec(int(file.Fd()))
	}
	holder := NewHolder(r.row.Row)
	var locks []mutex.Lock
	add := func(name string) {
		var file *os.File
		if len(files) > 0 {
			file, files = files[0], files[1:]
		}
		locks = append(locks, r.Mutexes().Adopt(name, holder, file))
	}
	if r.row.Locked {
		add(r.task.Mutex)
	}
	if r.row.Seat != "" {
		add(r.row.Seat)
	}
	r.lock, r.adopted = mutex.Join(locks...), true
}

// reasonOf says why a run cannot have what it must hold.
func reasonOf(err error) string {
	if reason, held := HeldReason(err); held {
		return reason
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}

// HeldReason returns the reason of a skip if other runs have the mutex or all seats, or wait for
// them. It returns false for any other error.
func HeldReason(err error) (reason string, held bool) {
	var full *mutex.FullError
	var behind *BehindError
	var mutexHeld *mutex.HeldError
	switch {
	case errors.As(err, &full):
		return full.Error(), true
	case errors.As(err, &behind):
		return behind.Error(), true
	case errors.As(err, &mutexHeld):
		return stillRunning(mutexHeld.Holder, clock.Now()), true
	}
	return "", false
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
func (s Storage) SeatHolders(ctx context.Context, live []state.Row, of schedule.Pool) ([]mutex.Holder, error) {
	need := mutex.Need{Pool: of.Name, Seats: of.Seats}
	held, err := s.Holders(ctx, live, need)
	return need.SeatHolders(held), err
}

// renewLease renews the lease of the run's lock until its renewer is ended. The context that it
// returns ends when the lease is lost, if the task has on_lost_lease: stop.
func (r *Run) renewLease(ctx context.Context) (context.Context, *Renewer) {
	return r.Leases.Renew(ctx, LeaseOf{
		Lock: r.lock, Note: r.row.note, Stop: r.task.StopOnLostLease,
		Adopted: r.leftover != nil, Unknown: r.adopted && r.row.Phase == state.Ready,
	})
}

// HolderOf returns a live run as the holder of its mutex. Before its command has started it has no
// pid.
func HolderOf(row state.Row) mutex.Holder {
	holder := mutex.Holder{Run: row.ID, Host: row.Server, Task: row.Task, Since: outcome.Begun(row.ID)}
	if row.Attempted() {
		holder.PID, holder.Since = row.Attempt.PID, row.Attempt.At
	}
	return holder
}

// stillRunning returns the reason of a skip: for how long the mutex is held, and by which run. A
// holder without a Run left nothing that can be read.
func stillRunning(holder mutex.Holder, now time.Time) string {
	if holder.Since.IsZero() { // what the holder wrote down cannot be read
		return "still running, held " + holder.String()
	}
	return fmt.Sprintf("still running for %s, %s", humanize.Duration(max(0, now.Sub(holder.Since))), holder)
}

// goesOn reports whether the last run that had a mutex goes on, though nothing holds the lock of
// the kernel any more. That happens when the supervisor, which had the descriptor, was killed, and
// the command has closed its own descriptor. Then the witness goes on with the run. If the witness
// was killed, too, the command may live on.
func (s Storage) goesOn(name string, last mutex.Holder) bool {
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
	if err != nil || row.Phase == state.Ended || row.Waits() {
		return false
	}
	// A run that could not begin, as on a full disk, may have begun later with another seat.
	if _, isSeat := mutex.PoolOf(name); isSeat && row.Seat != name {
		return false
	}
	return row.Background && db.Owners().Alive(row.Owner) || livesOn(row)
}

// livesOn reports whether the command of a run without a result lives. It is false if the system
// cannot tell.
func livesOn(row state.Row) bool {
	if !process.FindsByRun || row.Phase != state.Running {
		return false
	}
	return len(process.LiveGroups(row.ID, row.Attempt.PID, row.Attempt.Number)) > 0
}
