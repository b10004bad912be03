package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/runfile"

	"sched/schedule"
)

// This file is how other processes go on with a run that a tick began: its supervisor, and `sched finish`.

// startDeliveryPatience is how long a supervisor whose command has ended waits for the delivery of messages about the
// start: the run's lock is held meanwhile. While a longer command runs, there is time enough.
const startDeliveryPatience = 5 * time.Second

// Receive returns the run of the descriptors, which belong to it then.
func (c Caller) Receive(d Descriptors) (*Run, error) {
	r, state, err := c.inherit(d)
	if err != nil {
		return nil, err
	}
	switch {
	case state.Deferred():
		err = r.resumeDeferred(state.Deferral)
	case state.Attempt != nil || state.Result != nil:
		err = fmt.Errorf("run %s was started before", r.Record().Run)
	}
	if err != nil {
		r.Close()
	}
	return r, err
}

// Supervise supervises a background run to the end of its command, and starts its trailing `sched finish`, with the program at
// the path self. A run whose next attempt was deferred ends without that. When terminate is done it stops the command, when
// kill is done too it kills it. It calls begun when the command was started first, or when its hooks are to come first, and ended
// when the result is written down: `finish` waits for its return.
func (r *Run) Supervise(terminate, kill context.Context, self string, begun, ended func()) {
	r.Terminate, r.begun = terminate, sync.OnceFunc(begun)
	defer r.begun()
	r.Sender = outbox.NewSender(kill, r.Environ)
	result := r.supervise(terminate, kill)
	if result.Outcome == "" { // a later tick goes on with the deferred retry
		r.leaveDeferred(nil)
		return
	}
	// Where that is impossible, as on a full disk, this process alone knows the result: the exit code alone is no proof of one
	// (docs/decisions.md#an-exit-code-alone-is-no-result).
	err := r.file.Append(runfile.Event{Result: &result, Leased: r.leased()})
	r.Sender.Wait(terminate, startDeliveryPatience)
	if err == nil {
		ended()
		err = r.finishApart(self, result)
	}
	if err != nil {
		defer r.sendAlone()()
		r.finish(runfile.State{Result: &result}, result)
	}
}

// FinishInherited finishes the background run whose file this process inherited, with the result that its supervisor wrote
// down. The error is os.ErrNotExist where the run is over.
func (c Caller) FinishInherited(id string) error {
	strange := fmt.Errorf("run %s was not begun by the process that calls this", id)
	if !isOwnFile(runDescriptor) {
		return strange
	}
	d := Descriptors{Runfile: os.NewFile(runDescriptor, runfile.Path(c.Dir, id))}
	if isOwnFile(lockDescriptor) {
		d.Lock = os.NewFile(lockDescriptor, "the inherited lock")
	}
	r, state, err := c.inherit(d)
	if err != nil {
		return err
	}
	if r.Record().Run != id {
		return strange
	}
	if state.Deferred() {
		r.leaveDeferred(state.Deferral)
		return nil
	}
	defer r.sendAlone()()
	r.conclude(state, nil)
	return nil
}

// FinishByHand finishes a run that no process holds, even if it waits for a deferred retry. The code is the exit code of its
// command, where the person who calls this knows that; else nil. The error is runfile.ErrAlive, or os.ErrNotExist where
// there is no such run.
func (c Caller) FinishByHand(id string, code *int) (outcome.Record, error) {
	r, state, err := c.take(id)
	if err != nil {
		return outcome.Record{}, err
	}
	defer r.sendAlone()()
	return r.conclude(state, code), nil
}

// sendAlone gives the run a Sender of its own; the function that it returns waits for the attempts. What is not
// delivered stays in the outbox, and ticks report it.
func (r *Run) sendAlone() (wait func()) {
	r.Sender = outbox.NewSender(context.Background(), r.Environ)
	r.Sender.Undelivered = func(d *outbox.Delivery, err error, what string) bool {
		if !d.Kept() { // no tick will find it
			fmt.Fprintf(os.Stderr, "sched: %s: %s: %v; %s\n", d.Message.Task, d.Hook, err, what)
		}
		return !d.Kept()
	}
	return func() { r.Sender.Wait(context.Background(), outbox.Patience) }
}

// inherit returns the run of descriptors that this process inherited or received. The error is os.ErrNotExist for a run that
// is over, and could not write that into its file (end).
func (c Caller) inherit(d Descriptors) (*Run, runfile.State, error) {
	if info, err := d.Runfile.Stat(); err == nil && info.Size() == 0 {
		return nil, runfile.State{}, os.ErrNotExist
	}
	file, state, err := runfile.Inherit(d.Runfile)
	if err != nil {
		return nil, state, err
	}
	r, err := c.restore(file)
	if err != nil {
		return nil, state, err
	}
	unix.CloseOnExec(int(d.Runfile.Fd()))
	if locks := file.Record.Locks; locks != "" {
		if d.Lock != nil {
			unix.CloseOnExec(int(d.Lock.Fd()))
		}
		holder := r.holder()
		if !state.Leased.IsZero() {
			holder.Since = state.Leased
		}
		r.lock = c.storeAt(locks).Adopt(r.task.Mutex, holder, d.Lock)
	}
	r.output = d.Output
	return r, state, nil
}

// take returns a run whose file no process holds. Its lock was dropped with its processes, or is held by one that the command
// left behind. The error is runfile.ErrAlive, or os.ErrNotExist where there is no such run.
func (c Caller) take(id string) (*Run, runfile.State, error) {
	file, state, err := runfile.Take(c.Dir, id)
	if err != nil {
		return nil, state, err
	}
	if state.End != nil { // its record is all that is needed; a request that was taken back has no task
		return &Run{Caller: c, file: file}, state, nil
	}
	r, err := c.restore(file)
	if err != nil {
		file.Close()
		return nil, state, err
	}
	if locks := file.Record.Locks; locks != "" {
		r.lock = c.storeAt(locks).Adopt(r.task.Mutex, r.holder(), nil)
	}
	return r, state, nil
}

// restore returns the run of a file that another process began.
func (c Caller) restore(file *runfile.File) (*Run, error) {
	r := c.newRun(schedule.Task{}, file)
	if err := json.Unmarshal(file.Record.Snapshot, &r.task); err != nil {
		return nil, fmt.Errorf("run %s: its task: %w: %w", file.Record.Run, runfile.ErrUnreadable, err)
	}
	return r, nil
}

// isOwnFile reports whether the descriptor is open on a plain file of ours. It asks the kernel before a *os.File is made of
// the number, which may just as well be the runtime's own.
func isOwnFile(descriptor int) bool {
	var info unix.Stat_t
	return unix.Fstat(descriptor, &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFREG && int(info.Uid) == os.Geteuid()
}

// holder returns the run as the holder of a lock that this process adopts. Where nobody wrote down when its lease began, it counts
// from now, by the clock that leases go by.
func (r *Run) holder() mutex.Holder {
	record := r.Record()
	return mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: time.Now(), Fence: record.Fence}
}
