// Package tick is one tick: it decides which slots start (what is due, conditions, pauses, locks),
// in which order, runs the foreground tasks one after another, and hands the background runs over.
// Tick.Run shows it from top to bottom; docs/internals/how-a-run-works.md follows a run through it.
//
// A Ledger gives every slot one outcome, whatever is killed. In one transaction (state.Plan) a
// tick finds out which minutes no tick covered and which slots dead ticks have left, records what
// was missed, plans the slots of its own minute, and covers that.
//
// See package run for how one run goes, and package schedule for what the schedule says.
package tick
