// Package takeover decides which server goes on with a deferred retry of a one_server task, when the one that has it does not tick any more
// (docs/decisions.md#who-goes-on-with-a-deferred-retry).
//
// A server goes on with the attempt, or ends the run, only when it has claimed a turn of the attempt that was its own: turn 0 belongs to
// the server on which the run began. One that claims the turn of another server has taken the attempt over, and the next turn is its own.
// So the claims say all: the server that has two turns in a row has started the attempt.
//
// Non-goals: what a run writes down about that (package run), and how servers tell each other of their retries (package servers).
package takeover
