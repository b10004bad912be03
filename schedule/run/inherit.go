package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule/clock"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/runfile"

	"sched/schedule"
)

// This file is how `sched start` and `sched finish` go on with a run that another process began.

// startDeliveryPatience is how long a supervisor whose command has ended waits for the delivery of messages about the
// start: the run's lock is held meanwhile. While a longer command runs, there is time enough.
const startDeliveryPatience = 5 * time.Second

// SuperviseInherited supervises the background run whose file this process inherited from its witness, and returns
// the exit code of the command. When terminate is done it stops the command, when kill is done too it kills it. After an
// error no command was started.
func (c Caller) SuperviseInherited(terminate, kill context.Context, id string) (int, error) {
	r, state, err := c.inherit(id)
	if err != nil {
		return 0, err
	}
	switch {
	case state.Deferred():
		if err := r.resumeDeferred(state.Deferral); err != nil {
			return 0, err
		}
	case state.Attempt != nil || state.Result != nil:
		return 0, fmt.Errorf("run %s was started before", id)
	}
	r.output, r.Terminate = os.Stdout, terminate
	r.Sender = outbox.NewSender(kill, c.Environ)
	defer r.Sender.Wait(terminate, startDeliveryPatience)
	result := r.supervise(terminate, kill)
	if result.Outcome == "" {
		return 0, nil // a later tick goes on with the deferred retry
	}
	if err := r.file.Append(runfile.Event{Result: &result}); err != nil {
		// As on a full disk. This process alone knows the result, and the exit code alone is no proof of one
		// (docs/decisions.md#an-exit-code-alone-is-no-result).
		r.Finish(result)
	}
	if result.ExitCode == nil {
		return 1, nil
	}
	return *result.ExitCode, nil
}

// FinishInherited finishes the background run whose file this process inherited from its witness, with the result that its
// supervisor wrote down. Where there is none, the exit code of the supervisor says how that ended, and nothing of the
// command. A run that waits for a deferred retry is left to a later tick. The error is os.ErrNotExist where the run is
// over, since its supervisor has finished it.
func (c Caller) FinishInherited(id string, supervisor int) error {
	r, state, err := c.inherit(id)
	if err != nil {
		return err
	}
	if state.Deferred() {
		r.leaveDeferred(state.Deferral)
		return nil
	}
	defer r.sendAlone()()
	r.conclude(state, exitCodes{supervisor: &supervisor})
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
	return r.conclude(state, exitCodes{command: code}), nil
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

// inherit returns the run whose file and lock this process inherited as runDescriptor and lockDescriptor. That they are
// those of the run is known by what the file says, not by its path, where another user may have put something else, or
// which may be gone with the state folder. The error is os.ErrNotExist for a run that its supervisor has finished (end).
func (c Caller) inherit(id string) (*Run, runfile.State, error) {
	strange := fmt.Errorf("run %s was not begun by the process that calls this", id)
	if !isOwnFile(runDescriptor) {
		return nil, runfile.State{}, strange
	}
	syscall.CloseOnExec(runDescriptor)
	inherited := os.NewFile(runDescriptor, runfile.Path(c.Dir, id))
	if info, err := inherited.Stat(); err == nil && info.Size() == 0 {
		return nil, runfile.State{}, os.ErrNotExist
	}
	file, state, err := runfile.Inherit(inherited)
	if err == nil && file.Record.Run != id {
		err = strange
	}
	if err != nil {
		return nil, state, err
	}
	r, err := c.restore(file)
	if err != nil {
		return nil, state, err
	}
	if locks := file.Record.Locks; locks != "" {
		syscall.CloseOnExec(lockDescriptor)
		r.lock = c.storeAt(locks).Adopt(r.task.Mutex, r.holder(), os.NewFile(lockDescriptor, "the inherited lock"))
	}
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

// holder returns the run as the holder of a lock that this process adopts.
func (r *Run) holder() mutex.Holder {
	record := r.Record()
	return mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: clock.Now(), Fence: record.Fence}
}
