// Package ledger gives every slot one outcome, whatever is killed. In one transaction (state.Plan)
// a tick finds out which minutes no tick covered and which slots dead ticks have left, records what
// was missed, plans the slots of its own minute, and covers that.
//
// It starts nothing. What became of slots that ran is in the rows of the runs (package state).
package ledger
