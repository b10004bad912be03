// Package forecast foresees what a schedule will do: when it is crowded, what starts late, what is skipped.
//
// Simulate goes through a span of time tick by tick. What is due says package schedule, and what of it starts, in which order and
// after which locks says package admission, as for a real tick. Its own are only two things: the clock, which jumps from one start to
// the next, and how long runs take, which it is told. A Forecast adds up what the simulation passes on; Suggest looks for minutes
// that spread the load.
//
// It is pure: it reads no clock, no file and no history, and runs nothing. What nobody can know before is left out, and for the
// caller to say: condition commands are taken to allow every run, runs to succeed, and ticks to come on time.
package forecast
