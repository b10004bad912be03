// Package outcome has the types for what became of a slot: the closed list of outcomes, the record of a run, and the
// ids of runs.
//
// It stores nothing. The file of a run that lives is package runfile, the journals of ticks are package ledger, and
// the database is package history.
package outcome
