package work

import "time"

// lookForEnd is the time between looks for runs: the kernel reports the end of children only.
const lookForEnd = 50 * time.Millisecond

// emptyLooks is how many looks in a row must find no run before a worker with children left ends. A
// single look may miss a supervisor that ends, and the last `finish` that it starts meanwhile. A
// worker without children misses nothing: an orphan becomes the child of its next living ancestor.
const emptyLooks = 3

// An endStep is a step of the end of a worker. Its number is how many signals each process has got
// by then.
type endStep int

const (
	finishing endStep = iota // nothing new starts, and live runs may finish
	stopping                 // live runs are stopped, with their hooks
	killing                  // their commands are killed
)

// A backgroundRun is a process of background runs other than a command (backgroundRuns): a witness,
// a supervisor, or `sched finish`.
type backgroundRun struct {
	pid        int
	supervisor bool
}
