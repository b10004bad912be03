// Package forecast foresees what a schedule will do: when it is crowded, what starts late, what is
// skipped.
//
// Simulate goes through a span of time tick by tick. Package schedule says what is due and what
// starts, as for a real tick. The simulation adds only the clock and how long runs take. Read reads
// the inputs of a simulation. A Report has the sums, in words and as JSON.
//
// Condition commands are taken to allow every run, runs to succeed, and ticks to come on time.
package forecast
