// Package run is one execution of a task: Begin writes it down; its supervisor runs the
// before-hooks, and then the command as often as the task says; Finish copies its output, runs the
// hooks, releases the lock, and writes the record. In the foreground one process does all of that
// (Execute). A background run is given to a supervisor (GiveTo), which receives and supervises it
// (Receive, Supervise) and starts the process that finishes it (FinishInherited). Where a
// supervisor was killed, another process takes the run over (TakeOver), and where nobody watches it
// any more, CollectLost finishes it.
//
// The supervisor watches the background runs of a tick (SuperviseAll): their commands are its
// children. The tick starts it when it has the first such run (Handover). It is started by a
// witness, which only waits for it. On Linux the commands become children of the witness when the
// supervisor is killed; then the witness becomes a supervisor itself (SuperviseOn), and goes on
// with them. Where the witness was killed, too, the next tick finishes their runs as lost.
//
// A run goes by the snapshot of its task: whatever becomes of the schedule meanwhile, it stays as
// it began. What a run needs of its process is in Caller; what must survive that process is in the
// run's row (package state).
//
// Non-goals: whether and when there is a run (package tick), and how a command is started and ended
// (package process).
package run
