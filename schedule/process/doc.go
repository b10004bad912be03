// Package process starts the commands and hooks of tasks, each in a process group of its own and as
// the user that the task names; waits for them, measures them, and ends them with all that they
// started.
//
// It takes from the task what the task says of its command: folder, environment, user, umask,
// priority. It finds the processes of a run by the run's id in their environment, and not by their
// numbers: the kernel gives numbers away again.
//
// It reads the files of env_file: NAME=value lines as Laravel, Ruby and Node write them. It expands
// only ${NAME} in them, and no error repeats what a file holds, which may be secret. The reader is
// our own: joho/godotenv drops the $27 of SECRET=xTvDqw$27 and quotes the file in its errors, which
// would put passwords into the history. The tests read a typical file with both, and say when that
// has changed.
//
// Non-goals: when a command starts, how long it may take, and what its exit code means for its run
// (package run).
package process
