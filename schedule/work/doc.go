// Package work is `sched work`: a tick every minute without cron, in the foreground, for containers and laptops. It starts
// each tick as a process of its own, in the order of the minutes, and ends what still runs when it is told to end.
//
// It reads no schedule and does not decide what is due; all that it remembers is which minutes were ticked. A Link connects it
// with each tick that it started.
package work
