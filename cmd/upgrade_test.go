package cmd_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"sched/testing/schedtest"
)

// A sched that is older than the database leaves it alone and says so. Its ticks go on, and record
// nothing.
func TestAnOlderSchedSaysThatTheHistoryIsNewer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "schedule.yaml"),
		[]byte("tasks: [{name: a, every: minute, command: echo hi}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sched := func(args ...string) string {
		c := exec.Command(schedtest.Binary, append(args, "-c", filepath.Join(dir, "schedule.yaml"))...)
		out, _ := c.CombinedOutput()
		return string(out)
	}
	version := func(set int) (was int) {
		db, err := sql.Open("sqlite", filepath.Join(dir, ".sched", "sched.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("PRAGMA user_version").Scan(&was); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", set)); err != nil {
			t.Fatal(err)
		}
		return was
	}
	sched("run", "--at", "2026-01-05 10:00")
	known := version(99)
	if out := sched("run", "--at", "2026-01-05 10:01"); !strings.Contains(out, "10:01  a  succeeded") ||
		!strings.Contains(out, "hint: run the newer sched again") {
		t.Errorf("a tick beside a newer history says\n%s", out)
	}
	if out := sched("history"); !strings.Contains(out,
		"was written by a newer sched (version 99 of its tables; this one knows") {
		t.Errorf("history says\n%s", out)
	}
	version(known)
	sched("run", "--at", "2026-01-05 10:02")
	if out := sched("history"); strings.Count(out, "succeeded") != 2 {
		t.Errorf("then it says\n%s", out)
	}
}
