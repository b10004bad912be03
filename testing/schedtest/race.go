//go:build race

package schedtest

// Race says that the tests, and so sched, have the race detector.
const Race = true

// raceFlags build sched itself with the race detector.
var raceFlags = []string{"-race"}
