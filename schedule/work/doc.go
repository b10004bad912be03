// Package work is `sched work`: a tick every minute without cron, in the foreground, for containers and laptops. It starts
// each tick as a process of its own, in the order of the minutes, and ends what still runs when it is told to end.
//
// It reads no schedule and decides nothing of what is due; which minutes were ticked is all that it remembers. What a
// tick that it started says to it, and is told by it, goes over a Link.
package work
