// Package history keeps what became of every slot: the database history.db in the state folder.
// Ticks alone write, one transaction each; other commands read. What is kept is bounded (Prune).
// Only this package and package database use SQL. Live runs are in package runfile, open slots in
// ledger.
package history
