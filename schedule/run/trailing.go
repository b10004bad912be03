package run

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/lease"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/runfile"
)

// This file is the trailing `sched finish MUTEX CODE --run RUN` of background runs: their supervisor starts it, and it fires the hooks after
// the command. Runs whose commands end at the same moment share one such process, which has these four arguments for each of them
// (docs/internals/decisions.md#runs-that-end-together-share-a-finish).

// A Trailing is a run whose command has ended, and whose result is written down. What is left of it is its `sched finish`.
type Trailing struct {
	run    *Run
	result outcome.Record
}

// The descriptors that `sched finish` inherits of each of its runs, from firstDescriptor on: its file, and the locks of its mutex and of
// its seat. Where there is no such lock there is /dev/null.
const (
	firstDescriptor = 3
	locksAtMost     = 2
	descriptorsEach = 1 + locksAtMost
)

// FinishApart starts the trailing `sched finish` of the runs, which are of one state folder, with the program at the path self. The part
// of this process in the runs ends with that. After an error it has not begun.
func FinishApart(self string, ended []Trailing) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	argv := []string{self, "finish"}
	var files []*os.File
	for _, t := range ended {
		record := t.run.Record()
		argv = append(argv, record.Mutex, strconv.Itoa(t.code()), "--run", record.Run)
		files = append(files, t.run.file.Descriptor())
		locks := append(t.run.inheritedLocks(), null, null)
		files = append(files, locks[:locksAtMost]...)
	}
	first := ended[0].run
	env := process.Environ(first.Environ, schedule.Task{}, first.Storage.Variables()...)
	// What the process has to say of a run goes to the output of that run (complain). What Go says of the process itself, as when it
	// crashes, has to go to one of them.
	finish := process.Program{Path: self, Argv: argv, Dir: "/", Env: env, Output: first.output, Inherit: files, How: &unix.SysProcAttr{Setpgid: true}}
	if _, err := finish.Fork(); err != nil {
		return err
	}
	for _, t := range ended {
		t.run.Close()
	}
	return nil
}

// code is the exit code of the command, for people who look at the processes.
func (t Trailing) code() int {
	if t.result.ExitCode == nil {
		return 1
	}
	return *t.result.ExitCode
}

// FinishInherited finishes background runs whose files this process inherited (FinishApart), with the results that their supervisor wrote
// down: all at the same time, so that none delays another. A run that is over is left alone.
func (c Caller) FinishInherited(ids []string) error {
	c.Leases = &lease.Leases{}
	all := make([]Descriptors, len(ids))
	for i, id := range ids { // before the first opens other files, or starts a hook that would inherit what is of another run
		var ok bool
		if all[i], ok = c.inherited(id, firstDescriptor+i*descriptorsEach); !ok {
			return errNotOurs(id)
		}
	}
	errs := make([]error, len(ids))
	var runs sync.WaitGroup
	for i, id := range ids[1:] {
		runs.Go(func() { errs[i+1] = c.finishInherited(id, all[i+1]) })
	}
	errs[0] = c.finishInherited(ids[0], all[0])
	runs.Wait()
	return errors.Join(errs...)
}

func errNotOurs(id string) error {
	return fmt.Errorf("run %s was not begun by the process that calls this", id)
}

// inherited returns the descriptors of a run from the first one on; false where these are not open on what they should be.
func (c Caller) inherited(id string, first int) (d Descriptors, ok bool) {
	if !isOwnFile(first) {
		return d, false
	}
	d.Runfile = os.NewFile(uintptr(first), runfile.Path(c.Dir, id))
	for n := first + 1; n <= first+locksAtMost; n++ {
		if isOwnFile(n) {
			d.Locks = append(d.Locks, os.NewFile(uintptr(n), "an inherited lock"))
		}
	}
	for n := first; n < first+descriptorsEach; n++ {
		unix.CloseOnExec(n)
	}
	return d, true
}

func (c Caller) finishInherited(id string, d Descriptors) error {
	r, state, err := c.inherit(d)
	if err == nil && r.Record().Run != id {
		err = errNotOurs(id)
	}
	if err != nil { // nothing of it stays locked as long as this process finishes others
		d.close()
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil // its supervisor has finished it
	}
	if err != nil {
		return err
	}
	r.apart = true
	r.adoptFrom(state, d.Locks)
	if state.Deferred() {
		r.leaveDeferred(state.Deferral)
		return nil
	}
	defer r.sendAlone()()
	r.conclude(state, nil)
	return nil
}

func (d Descriptors) close() {
	for _, file := range append(d.Locks, d.Runfile) {
		file.Close()
	}
}

// complain tells people what nothing else can tell of the run: on stderr, or in its output, where this process finishes several.
func (r *Run) complain(format string, args ...any) {
	to := os.Stderr
	if r.apart {
		if captured, err := output.Append(r.Record().Output); err == nil {
			defer captured.Close()
			to = captured
		}
	}
	fmt.Fprintf(to, "sched: "+format+"\n", args...)
}
