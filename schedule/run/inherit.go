package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/notify"
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
	r.adoptFrom(state, d.Locks)
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

// Supervise supervises a background run to the end of its command, and has its trailing `sched finish` started: by finish, which
// returns when that has the run, and after an error it has not. A run whose next attempt was deferred ends without that. When terminate is done it stops the command, when
// kill is done too it kills it. It calls begun when the command was started first, or when its hooks are to come first.
func (r *Run) Supervise(terminate, kill context.Context, begun func(), finish func(Trailing) error) {
	r.Terminate, r.begun = terminate, sync.OnceFunc(begun)
	defer r.begun()
	defer r.releaseProcesses()
	r.Sender = notify.NewSenderIn(kill, r.Dir, r.Environ)
	result := r.awaitTurn(terminate)
	if result.Outcome == "" {
		result = r.supervise(terminate, kill)
	}
	if result.Outcome == "" { // a later tick goes on with the deferred retry
		r.leaveDeferred(nil)
		return
	}
	// Where that is impossible, as on a full disk, this process alone knows the result: the exit code alone is no proof of one
	// (docs/internals/decisions.md#an-exit-code-alone-is-no-result).
	err := r.file.Append(runfile.Event{Result: &result, Leased: r.leased()})
	if err == nil {
		r.releaseProcesses()
	}
	r.Sender.Wait(terminate, startDeliveryPatience)
	if err == nil {
		err = finish(Trailing{r, result})
	}
	if err != nil {
		defer r.sendAlone()()
		r.finish(runfile.State{Result: &result}, result)
	}
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
	r.Sender = notify.NewSenderIn(context.Background(), r.Dir, r.Environ)
	r.Sender.Lost = func(d *notify.Delivery, err error) { r.complain("%s: %s: %v", d.Message.Task, d.Hook, err) }
	return func() { r.Sender.Wait(context.Background(), notify.Patience) }
}

// inherit returns the run of descriptors that this process inherited or received, without its lock (adoptFrom). The error is os.ErrNotExist for a run that
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
	r.lock = r.adopt(time.Now(), nil)
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
