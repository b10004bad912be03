// Package outcome has the types for what became of a slot: outcomes, their kinds, and ids of runs.
// Package state stores them.
package outcome
