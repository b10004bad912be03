package run

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/runfile"
)

// Descriptors are what a process needs to go on with a run that another one began. That they are those of the run is known by what
// the file says, not by paths, where another user may have put something else.
type Descriptors struct {
	Runfile *os.File // locked
	Output  *os.File
	Lock    *os.File // of the mutex; nil where there is none
}

// GiveTo writes down that the run is given to the supervisor, and returns what that needs. From here on the run is alive as long
// as the supervisor lives, or its witness: it must be passed on to them.
func (r *Run) GiveTo(supervisor string) (Descriptors, error) {
	if r.output == nil { // a deferred retry: what it prints follows the attempts before
		output, err := openOutput(r.Record().Output)
		if err != nil {
			return Descriptors{}, err
		}
		r.output = output
	}
	err := r.file.Append(runfile.Event{Supervisor: supervisor, Leased: r.leased()})
	return Descriptors{r.file.Descriptor(), r.output, r.inheritedLock()}, err
}

// Close ends the part of this process in a run. A run whose file no process has open counts as lost, unless its supervisor lives,
// or it has ended or waits for a deferred retry.
func (r *Run) Close() {
	r.Leases.Drop(r.lock)
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

// The descriptors that the trailing `sched finish` of a run inherits.
const (
	runDescriptor  = 3
	lockDescriptor = 4
)

// finishApart starts the trailing `sched finish` of the run, with the program at the path self: hooks and mail of one run delay
// no other. The part of this process in the run ends with that. After an error it has not begun.
func (r *Run) finishApart(self string, result outcome.Record) error {
	code := 1
	if result.ExitCode != nil {
		code = *result.ExitCode
	}
	record := r.Record()
	argv := []string{self, "finish", record.Mutex, strconv.Itoa(code), "--run", record.Run}
	env := process.Environ(r.Environ, schedule.Task{}, r.Storage.Variables()...)
	files := append([]*os.File{r.file.Descriptor()}, process.Present(r.inheritedLock())...)
	if _, err := process.Fork(self, argv, "/", env, r.output, files, &unix.SysProcAttr{Setpgid: true}, nil); err != nil {
		return err
	}
	r.Close()
	return nil
}
