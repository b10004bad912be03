// Package outbox keeps the notifications that people are to get until they were delivered: a file each in the folder
// outbox of the state folder, written before the first attempt, and tried again by later ticks for a day.
//
// Each is delivered at least once: a kill between the sending and the removal of the file sends it again. Pings say how
// things are now, so a newer one replaces an older one; at_most holds back what is too much.
//
// What a message says and how it is sent is for package notify; whether a run has something to say is for package run.
package outbox
