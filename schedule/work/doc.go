// Package work is `sched work`: it starts a tick process every minute without cron, in the
// foreground, and ends what still runs when it is told to end. It does not read the schedule. A
// Link connects it with each tick.
package work
