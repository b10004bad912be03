// Package tick is one tick: it decides which slots start (what is due, conditions, pauses, locks),
// in which order, runs the foreground tasks one after another, and hands the background runs over.
// Tick.Run tells it from top to bottom; docs/internals/how-a-run-works.md follows a run through it.
//
// How one run goes is package run, and what every slot became is package ledger. What the schedule
// says is package schedule.
package tick
