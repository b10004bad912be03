//go:build schedtest

package cmd

import (
	"fmt"
	"os"
	"time"

	"sched/schedule/runner"
)

// A binary that is built with the tag schedtest, as the tests of this package do, has a clock that can
// be wrong, in every process of a run alike:
//
//	SCHED_TEST_CLOCK=2026-11-21T10:44:30Z   it is this time when the process begins
//	SCHED_TEST_CLOCK_OFFSET=-45s            the clock is slow by so much; added to the above
//
// and SCHED_TEST_SERVER gives the machine another name. The clocks go on from there at the usual pace. The binary that people build knows neither.
func init() {
	var offset time.Duration
	if text := os.Getenv("SCHED_TEST_CLOCK"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			panic(fmt.Sprintf("SCHED_TEST_CLOCK: %v", err))
		}
		offset = time.Until(at)
	}
	if text := os.Getenv("SCHED_TEST_CLOCK_OFFSET"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			panic(fmt.Sprintf("SCHED_TEST_CLOCK_OFFSET: %v", err))
		}
		offset += d
	}
	if name := os.Getenv("SCHED_TEST_SERVER"); name != "" {
		hostname = func() (string, error) { return name, nil }
	}
	runner.Now = func() time.Time { return time.Now().Add(offset) }
}
