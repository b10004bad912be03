// Package triggered starts runs that a hook or a person triggers without waiting for the next tick.
// A hook asks for a run by a request: a row of sched.db that any tick answers. So each request
// becomes one run, with the next tick at the latest, whatever is killed.
//
// A process of sched that answers such requests, and nothing else (`sched run --triggered`), starts
// the runs without waiting for the next tick. However many runs end at once, at most two such
// processes live: one that answers, and one that waits for its turn. If a run finds that a process
// waits, it starts no other: the waiting process will list the requests afterwards.
package triggered

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/process"
	"sched/schedule/statedir"
)

// Flag is the flag of `sched run` for a process that answers requests (Start).
const Flag = "triggered"

// nextDescriptor is the descriptor of the lock that the waiting process holds and has inherited.
const nextDescriptor = 3

// The locks are two files: the lock of the process that waits for its turn, and the lock of the
// process whose turn it is.
func nextLock(dir string) string { return filepath.Join(dir, "locks", ".next") }
func turnLock(dir string) string { return filepath.Join(dir, "locks", ".turn") }

// Start has a process answer the requests for the schedule in that file that wait in the state
// folder. It returns at once. environ is the environment of the tick, so that the process reads the
// file as the tick read it.
func Start(dir, file string, environ []string) error {
	next, err := statedir.OpenLocked(nextLock(dir), os.O_RDWR|os.O_CREATE)
	if errors.Is(err, statedir.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer next.Close()
	_, err = process.Program{
		Path:    process.Self(),
		Argv:    []string{"sched", "run", "--" + Flag, "--config", file},
		Dir:     "/",
		Env:     process.Environ(environ, schedule.Task{}, process.StateVariable+"="+dir),
		Inherit: []*os.File{next},
		Attr:    &unix.SysProcAttr{Setsid: true},
		Adopts:  true,
	}.Fork()
	return err
}

// errNotStarted is the error of a process that no run has started.
var errNotStarted = errors.New("--" + Flag + " is for processes that sched starts itself")

// turnPatience bounds the wait for a turn: ticks answer the requests that are left then.
const turnPatience = time.Minute

// Await waits for the turn of this process, which Start has started, and then lets another process
// wait. The turn ends when release is called, or when this process ends. The error is
// statedir.ErrLocked if the turn did not come in time.
func Await(dir string) (release func(), err error) {
	if dir == "" || !isOpenAs(nextDescriptor, nextLock(dir)) {
		return nil, errNotStarted
	}
	unix.CloseOnExec(nextDescriptor)
	next := os.NewFile(nextDescriptor, nextLock(dir))
	defer next.Close()
	turn, err := statedir.Open(turnLock(dir), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := statedir.LockWithin(turn, turnPatience); err != nil {
		turn.Close()
		return nil, err
	}
	return func() { turn.Close() }, nil
}

// isOpenAs reports whether the descriptor is open on the file at the path.
func isOpenAs(descriptor int, path string) bool {
	var open, file unix.Stat_t
	return unix.Fstat(descriptor, &open) == nil && unix.Lstat(path, &file) == nil &&
		file.Ino == open.Ino && file.Dev == open.Dev
}

// holdPatience bounds how long Hold waits for a process whose turn comes in a moment.
const holdPatience = time.Second

// Hold keeps Start from starting anything as long as this process lives. A process that is told to
// end calls it: what is triggered from here on is left to the next tick.
func Hold(dir string) {
	file, err := statedir.OpenPlain(nextLock(dir), os.O_RDWR)
	if err != nil {
		return // no process was ever started for requests
	}
	if statedir.LockWithin(file, holdPatience) != nil {
		file.Close()
		return
	}
	heldFiles = append(heldFiles, file)
}

// heldFiles has the files that Hold has locked, so that the garbage collector does not close them.
var heldFiles []*os.File
