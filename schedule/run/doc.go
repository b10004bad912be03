// Package run is one execution of a task. Begin writes the run down. Its supervisor runs the
// before-hooks, and then the command as often as the task says. Finish copies the output, runs the
// hooks, releases the lock, and writes the row. In the foreground one process does all of that
// (Execute). A background run is given to a supervisor (Supervisors), which receives and supervises
// it (Receive, superviseBackground) and starts the process that finishes it (FinishInherited). If a
// supervisor is killed, another process takes the run over (takeOver). If no process watches the
// run any more, Collect finishes it.
//
// The supervisor watches the background runs of a tick (SuperviseAll): their commands are its
// children. The tick starts it by a witness when it has the first such run (Supervisors). The
// witness only waits for the supervisor. On Linux the commands become children of the witness when
// the supervisor is killed. Then the witness becomes a supervisor itself (SuperviseOn), and goes on
// with them. If the witness was killed, too, the next tick finishes their runs as lost.
//
// A run uses the snapshot of its task: later changes of the schedule do not change the run. Caller
// has what a run needs of its process. The run's row has what must survive that process (package
// state).
//
// Non-goals: whether and when there is a run (package tick), and how a command is started and ended
// (package process).
package run
