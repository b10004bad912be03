//go:build schedtest

package cmd

import (
	"os"

	"sched/schedule/serve"
	"sched/schedule/tick"
	"sched/testing/testclock"
)

// A binary that is built with the tag schedtest, as the tests of this package do, has a clock that
// can be wrong, in every process of a run alike:
//
//	SCHED_TEST_CLOCK=2026-11-21T10:44:30Z   it is this time when the process begins
//	SCHED_TEST_CLOCK_OFFSET=-45s            the clock is slow by so much; added to the above
//	SCHED_TEST_CLOCK_FILE=clock             what the file says counts instead: see testing/testclock
//	SCHED_TEST_CLOCK_SET=2h                 by so much it was set forward since the machine booted, else time passed
//	SCHED_TEST_BOOT=a@2026-11-21T10:44:30Z  the name of the machine's boot, and when it was; without the time long ago
//	SCHED_TEST_ETC=/tmp/etc                 install writes to folders there, and keeps copies there; labels are read there
//
// The first two go on from there at the usual pace. SCHED_TEST_SERVER gives the machine another
// name, and a condition command may take SCHED_TEST_GUARD_TIMEOUT, the header of a request to sched
// serve SCHED_TEST_HEADER_TIMEOUT. The binary that people build knows none of these.
func init() {
	if etc := os.Getenv("SCHED_TEST_ETC"); etc != "" {
		cronFolder, systemdFolder, rootBackups, labelsFile = etc+"/cron.d", etc+"/systemd/system", etc+"/crontabs", etc+"/sched/labels"
	}
	if name := os.Getenv("SCHED_TEST_SERVER"); name != "" {
		hostname = func() (string, error) { return name, nil }
	}
	tick.ConditionTimeout = testclock.Duration("SCHED_TEST_GUARD_TIMEOUT", tick.ConditionTimeout)
	serve.HeaderTimeout = testclock.Duration("SCHED_TEST_HEADER_TIMEOUT", serve.HeaderTimeout)
	testclock.Set()
}
