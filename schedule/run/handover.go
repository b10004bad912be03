package run

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/process"
)

// witnessScript is the witness: it waits for the supervisor and becomes the process that finishes the run. It is a plain
// shell, since there is hardly anything that can go wrong with one: when the supervisor is killed, finish comes with 137.
// The script is fixed; program, run and mutex are its arguments.
const witnessScript = `"$0" start "$1"; exec "$0" finish "$2" "$?" --run "$1"`

// The descriptors that the processes of a background run inherit from the witness.
const (
	runDescriptor  = 3
	lockDescriptor = 4
)

// HandOver starts the witness of a background run, with the program at the path self, and returns at once. Then this
// process has no part in the run any more. The witness has a session of its own and no pipe of its caller, or cron would
// wait for it; it inherits the run's file and lock. After an error the run still belongs to this process.
func (r *Run) HandOver(self string) error {
	record := r.Record()
	argv := []string{"/bin/sh", "-c", witnessScript, self, record.Run, record.Mutex}
	env := process.Environ(r.Environ, schedule.Task{}, r.Storage.variables()...)
	files := append([]*os.File{r.file.Descriptor()}, process.Present(r.inheritedLock())...)
	witness, err := process.Fork(argv[0], argv, "/", env, r.output, files, &syscall.SysProcAttr{Setsid: true}, nil)
	if err != nil {
		return fmt.Errorf("cannot start its witness: %w", err)
	}
	r.describeLock(witness.PID, clock.Now())
	r.Close()
	return nil
}

// handOverAgain is HandOver for the next attempt, whose output follows that of the attempts before.
func (r *Run) handOverAgain(self string) error {
	output, err := appendTo(r.Record().Output)
	if err != nil {
		return err
	}
	unix.Flock(int(output.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	r.output = output
	return r.HandOver(self)
}

// Close ends the part of this process in a run. A run whose file no process has open counts as lost, unless it has ended
// or waits for a deferred retry.
func (r *Run) Close() {
	if r.output != nil {
		r.output.Close()
	}
	r.file.Close()
	if lock := r.inheritedLock(); lock != nil {
		lock.Close()
	}
}

// inheritedLock returns the file of the lock that every process of the command inherits: the lock is held as long as one of
// them lives. It is nil for a run without a lock.
func (r *Run) inheritedLock() *os.File {
	if r.lock == nil {
		return nil
	}
	return r.lock.Inherit()
}
