// Package records reads what became of runs: rows of the history, and records in files of runs that
// no tick has moved there yet. It writes nothing, so root may look at the schedule of another user.
package records
