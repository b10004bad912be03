package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A Family is a command and all that it started. On Linux it has
//
//   - the processes in its groups, and those that its other fields name,
//   - their descendants, whatever environment and session these have,
//   - and the sessions that they began.
//
// A sched inside a command is another matter: the runs of that sched do not belong to the family.
// On other systems a family has only the groups.
type Family struct {
	Groups []int // process groups
	// Run and Attempt name the processes that were started for this attempt of the run, or for a
	// later attempt: by their environment.
	Run     string
	Attempt int
	// User is the user of the task; if it is empty, the user of this process. A process counts by
	// its environment only if that user may signal it (kill(2)): anybody can give a program the id
	// of a run, and programs that become root keep it.
	User string
	// Output is the file into which the command prints, and Locks are what the command inherits
	// beside it. A process that lost its parent, and became a child of this process
	// (BecomeSubreaper), belongs to the family if it has the output open; or if it began after the
	// command, and has a lock open, or nothing else lived since then that it can come from. Without
	// Output none belongs to it.
	Output *os.File
	Locks  []*os.File
}

// A Survivor is a process that did not end by KILL.
type Survivor struct {
	PID   int
	Start string // in ticks after boot: with the pid it names one process and no later one; "" if that is not known
}

// String returns the text that ParseSurvivor reads.
func (s Survivor) String() string { return strconv.Itoa(s.PID) + "@" + s.Start }

// Alive reports whether the process has not ended.
func (s Survivor) Alive() bool { return s.PID > 0 && isAlive(s.PID, s.Start) }

// ParseSurvivor reads what Survivor.String wrote.
func ParseSurvivor(text string) (s Survivor) {
	pid, start, _ := strings.Cut(text, "@")
	s.PID, _ = strconv.Atoi(pid)
	s.Start = start
	return s
}

// LeftBehind returns the notes about processes that did not end by KILL: nothing waits for them any
// more.
func LeftBehind(survivors []Survivor) (notes []string) {
	for _, s := range survivors {
		why := "it may wait for a disk"
		if errors.Is(syscall.Kill(s.PID, 0), syscall.EPERM) {
			why = "it belongs to another user"
		}
		notes = append(notes, fmt.Sprintf("process %d survived KILL (%s), and was left behind", s.PID, why))
	}
	return notes
}
