package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// This file is the trailing `sched finish MUTEX CODE --run RUN` of background runs: their
// supervisor starts it, and it fires the hooks after the command. Runs whose commands end at the
// same moment share one such process, which has these four arguments for each of them
// (docs/internals/decisions.md#runs-that-end-together-share-a-finish).

// The descriptors that `sched finish` inherits: its own lock as an owner of rows, and then for each
// run the locks of its mutex and of its seat. A run without such a lock has /dev/null in its place.
const (
	ownerDescriptor = 3
	firstDescriptor = 4
	descriptorsEach = 2
)

// startFinish starts one `sched finish` for runs of one state folder whose results are written
// down, with the program at the path self. The part of this process in the runs ends with that.
// After an error no process was started.
func startFinish(self string, ended []*Run) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	ctx, first := context.Background(), ended[0]
	owner, err := first.DB.Owners().Enroll(ctx, state.Finish)
	if err != nil {
		return err
	}
	defer owner.Close()
	argv, files := []string{self, "finish"}, owner.Files()
	var ids []string
	for _, r := range ended {
		argv = append(argv, r.row.Mutex, strconv.Itoa(shownCode(r.row.ExitCode)), "--run", r.row.ID)
		files = append(files, append(inherited(r.lock), null, null)[:descriptorsEach]...)
		ids = append(ids, r.row.ID)
	}
	if err := first.row.own.HandOver(ctx, owner.ID, ids...); err != nil {
		return err
	}
	env := process.Environ(first.Environ, schedule.Task{}, first.Storage.Variables()...)
	// Messages of the process about a run go to the output of that run (complain). Messages of Go
	// about the process itself, as when it crashes, have to go to one of the outputs.
	finish := process.Program{Path: self, Argv: argv, Dir: "/", Env: env, Output: first.output, Inherit: files, Attr: &unix.SysProcAttr{Setpgid: true}}
	if _, err := finish.Fork(); err != nil {
		return errors.Join(err, first.DB.Owners().Owned(owner).HandOver(ctx, first.row.own.ID, ids...))
	}
	for _, r := range ended {
		r.Close()
	}
	return nil
}

// shownCode is an exit code for people who look at the processes: 1 if the code is not known.
func shownCode(code *int) int {
	if code == nil {
		return 1
	}
	return *code
}

// FinishInherited finishes background runs that this process inherited (startFinish), with the
// results that their supervisor wrote down: all at the same time, so that none delays another.
func (c Caller) FinishInherited(ids []string) error {
	ctx := context.Background()
	row, err := c.DB.Runs().Row(ctx, ids[0])
	if err != nil {
		return err
	}
	owner, ok := c.DB.Owners().Inherited(row.Owner, state.Finish, ownerDescriptor)
	if !ok {
		return fmt.Errorf("run %s was not begun by the process that calls this", ids[0])
	}
	c.Self, c.Leases = c.DB.As(owner), &Leases{}
	defer c.Self.Close()
	own, err := c.Self.Owned(ctx)
	if err != nil {
		return err
	}
	rows, err := own.Rows(ctx, false)
	if err != nil {
		return err
	}
	runs, failed := c.restoreAll(own, rows, ids)
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() {
			defer r.sendAlone()()
			(&orphan{r}).finish(nil)
		})
	}
	all.Wait()
	return failed
}

// restoreAll returns the runs of rows that this process owns, with the locks that it has inherited
// for the ids. A run whose task cannot be read ends as lost, and delays no other.
func (c Caller) restoreAll(own state.Owned, rows []state.Row, ids []string) (runs []*Run, failed error) {
	for _, row := range rows { // before the first starts a hook that would inherit what is of another run
		r, err := c.restoreOrLose(own, row)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.sharesProcess = true
		if i := slices.Index(ids, row.ID); i >= 0 {
			r.adopt(inheritedFrom(firstDescriptor + i*descriptorsEach))
		}
		runs = append(runs, r)
	}
	return runs, failed
}

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
	return unix.Fstat(descriptor, &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFREG && int(info.Uid) == os.Geteuid()
}

// complain tells people what nothing else can tell of the run: on stderr, or in the run's output if
// this process may finish several runs.
func (r *Run) complain(format string, args ...any) {
	to := os.Stderr
	if r.sharesProcess {
		if captured, err := output.Append(r.row.Output); err == nil {
			defer captured.Close()
			to = captured
		}
	}
	fmt.Fprintf(to, "sched: "+format+"\n", args...)
}

// A finishStarter starts the trailing `sched finish` of runs: one process for the runs that have
// ended since it started the last one. Safe for concurrent use.
type finishStarter struct {
	self        string // the path of sched
	awaitStarts func() // waits while other runs are being started

	mu      sync.Mutex
	waiting []endedRun
	busy    bool // a goroutine is about to start what waits
}

// An endedRun waits for its `sched finish`.
type endedRun struct {
	run     *Run
	started chan error // gets what startFinish returned
}

const (
	// finishInterval is the shortest time between two processes that finish runs. Runs that end
	// meanwhile share the second process: a process for each took half of the CPU of a short
	// background run.
	finishInterval = 10 * time.Millisecond
	// mostTogether is how many runs share one process: each run has three descriptors and four
	// arguments, and is finished again by a tick when the process is killed.
	mostTogether = 32
)

// start has the run finished. It returns when the process for that was started; after an error no
// process was started.
func (f *finishStarter) start(r *Run) error {
	one := endedRun{r, make(chan error, 1)}
	f.mu.Lock()
	f.waiting = append(f.waiting, one)
	first := !f.busy
	f.busy = true
	f.mu.Unlock()
	if first {
		go f.startAll()
	}
	return <-one.started
}

// startAll starts processes until nothing waits. The first comes at once.
func (f *finishStarter) startAll() {
	for {
		f.awaitStarts()
		together := f.take()
		if len(together) == 0 {
			return
		}
		var runs []*Run
		for _, one := range together {
			runs = append(runs, one.run)
		}
		err := startFinish(f.self, runs)
		for _, one := range together {
			one.started <- err
		}
		if len(together) < mostTogether {
			time.Sleep(finishInterval)
		}
	}
}

// take returns the runs that one process finishes now. If nothing waits it returns none, and
// startAll ends.
func (f *finishStarter) take() (together []endedRun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.waiting), mostTogether)
	together, f.waiting = f.waiting[:n:n], f.waiting[n:]
	f.busy = n > 0
	return together
}
