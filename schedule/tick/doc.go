// Package tick is one tick of the schedule:
//
//   - it decides which slots start: due times, conditions, pauses, locks;
//   - it decides in which order they start;
//   - it hands the background runs over to supervisors;
//   - it runs the foreground tasks one after another.
//
// Tick.Run shows a tick from top to bottom; docs/internals/how-a-run-works.md follows a run through
// it.
//
// A Ledger gives every slot one outcome, whatever is killed. In one transaction (state.Plan) a
// tick finds out which minutes no tick covered and which slots dead ticks have left, records what
// was missed, plans the slots of its own minute, and covers the minute.
//
// See package run for how one run goes, and package schedule for what the schedule says.
package tick
