//go:build linux

package kills_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/testing/schedtest"
)

// Tasks that are due while the disk is full run, and nothing of them is recorded. When there is
// room again, their slots count as missed.
func TestTicksOnAFullDiskRunAndAreNotRecorded(t *testing.T) {
	t.Parallel()
	dir := schedtest.SmallDisk(t, "4m")
	b := newBox(t, `
state_dir: `+dir+`/state
timezone: UTC
tasks:
  - {name: each, cron: "* * * * *", command: echo >> ran.txt}
`)
	b.TickAt("2026-01-01T10:00:01Z")
	filler := filepath.Join(dir, "filler")
	os.WriteFile(filler, make([]byte, 8<<20), 0o600)
	for _, clock := range []string{"2026-01-01T10:01:01Z", "2026-01-01T10:02:01Z"} {
		if out, code := b.TickAt(clock); code != 1 || strings.Contains(out, "missed") ||
			strings.Count(out, "cannot be written") != 1 {
			t.Errorf("exit code %d at %s:\n%s", code, clock, out)
		}
	}
	os.Remove(filler)
	b.TickAt("2026-01-01T10:03:01Z")
	want := "10:03 succeeded, 10:02 missed, 10:01 missed, 10:00 succeeded"
	if got := strings.Join(b.Outcomes("each"), ", "); got != want || b.Count("ran.txt") != 4 {
		t.Errorf("it ran %d times:\ngot  %s\nwant %s", b.Count("ran.txt"), got, want)
	}
}
