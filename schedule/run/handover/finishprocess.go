package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/run/lease"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

// This file is about the process `sched finish MUTEX CODE --run RUN` of background runs: their
// supervisor starts it, and it fires the hooks after the command. Runs whose commands end at the
// same moment share one such process, which has these four arguments for each of them
// (docs/internals/decisions.md#runs-that-end-together-share-a-finish).

// A FinishStarter starts the `sched finish` of runs: one process for the runs that have ended since
// it started the last one. Safe for concurrent use.
type FinishStarter struct {
	Program     string // the path of sched
	AwaitStarts func() // waits while other runs are being started

	mu      sync.Mutex
	waiting []endedRun
	busy    bool // a goroutine is about to start processes for the waiting runs
}

// An endedRun waits for its `sched finish`.
type endedRun struct {
	run     *run.Run
	started chan error // gets what startFinish returned
}

const (
	// finishInterval is the least time between two processes that finish runs. Runs that end
	// meanwhile share the second process: a process for each took half of the CPU of a short
	// background run.
	finishInterval = 10 * time.Millisecond
	// maxSharing is how many runs share one process: each run takes descriptorsEach descriptors and
	// four arguments, and is finished again by a tick when the process is killed.
	maxSharing = 32
)

// Start has a process finish the run. It returns when the process was started. After an error no
// process was started.
func (f *FinishStarter) Start(r *run.Run) error {
	ended := endedRun{run: r, started: make(chan error, 1)}
	f.mu.Lock()
	f.waiting = append(f.waiting, ended)
	starts := !f.busy
	f.busy = true
	f.mu.Unlock()
	if starts {
		go f.startAll()
	}
	return <-ended.started
}

// startAll starts processes until no run waits. It starts the first process at once.
func (f *FinishStarter) startAll() {
	for {
		f.AwaitStarts()
		sharing := f.take()
		if len(sharing) == 0 {
			return
		}
		var runs []*run.Run
		for _, ended := range sharing {
			runs = append(runs, ended.run)
		}
		err := startFinish(f.Program, runs)
		for _, ended := range sharing {
			ended.started <- err
		}
		if len(sharing) < maxSharing {
			time.Sleep(finishInterval)
		}
	}
}

// take takes the runs that one process finishes now. If no run waits it returns nil, and startAll
// ends.
func (f *FinishStarter) take() (sharing []endedRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.waiting), maxSharing)
	sharing, f.waiting = f.waiting[:n:n], f.waiting[n:]
	f.busy = n > 0
	return sharing
}

// startFinish starts one `sched finish`, of the sched at the path program, for runs of one state
// folder whose results are written down. That process then owns the rows, and this process has
// closed the runs. After an error no process was started, and the runs are still ours.
func startFinish(program string, runs []*run.Run) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	ctx, first := context.Background(), runs[0]
	owner, err := first.DB.Owners().Enroll(ctx, state.Finish)
	if err != nil {
		return err
	}
	defer owner.Close()
	var rows []*state.Row
	var arguments []string
	var locks []*os.File
	for _, r := range runs {
		rows = append(rows, &r.Own.Row)
		code := 1 // for people who look at the processes; also if it is not known
		if r.Own.ExitCode != nil {
			code = *r.Own.ExitCode
		}
		arguments = append(arguments, r.Own.Mutex, strconv.Itoa(code), "--run", r.Own.ID)
		padded := append(r.LockFiles(), null, null)
		locks = append(locks, padded[:descriptorsEach]...)
	}
	if err := first.Own.As.Apply(ctx, state.HandOver(owner.ID), rows...); err != nil {
		return err
	}
	// Messages of the process about a run go to the output of that run (complain). Messages of Go
	// about the process itself, as when it crashes, have to go to one of the outputs.
	finish := process.Program{
		Path:    program,
		Argv:    append([]string{program, "finish"}, arguments...),
		Dir:     "/",
		Env:     process.Environ(first.Environ, schedule.Task{}, first.Storage.Variables()...),
		Output:  first.Output,
		Inherit: append(owner.Files(), locks...),
		Attr:    &unix.SysProcAttr{Setpgid: true},
	}
	if _, err := finish.Fork(); err != nil {
		return errors.Join(err, first.DB.Owners().Owned(owner).Apply(ctx, state.HandOver(first.Own.As.ID), rows...))
	}
	for _, r := range runs {
		r.Close()
	}
	return nil
}

// Finish finishes background runs that this process inherited (startFinish), with the results that
// their supervisor wrote down.
func Finish(c run.Caller, ids []string) error {
	ctx, row := context.Background(), state.Row{}
	// A moment ago the database could be written.
	err := ownrow.Persistence{Ending: c.Terminate}.Read(func() (err error) {
		row, err = c.DB.Runs().Row(ctx, ids[0])
		return err
	})
	if err != nil {
		return err
	}
	owner, ok := c.DB.Owners().Inherited(row.Owner, state.Finish, ownerDescriptor)
	if !ok {
		return fmt.Errorf("run %s was not begun by the process that calls this", ids[0])
	}
	c.Self, c.Leases = c.DB.As(owner), &lease.Keeper{}
	defer c.Self.Close()
	own, err := c.Self.Owned(ctx)
	if err != nil {
		return err
	}
	rows, err := own.Rows(ctx, false)
	if err != nil {
		return err
	}
	locks := map[string][]*os.File{}
	for i, id := range ids {
		locks[id] = inheritedFrom(firstDescriptor + i*descriptorsEach)
	}
	return c.FinishOwned(own, rows, locks)
}

// The descriptors that `sched finish` inherits: its own lock as an owner of rows, and then for each
// run the locks of its mutex and of its seat. A run without such a lock has /dev/null in its place.
const (
	ownerDescriptor = 3
	firstDescriptor = 4
	descriptorsEach = 2
)

// inheritedFrom returns the locks of a run, from a descriptor on.
func inheritedFrom(first int) (locks []*os.File) {
	for n := first; n < first+descriptorsEach; n++ {
		unix.CloseOnExec(n)
		if isOwnFile(n) {
			locks = append(locks, os.NewFile(uintptr(n), "an inherited lock"))
		}
	}
	return locks
}

// isOwnFile reports whether the descriptor is open on a plain file of ours. It asks the kernel
// before a *os.File is made of the number, which may just as well be the runtime's own.
func isOwnFile(descriptor int) bool {
	var info unix.Stat_t
	if unix.Fstat(descriptor, &info) != nil {
		return false
	}
	return info.Mode&unix.S_IFMT == unix.S_IFREG && int(info.Uid) == os.Geteuid()
}
