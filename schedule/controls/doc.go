// Package controls keeps what people set for all ticks of a schedule: tasks of which nothing starts (pauses), and
// that ticks do not stay for later seconds of a minute (an interrupt). On a machine that stands alone that is a file
// in its state folder; servers that share a store keep it there, and each a copy.
package controls
