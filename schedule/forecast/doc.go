// Package forecast foresees what a schedule will do: when it is crowded, what starts late, what is skipped.
//
// Simulate goes through a span of time tick by tick. Package schedule says what is due. Package admission says what of it starts, in
// which order and after which locks, as for a real tick. The simulation itself has only two things: the clock, which jumps from one
// start to the next, and how long runs take, which it is told. Sum adds up what happens.
//
// Read says what a simulation of a schedule as it stands goes by: its pauses, and what its runs took according to the history. A
// Report has the sums of such a simulation, and the words and the JSON that `sched forecast` and `sched serve` share.
//
// Some things cannot be known before, and the caller has to say so: condition commands are taken to allow every run, runs to succeed,
// and ticks to come on time.
package forecast
