// Package cron says when a task is due. It reads cron expressions (Parse) and the words of every: (ParseEvery), finds
// the instants at which they are due in a time zone, forward and backward (When), and explains why they are or are not
// due in a minute (Explanation).
//
// # Promises
//
//   - It is pure: time and zone are arguments, and it reads no clock and no file.
//   - Slots, Next, Previous, Backward, Count and Explain agree about every instant.
//   - Daylight saving has one rule, that of cron(8), which is written in wallclock.go.
//   - Every value may be used by several goroutines at once.
//   - Every error of Parse and ParseEvery is an *Error, with a hint where there is something to write instead.
//
// # Non-goals
//
// It has no tasks and no conditions: days, between, pauses and what becomes of a slot are for other packages. It starts
// nothing and waits for nothing. It has no field for the year and no @reboot.
//
// # Where to find what
//
// Text becomes an Expression in split.go (fields and macros), field.go with field_days.go and field_hash.go (the grammar
// of a field) and compile.go (sets of due values; the only file that uses gronx, which decides them). Words become texts
// of expressions in package frequency, and expressions in every.go. An Expression is searched on the wall clock in
// search.go, by days.go and timeofday.go; wallclock.go maps wall times to instants; when.go joins the expressions of a
// task.
package cron
