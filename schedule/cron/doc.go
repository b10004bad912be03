// Package cron says when a task is due. It reads cron expressions (Parse) and words (ParseEvery),
// finds due instants in a time zone (When), and explains them (Explanation).
//
// # Promises
//
//   - It is pure: time and zone are arguments, and it reads no clock and no file.
//   - Slots, Next, Previous, Backward, Count and Explain agree about every instant.
//   - Daylight saving has one rule, the rule of cron(8), which is written in wallclock.go.
//   - Every value may be used by several goroutines at once.
//   - Every error of Parse and ParseEvery is an *Error, with a hint if there is something to
//     write instead.
//
// Tasks, conditions and what becomes of a slot are for other packages.
//
// # Where to find what
//
// Text becomes an Expression in split.go, field*.go (the grammar of a field) and compile.go (sets
// of due values, by gronx). Words become expressions in every*.go (the grammar of every:).
// search.go searches the wall clock, by days.go and timeofday.go; wallclock.go maps wall times to
// instants; when.go joins the expressions of a task.
package cron
