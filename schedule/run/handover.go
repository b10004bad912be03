package run

import (
	"os"

	"sched/schedule/run/output"
	"sched/schedule/runfile"
)

// Descriptors are what a process needs to go on with a run that another one began. That they are those of the run is known by what
// the file says, not by paths, where another user may have put something else.
type Descriptors struct {
	Runfile *os.File // locked
	Output  *os.File
	Locks   []*os.File // of the mutex and of the seat; none where the run has none
}

// GiveTo writes down that the run is given to the supervisor, and returns what that needs. From here on the run is alive as long
// as the supervisor lives, or its witness: it must be passed on to them.
func (r *Run) GiveTo(supervisor string) (Descriptors, error) {
	if r.output == nil { // a deferred retry: what it prints follows the attempts before
		captured, err := output.Open(r.Record().Output)
		if err != nil {
			return Descriptors{}, err
		}
		r.output = captured
	}
	err := r.file.Append(runfile.Event{Supervisor: supervisor, Leased: r.leased()})
	return Descriptors{r.file.Descriptor(), r.output, r.inheritedLocks()}, err
}

// Close ends the part of this process in a run. A run whose file no process has open counts as lost, unless its supervisor lives,
// or it has ended or waits for a deferred retry.
func (r *Run) Close() {
	r.Leases.Drop(r.lock)
	if r.output != nil {
		r.output.Close()
	}
	r.file.Close()
	for _, lock := range r.inheritedLocks() {
		lock.Close()
	}
}

// inheritedLocks returns the files of the lock that every process of the command inherits: the lock is held as long as one of
// them lives. There are none for a run without a lock.
func (r *Run) inheritedLocks() []*os.File {
	if r.lock == nil {
		return nil
	}
	return r.lock.Inherit()
}
