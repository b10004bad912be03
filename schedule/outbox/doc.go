// Package outbox keeps notifications until they were delivered: a file each in the folder outbox of the state folder,
// written before the first attempt, and tried again by later ticks for a day.
//
// Each is delivered at least once, whatever is killed: a kill between its acceptance and the removal of the file sends it
// again. Pings say how things are now, so a newer one replaces an older one; at_most holds messages back.
//
// Non-goals: what a message says and how one attempt is made (package notify), and which events of a run have a message
// (package run).
package outbox
