//go:build schedtest

package cmd

import (
	"os"

	"sched/cmd/app"
	"sched/schedule/install"
	"sched/schedule/preflight"
	"sched/schedule/serve"
	"sched/schedule/tick/condition"
	"sched/testing/testclock"
)

// A binary that is built with the tag schedtest, as testing/schedtest builds it, has a clock that
// can be wrong, in every process of a run alike:
//
//	SCHED_TEST_CLOCK=2026-11-21T10:44:30Z   the time at which the process begins; then time passes
//	SCHED_TEST_CLOCK_OFFSET=-45s            the clock is slow; this is added to SCHED_TEST_CLOCK
//	SCHED_TEST_CLOCK_FILE=clock             the time is read from this file (testing/testclock)
//	SCHED_TEST_CLOCK_SET=2h                 how far the clock was set forward since the boot
//	SCHED_TEST_BOOT=a@2026-11-21T10:44:30Z  the name and the time of the boot; else long ago
//
// Other variables change what belongs to the machine, or how long sched waits:
//
//	SCHED_TEST_SERVER=web-1           the name of the machine
//	SCHED_TEST_PERSON=ann             who calls sched
//	SCHED_TEST_ETC=/tmp/etc           the folder where install writes, and where the labels are
//	SCHED_TEST_CRON=sched             the program that counts as cron
//	SCHED_TEST_CONDITION_TIMEOUT=10m  how long a condition command may take
//	SCHED_TEST_HEADER_TIMEOUT=5m      how long the header of a request to sched serve may take
//
// The binary that people build knows none of these.
func init() {
	if etc := os.Getenv("SCHED_TEST_ETC"); etc != "" {
		install.CronFolder, install.SystemdFolder = etc+"/cron.d", etc+"/systemd/system"
		install.RootBackups, app.LabelsFile = etc+"/crontabs", etc+"/sched/labels"
	}
	if name := os.Getenv("SCHED_TEST_SERVER"); name != "" {
		app.Hostname = func() (string, error) { return name, nil }
	}
	if name := os.Getenv("SCHED_TEST_PERSON"); name != "" {
		app.PersonName = func() string { return name }
	}
	if name := os.Getenv("SCHED_TEST_CRON"); name != "" {
		preflight.CronPrograms = []string{name}
	}
	condition.Timeout = testclock.Duration("SCHED_TEST_CONDITION_TIMEOUT", condition.Timeout)
	serve.HeaderTimeout = testclock.Duration("SCHED_TEST_HEADER_TIMEOUT", serve.HeaderTimeout)
	testclock.Set()
}
