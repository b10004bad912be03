//go:build race

package cmd_test

// raceFlags build sched itself with the race detector when the tests run with it.
var raceFlags = []string{"-race"}
