// Package controls is what people ask of all ticks of a schedule: to start nothing of some tasks (pauses), and not to
// stay for later seconds of a minute (an interrupt). On a machine that stands alone that is a file in its state
// folder; servers that share a store keep it there, and each a copy.
package controls
