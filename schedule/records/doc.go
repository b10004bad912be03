// Package records reads what became of the runs of a schedule: the rows of the history, and the records that still wait in the
// files of runs until a tick moves them there. It is for commands that look.
//
// It writes nothing, creates nothing and moves nothing: also root may look at the schedule of another user, and that user's ticks
// find everything as it was. What lives and what is lost it reads from the same files.
package records
