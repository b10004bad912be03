// Package overdue finds tasks that are overdue: a run that takes longer than `expect: {within: …}`,
// or no success for longer than `expect: {every: …}`. Ticks look for them, because there is no
// daemon. Ticks keep what they need in one value of the database (Watch).
//
// Only elapsed time counts, not the time that the clock shows: a clock that was set makes nothing
// overdue. On a system that does not say how long ago it booted, such as macOS, a clock that is set
// forward does make tasks overdue.
package overdue
