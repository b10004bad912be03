package process

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process of sched may have its timers late, and nothing that a schedule starts has that from it.
func TestOnlyProcessesOfSchedHavePatientTimers(t *testing.T) {
	const other = 123 * time.Microsecond
	for _, row := range []struct {
		about   string
		own     time.Duration // the slack of the process that forks
		patient bool          // whether it forks a process of sched
		want    time.Duration
	}{
		{"a tick starts a command", usualSlack, false, usualSlack},
		{"a tick starts a witness", usualSlack, true, patientSlack},
		{"a supervisor starts a command", patientSlack, false, usualSlack},
		{"a supervisor starts a finish", patientSlack, true, patientSlack},
		{"somebody has set the slack of a tick, which starts a command", other, false, other},
		{"somebody has set the slack of a tick, which starts a witness", other, true, other},
	} {
		t.Run(row.about, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0)
			unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(row.own), 0, 0, 0)

			output, err := os.Create(filepath.Join(t.TempDir(), "output"))
			if err != nil {
				t.Fatal(err)
			}
			defer output.Close()
			p, err := Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "cat /proc/self/timerslack_ns"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Output: output, Patient: row.patient}.Fork()
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done
			text, _ := os.ReadFile(output.Name())
			if got, _ := time.ParseDuration(strings.TrimSpace(string(text)) + "ns"); got != row.want {
				t.Errorf("%s, not %s", got, row.want)
			}
			if own, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); time.Duration(own) != row.own {
				t.Errorf("the thread that forked has %s afterwards, not %s", time.Duration(own), row.own)
			}
		})
	}
}
