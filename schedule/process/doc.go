// Package process starts the commands and hooks of tasks, each in a process group of its own and as the user that the
// task names; waits for them, measures them, and ends them with all that they started.
//
// It knows what a task says of its command (folder, environment, user, umask, priority), and nothing of runs: when to
// start, how long to wait and what an exit code means for a run is for package run. Which processes belong to a run
// is told by the run's id in their environment, not by what they have open, nor by numbers that the kernel may have
// given to others.
package process
