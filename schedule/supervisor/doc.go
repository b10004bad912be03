// Package supervisor is the process that watches the background runs of a tick: their commands are
// its children. A tick starts it when it has the first such run (Handover), and gives it each run
// as it begins, with the descriptors that it needs.
//
// The supervisor is started by a witness, which only waits for it. On Linux the commands become
// children of the witness when the supervisor is killed; then the witness becomes a supervisor
// itself, and goes on with them. Where the witness was killed, too, the next tick finishes their
// runs as lost.
//
// Non-goals: how a run is supervised and finished (package run), and which runs there are (package
// tick).
package supervisor
