// Package cron says when a task is due: it reads cron expressions and the words of every:, finds the instants at which
// they are due in a time zone, forward and backward, and explains each answer.
//
// It is pure: time is an argument, and it reads no clock and no file but the zone data. Next, Slots, Previous, Count
// and Explain agree about every instant, and daylight saving has one rule (wallclock.go). gronx decides which values
// of a field are due; nothing else of ours imports it.
//
// It knows no tasks: conditions such as days and between, and what happens to a slot, are for other packages.
package cron
