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
)

// This file is what `sched start` and `sched finish` do with a run that another process began.

// startPatience is how long a supervisor whose command has ended waits for the delivery of what its start had to
// tell: the run's lock is held meanwhile. Longer commands have told it long before.
const startPatience = 5 * time.Second

// SuperviseInherited supervises the background run whose file this process inherited from its witness, and returns
// the exit code of the command. When terminate is done it stops the command, when kill is done too it kills it.
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
	r.output = os.Stdout
	r.Sender = outbox.NewSender(kill, c.Environ)
	defer r.Sender.Wait(terminate, startPatience)
	result := r.supervise(terminate, kill)
	if result.Outcome == "" {
		return 0, nil // a later tick goes on with the deferred retry
	}
	if err := r.file.Append(runfile.Event{Result: &result}); err != nil {
		fmt.Fprintf(os.Stderr, "sched: run %s: %v\n", id, err)
	}
	if result.ExitCode == nil {
		return 1, nil
	}
	return *result.ExitCode, nil
}

// FinishInherited ends the background run whose file this process inherited from its witness. The code is that of its
// supervisor; what the supervisor wrote down counts more. Without the inherited file it takes the run's own, if no process
// of the run lives: a run that waits for a deferred retry has ended then. The error is runfile.ErrAlive, or
// os.ErrNotExist where there is no such run.
func (c Caller) FinishInherited(id string, code *int) (outcome.Record, error) {
	r, state, err := c.inherit(id)
	if err != nil {
		if r, state, err = c.take(id); err != nil {
			return outcome.Record{}, err
		}
	} else if state.Deferred() {
		return r.leaveDeferred(state.Deferral), nil
	}
	defer r.sendAlone()()
	return r.conclude(state, code), nil
}

// sendAlone has the notifications of the run delivered by this process, which has nothing else to do: the function
// that it returns waits for them. What is not delivered stays in the outbox, and ticks say so.
func (r *Run) sendAlone() (wait func()) {
	r.Sender = outbox.NewSender(context.Background(), r.Environ)
	r.Sender.Undelivered = func(l *outbox.Delivery, err error, what string) bool {
		if !l.Kept() { // no tick will ever know of it
			fmt.Fprintf(os.Stderr, "sched: %s: %s: %v; %s\n", l.Message.Task, l.Hook, err, what)
		}
		return !l.Kept()
	}
	return func() { r.Sender.Wait(context.Background(), outbox.Patience) }
}

// inherit returns the run of the descriptors that its witness passed on.
func (c Caller) inherit(id string) (*Run, runfile.State, error) {
	path := runfile.Path(c.Dir, id)
	if !isFile(runDescriptor, path) {
		return nil, runfile.State{}, fmt.Errorf("run %s was not begun by the process that calls this", id)
	}
	syscall.CloseOnExec(runDescriptor)
	file, state, err := runfile.Inherit(os.NewFile(runDescriptor, path))
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

// take returns the run of a file that no process of the run holds. Its lock went with its processes, or is held by one that was
// left behind. The error is runfile.ErrAlive, or os.ErrNotExist.
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

// restore makes the run of a file that an earlier process wrote.
func (c Caller) restore(file *runfile.File) (*Run, error) {
	r := &Run{Caller: c, file: file}
	if err := json.Unmarshal(file.Record.Snapshot, &r.task); err != nil {
		return nil, fmt.Errorf("run %s: its task: %w: %w", file.Record.Run, runfile.ErrUnreadable, err)
	}
	return r, nil
}

// isFile reports whether the descriptor is open on the file at path. It asks the kernel before a *os.File is made of
// the number, which may just as well be the runtime's own.
func isFile(descriptor int, path string) bool {
	var a, b unix.Stat_t
	if unix.Fstat(descriptor, &a) != nil || unix.Stat(path, &b) != nil {
		return false
	}
	return a.Dev == b.Dev && a.Ino == b.Ino
}

// holder is the run as the holder of a lock that this process adopts.
func (r *Run) holder() mutex.Holder {
	record := r.Record()
	return mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: clock.Now(), Fence: record.Fence}
}
