// Package overdue finds tasks that are overdue: a run that takes longer than `expect: {within: …}`,
// or no success for longer than `expect: {every: …}`. Ticks look, there is no daemon, and what they
// need is one value of the database (Watch).
//
// Time is that which passed, not what the clock shows: a clock that was set makes nothing overdue.
// Where the system does not say how long ago it booted, as on macOS, a clock that is set forward
// does.
package overdue
