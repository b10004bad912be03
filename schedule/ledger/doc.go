// Package ledger gives every slot one outcome, whatever is killed. A tick writes down for which slots it will account
// (Journal) before it writes down that its minute is covered (LastTick). So a later tick finds out which minutes no
// tick covered, and what a tick that was killed left open.
//
// It starts nothing. What became of slots that ran is in the rows of the runs (package state).
package ledger
