// Package remote carries what people ask of a run or a task of another server: to stop a run, to show what it printed, to run a task
// once more. Requests and their answers go through the Redis that the servers of a schedule share.
//
// Goals:
//   - A server that is asked has nothing to poll: its ticks find requests in the pipeline by which they announce themselves (Inbox).
//   - A request is carried out at most once, and may be taken back until a server has taken it (Take, Withdraw).
//   - Everything has an end and a bound. Redis keeps nothing of it for longer than a quarter of an hour.
//
// Non-goals: carrying requests out, which package actions does, and deciding who may ask: whoever can write to the Redis can.
// So nothing that is read here is trusted: ids have the form of ids, texts are one line without control characters.
//
// The keys, below the schedule's name:
//
//	asked:SERVER  a hash: of each request that stands its id, with its end (milliseconds of Redis's clock), its state and itself
//	answer:ID     the answer to a request, for two minutes
//
// With several Redis servers each has everything, and a majority decides.
package remote
