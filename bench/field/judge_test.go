//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// journal writes lines "begin JOB PID SECONDS" with the seconds since noon, and reads them.
func journal(t *testing.T, lines ...string) []*run {
	var b strings.Builder
	for _, line := range lines {
		var what, job string
		var pid int
		var seconds float64
		if _, err := fmt.Sscan(line, &what, &job, &pid, &seconds); err != nil {
			t.Fatal(err)
		}
		at := noon.Add(time.Duration(seconds * float64(time.Second)))
		fmt.Fprintln(&b, what, job, pid, at.UnixNano(), 0)
	}
	path := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, err := readJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// firstMinutes are so many slots from noon on.
func firstMinutes(n int) (slots []time.Time) {
	for i := range n {
		slots = append(slots, noon.Add(time.Duration(i)*time.Minute))
	}
	return slots
}

// Each journal is wrong in one way but for the first, and the judge finds it.
func TestTheJudgeFindsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, want string
		journal    []string
	}{
		{"all is well", "✓", []string{"begin short 1 0.1", "end short 1 0.2", "begin short 2 60", "begin short 3 120"}},
		{"the first never ran", "1 lost", []string{"begin short 2 60", "begin short 3 120"}},
		{"the last never ran", "1 lost", []string{"begin short 1 0", "begin short 2 60"}},
		{"none ran", "3 lost", nil},
		{"one ran twice", "1 twice", []string{"begin short 1 0", "begin short 2 1", "begin short 3 60", "begin short 4 120"}},
		{"one was made up for", "1 late",
			[]string{"begin short 1 0", "begin short 2 120", "begin short 3 123"}},
		{"one was made up for, and one twice", "1 late, 1 twice",
			[]string{"begin short 1 0", "begin short 2 120", "begin short 3 123", "begin short 4 124"}},
		{"a minute beside itself", "1 overlapped", []string{"begin short 1 0", "begin short 2 60", "begin short 3 120",
			"begin long 4 0", "beat long 4 59", "begin long 5 60", "end long 4 80", "end long 5 140"}},
		{"three at once", "2 overlapped", []string{"begin short 1 0", "begin short 2 60", "begin short 3 120",
			"begin long 4 0", "begin long 5 60", "begin long 6 120", "beat long 4 130", "beat long 5 130"}},
		{"beside one that never ended", "1 overlapped", []string{"begin short 1 0", "begin short 2 60",
			"begin short 3 120", "begin long 4 0", "beat long 4 100", "begin long 5 60"}},
		{"late in its own minute, and then too late", "1 lost",
			[]string{"begin short 1 59", "begin short 2 121"}},
	} {
		runs := journal(t, c.journal...)
		var v verdict
		v.minutely(of(runs, "short"), firstMinutes(3), firstMinutes(3))
		v.alone(of(runs, "long"))
		if v.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, v, c.want)
		}
	}
}

func TestAJobOfOnceANight(t *testing.T) {
	for want, lines := range map[string][]string{
		"✓":       {"begin daily 1 7"},
		"1 lost":  nil,
		"1 twice": {"begin daily 1 7", "begin daily 2 90"},
	} {
		var v verdict
		if v.once(journal(t, lines...)); v.String() != want {
			t.Errorf("%v: %s, want %s", lines, v, want)
		}
	}
}

// A log counts only if one line names the minute and says what became of it.
func TestWhatASchedulerSays(t *testing.T) {
	for line, want := range map[string]bool{
		"2026-11-30 12:00:00  short  missed":                                              true,
		"[WARN] missed execution at Mon Nov 30 2026 12:00:00 GMT+0000":                    true,
		`2026-11-30 12:00:09,1 WARNING Run time of job "short" was missed by 0:00:09.123`: true,
		`2026-11-30 12:07:09,1 WARNING Run time of job "short" was missed by 0:00:09.123`: false,
		"2026-11-30 12:00:00  short  succeeded":                                           false,
		"a job was missed":                                                                false,
		"2026-11-30 12:01:00  short  missed":                                              false,
	} {
		if says(line, noon) != want {
			t.Errorf("says(%q) = %t", line, !want)
		}
	}
}
