// Package history keeps what became of every slot: the database history.db in the state folder.
//
// Ticks add finished runs to it, in one transaction each; they are its only writers, so a thousand runs that end at
// the same moment do not queue for it. All other commands only read. A damaged database is set aside and a new one
// begun, and what is kept is bounded (Prune).
//
// It is the only user of SQL, with package database, which opens and mends the file, whatever is in it. Runs that live are
// package runfile, slots that are not accounted for yet package ledger.
package history
