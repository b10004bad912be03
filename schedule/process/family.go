package process

import "os"

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
