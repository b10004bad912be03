package runner

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/process"

	"sched/schedule/outbox"
)

// witnessScript waits for the supervisor and then finishes the run. It is a plain shell so that
// hardly anything can go wrong with it: when the supervisor is killed, finish still comes, with 137.
// Nothing is spliced into it.
const witnessScript = `"$0" start "$1"; exec "$0" finish "$2" "$?" --run "$1"`

// fork starts the witness of a background run and returns at once. The witness has a session of
// its own and none of our pipes, or cron would wait for it; it inherits the run's file and lock.
func (r *Run) fork(self string) error {
	record := r.record()
	argv := []string{"/bin/sh", "-c", witnessScript, self, record.Run, record.Mutex}
	env := process.Environ(r.environ, schedule.Task{}, r.state.variables()...)
	files := append([]*os.File{r.file.Descriptor()}, process.Present(r.inherited())...)
	witness, err := process.Fork(argv[0], argv, "/", env, r.output, files, &syscall.SysProcAttr{Setsid: true}, nil)
	if err != nil {
		return fmt.Errorf("cannot start its witness: %w", err)
	}
	r.describeLock(witness.PID, clock.Now())
	return nil
}

// leave gives the run to its witness: this process has no part in it any more.
func (r *Run) leave() {
	r.output.Close()
	r.file.Close()
	if lock := r.inherited(); lock != nil {
		lock.Close()
	}
}

// inherited is what every process of the command must inherit: the lock lives as long as they do.
func (r *Run) inherited() *os.File {
	if r.lock == nil {
		return nil
	}
	return r.lock.Inherit()
}

// owner is the run as the owner of a lock that this process adopts.
func (r *Run) owner() mutex.Holder {
	record := r.record()
	return mutex.Holder{Run: record.Run, PID: os.Getpid(), Host: record.Server, Since: clock.Now(), Fence: record.Fence}
}

// describeLock tells people which process to look at.
func (r *Run) describeLock(pid int, since time.Time) {
	if r.lock != nil {
		r.lock.Describe(mutex.Holder{Run: r.record().Run, PID: pid, Host: r.record().Server, Since: since})
	}
}

// startPatience is how long a supervisor whose command has ended waits for the news that it had begun: the
// run's lock is held meanwhile. Longer commands have told it long before.
const startPatience = 5 * time.Second

// Start supervises the background run whose file this process inherited from its witness, and
// returns the exit code of the command. When ctx is done it stops the command, when hurry is done
// too it kills it.
func Start(ctx, hurry context.Context, state State, id string, env []string) (int, error) {
	r, log, err := inherit(state, id, env)
	if err != nil {
		return 0, err
	}
	switch {
	case log.Deferred():
		if err := r.goOn(log.Deferral); err != nil {
			return 0, err
		}
	case log.Attempt != nil || log.Result != nil:
		return 0, fmt.Errorf("run %s was started before", id)
	}
	r.output = os.Stdout
	r.postman = outbox.NewSender(hurry, env)
	defer r.postman.Wait(ctx, startPatience)
	result := r.supervise(ctx, hurry)
	if result.Outcome == "" {
		return 0, nil // a later tick goes on
	}
	if err := r.file.Append(runfile.Event{Result: &result}); err != nil {
		fmt.Fprintf(os.Stderr, "sched: run %s: %v\n", id, err)
	}
	if result.ExitCode == nil {
		return 1, nil
	}
	return *result.ExitCode, nil
}

// Finish ends the background run whose file this process inherited from its witness. The code is
// that of its supervisor; what the supervisor wrote down counts more. Without the inherited file
// it takes the run's own, if nobody watches the run: a run that waits for its next attempt has ended then.
func Finish(state State, id string, code *int, env []string) (outcome.Record, error) {
	r, log, err := inherit(state, id, env)
	if err != nil {
		if r, log, err = take(state, id, env); err != nil {
			return outcome.Record{}, err
		}
	} else if log.Deferred() {
		return r.rest(log.Deferral), nil
	}
	defer r.postAlone()()
	return r.conclude(log, code), nil
}

// postAlone has the notifications of the run delivered by this process, which has nothing else to do: the function
// that it returns waits for them. Ticks tell people of what failed.
func (r *Run) postAlone() (wait func()) {
	r.postman = outbox.NewSender(context.Background(), r.environ)
	r.postman.Undelivered = func(l *outbox.Delivery, err error, what string) bool {
		if !l.Kept() { // no tick will ever know of it
			fmt.Fprintf(os.Stderr, "sched: %s: %s: %v; %s\n", l.Message.Task, l.Hook, err, what)
		}
		return !l.Kept()
	}
	return func() { r.postman.Wait(context.Background(), outbox.Patience) }
}

// conclude finishes a run whose supervisor is gone. One that is finished already stays as it is.
func (r *Run) conclude(log runfile.State, code *int) outcome.Record {
	if log.End != nil {
		r.file.Close()
		return *log.End
	}
	if log.Result != nil {
		return r.finish(log, *log.Result)
	}
	if log.Deferred() {
		return r.finish(log, r.giveUp(log, code, fmt.Sprintf("finished by hand before attempt %d", log.Deferral.Attempt)))
	}
	return r.finish(log, r.settle(log, code))
}

// inherit makes the run of the descriptors that its witness passed on.
func inherit(state State, id string, env []string) (*Run, runfile.State, error) {
	if !isFile(runDescriptor, runfile.Path(state.Dir, id)) {
		return nil, runfile.State{}, fmt.Errorf("run %s was not begun by the process that calls this", id)
	}
	syscall.CloseOnExec(runDescriptor)
	run, log, err := runfile.Inherit(os.NewFile(runDescriptor, runfile.Path(state.Dir, id)))
	if err != nil {
		return nil, log, err
	}
	r, err := restore(state, run, env)
	if err != nil {
		return nil, log, err
	}
	if locks := run.Record.Locks; locks != "" {
		syscall.CloseOnExec(lockDescriptor)
		r.lock = state.storeAt(locks).Adopt(r.task.Mutex, r.owner(), os.NewFile(lockDescriptor, "the inherited lock"))
	}
	return r, log, nil
}

// take makes the run of a file that nobody watches. Its lock went with its processes, or is held
// by one that was left behind.
func take(state State, id string, env []string) (*Run, runfile.State, error) {
	run, log, err := runfile.Take(state.Dir, id)
	if err != nil {
		return nil, log, err
	}
	r, err := restore(state, run, env)
	if err != nil {
		run.Close()
		return nil, log, err
	}
	if locks := run.Record.Locks; locks != "" {
		r.lock = state.storeAt(locks).Adopt(r.task.Mutex, r.owner(), nil)
	}
	return r, log, nil
}

// isFile reports whether the descriptor is open on the file at path. It asks the kernel before a
// *os.File is made of the number, which may just as well be the runtime's own.
func isFile(descriptor int, path string) bool {
	var a, b unix.Stat_t
	if unix.Fstat(descriptor, &a) != nil || unix.Stat(path, &b) != nil {
		return false
	}
	return a.Dev == b.Dev && a.Ino == b.Ino
}
