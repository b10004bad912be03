//go:build !race

package schedtest

// Race says that the tests, and so sched, have the race detector.
const Race = false

var raceFlags []string
