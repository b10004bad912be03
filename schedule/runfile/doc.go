// Package runfile is the file of a run that lives, or that no tick has put into the history yet: runs/ID.json in the
// state folder. It holds the run's events, and its lock is the proof that a process of the run lives. A request for a
// run is the same file in another folder, until a tick begins the run.
//
// The files carry each run's snapshot of its task, so what a run does is decided when it begins. This package writes
// and reads them; what the events mean for a run is package run, and what is kept of runs that ended is package
// history.
package runfile
