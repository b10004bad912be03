package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/mutex/pool"
	"sched/mutex/queue"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/lease"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

// This file is about what a run holds while it goes on: its mutex, a seat of its pool, or both, as one lock.

// NeedOf returns what a run of the task must hold. What is taken already it leaves open.
func NeedOf(task *schedule.Task) pool.Need {
	need := pool.Need{Pool: task.Pool.Name, Seats: task.Pool.Seats}
	if task.WithoutOverlapping {
		need.Mutex = task.Mutex
	}
	return need
}

// NewHolder returns the run of a record as the holder of what this process is about to acquire.
func NewHolder(record outcome.Record) mutex.Holder {
	return mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Task: record.Task, Since: clock.Now()}
}

// Held notes in the record of a run what it holds in the storage.
func (s Storage) Held(record *outcome.Record, h pool.Holding) {
	if h.Mutex {
		record.Locks = s.Locks()
	}
	if h.Seat != "" {
		record.Seat = outcome.Seat{Name: h.Seat, Locks: s.Locks()}
	}
}

// HeldElsewhere finds a run that has a seat in another folder than that with these locks: in a spare one since it began while the state
// folder could not be written, or in the state folder, where that cannot be written now.
func (s Storage) HeldElsewhere(locks, seat string) (holder mutex.Holder, held bool) {
	for _, folder := range s.Folders() {
		if folder.Locks() == locks {
			continue
		}
		if holder, held = s.HeldIn(folder.Locks(), seat); held {
			return holder, true
		}
	}
	return holder, false
}

// adoptFrom adopts the lock of a run with the descriptors that came from the process that had it.
func (r *Run) adoptFrom(state runfile.State, files []*os.File) {
	for _, file := range files {
		unix.CloseOnExec(int(file.Fd()))
	}
	leased := time.Now() // where nobody wrote down when its lease began, it counts from now, by the clock that leases go by
	if !state.Leased.IsZero() {
		leased = state.Leased
	}
	r.lock = r.adopt(leased, files)
}

// adopt returns the lock that another process acquired for the run, of which a lease began at the given time; nil for a run without
// one. The files are those of the mutex and of the seat, or none.
func (r *Run) adopt(leased time.Time, files []*os.File) mutex.Lock {
	record := r.Record()
	holder := mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Task: record.Task, Since: leased}
	var locks []mutex.Lock
	add := func(folder, name string) {
		var file *os.File
		if len(files) > 0 {
			file, files = files[0], files[1:]
		}
		locks = append(locks, r.storeAt(folder).Adopt(name, holder, file))
	}
	if record.Locks != "" {
		add(record.Locks, r.task.Mutex)
	}
	if record.Seat.Name != "" {
		add(record.Seat.Locks, record.Seat.Name)
	}
	return mutex.Join(locks...)
}

// heldReason says why a run cannot have what it must hold.
func heldReason(err error) string {
	if reason, held := HeldReason(err); held {
		return reason
	}
	return fmt.Sprintf("nobody knows whether it is running: %v", err)
}

// HeldReason returns the reason of a skip since other runs have the mutex or all seats, or wait for
// them; false for any other error.
func HeldReason(err error) (reason string, held bool) {
	var full *pool.FullError
	var behind *queue.BehindError
	var mutexHeld *mutex.HeldError
	switch {
	case errors.As(err, &full):
		return full.Error(), true
	case errors.As(err, &behind):
		return behind.Error(), true
	case errors.As(err, &mutexHeld):
		return StillRunning(mutexHeld.Holder, clock.Now()), true
	}
	return "", false
}

// Holders returns who has at this moment what a run needs, by the names of the mutex and of the
// seats, as the live runs of this machine and the store say. With an error it is what this machine
// alone knows.
func (s Storage) Holders(ctx context.Context, live []runfile.State, need pool.Need) (held map[string]mutex.Holder, err error) {
	if s.Store != nil {
		held, err = s.Store.Held(ctx, need.Names()...)
	}
	if held == nil {
		held = map[string]mutex.Holder{}
	}
	for _, state := range live {
		if seat := state.Begin.Seat.Name; seat != "" && !state.Waits() {
			held[seat] = HolderOf(state)
		}
		if state.Begin.Locks != "" && !state.Waits() {
			held[state.Begin.Mutex] = HolderOf(state)
		}
	}
	return held, err
}

// Sitting returns who has the seats of a pool, in the order of the seats; see Holders.
func (s Storage) Sitting(ctx context.Context, live []runfile.State, of schedule.Pool) ([]mutex.Holder, error) {
	need := pool.Need{Pool: of.Name, Seats: of.Seats}
	held, err := s.Holders(ctx, live, need)
	return need.Sitting(held), err
}

// renewLease renews the lease of the run's lock until its renewer is ended. The context that it returns ends when the lease is lost, if
// the task has on_lost_lease: stop.
func (r *Run) renewLease(ctx context.Context) (context.Context, *lease.Renewer) {
	ctx, renewer := r.Leases.Renew(ctx, lease.Of{
		Lock: r.lock, Note: r.note, Stop: r.task.StopOnLostLease,
		Adopted: r.left != nil, Unknown: r.left != nil && r.left.attempt == 0,
	})
	r.lease = renewer
	return ctx, renewer
}

// leased returns when the lease of the run's lock began last; zero where it has none.
func (r *Run) leased() time.Time {
	if r.lock == nil {
		return time.Time{}
	}
	return r.lock.Leased()
}

// HolderOf returns a live run as the holder of its mutex. Before its command has started it has no pid.
func HolderOf(state runfile.State) mutex.Holder {
	holder := mutex.Holder{Run: state.Begin.Run, Host: state.Begin.Server, Task: state.Begin.Task, Since: outcome.Begun(state.Begin.Run)}
	if state.Attempt != nil {
		holder.PID, holder.Since = state.Attempt.PID, state.Attempt.At
	}
	return holder
}

// StillRunning returns the reason of a skip: for how long the mutex is held, and by which run. A holder without a Run left
// nothing that can be read.
func StillRunning(holder mutex.Holder, now time.Time) string {
	if holder.Since.IsZero() { // what the holder wrote down cannot be read
		return "still running, held " + holder.String()
	}
	return fmt.Sprintf("still running for %s, %s", humanize.Duration(max(0, now.Sub(holder.Since))), holder)
}

// describeLock names a process of the run in its lock, for people. It decides nothing.
func (r *Run) describeLock(pid int, since time.Time) {
	if r.lock != nil {
		r.lock.Describe(mutex.Holder{Run: r.Record().Run, PID: pid, Host: r.Record().Server, Task: r.Record().Task, Since: since})
	}
}
