package doctor

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/ticknote"
)

func TestWhoCanWriteAPartOfTheScheduleIsNamed(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	part := filepath.Join(filepath.Dir(s.Schedule.File), "more.yaml")
	if err := os.WriteFile(part, []byte("tasks: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = subjectOf(t, s.Schedule.File, "{include: more.yaml, tasks: []}")
	if found := checkSchedule(context.Background(), s); found[0].Level != OK {
		t.Errorf("%v", found)
	}
	if err := os.Chmod(part, 0o664); err != nil {
		t.Fatal(err)
	}
	if found := checkSchedule(context.Background(), s); found[0].Level != Warning ||
		!strings.Contains(found[0].Text, part) {
		t.Errorf("%v", found)
	}
}

func TestHistoryIsReadPageByPage(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	if found := checkHistory(context.Background(), s); found[0].Text != "there is no history yet" {
		t.Errorf("%v", found)
	}
	path := fillHistory(t, s.Schedule.StateDir)
	if found := checkHistory(context.Background(), s); found[0].Level != OK || !strings.HasPrefix(found[0].Text, path) {
		t.Errorf("a sound one: %v", found)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := page; at+page < len(text); at += page {
		if bytes.Contains(text[at:at+page], []byte("a reason that is found again")) {
			copy(text[at:], bytes.Repeat([]byte{0xff}, 100)) // the head of a page in the middle
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if found := checkHistory(context.Background(), s); found[0].Level != Bad ||
		!strings.Contains(found[0].Text, "cannot be read") {
		t.Errorf("a damaged one: %v", found)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, text) {
		t.Error("the look at it changed it")
	}
}

// fillHistory writes some runs into the history of a state folder, and returns its path.
func fillHistory(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := state.Open(dir, state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all []state.Row
	for i := range 200 {
		at := time.Date(2026, 1, 5, 10, i, 0, 0, time.UTC)
		all = append(all, state.Row{ID: at.Format("0102-1504"), Task: "a", Slot: at,
			Result:  state.Result{Outcome: outcome.Failed, Reason: "a reason that is found again", Ended: at},
			Started: at})
	}
	if err := db.Runs().Record(context.Background(), all, false); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "sched.db")
}

func TestAFullDiskAndAStateFolderWithoutLocks(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	if found := checkDisk(context.Background(), s); found[0].Level == Bad {
		t.Errorf("%v", found)
	}
	if found := checkState(context.Background(), s); found[0].Level != OK {
		t.Errorf("%v", found)
	}
	file := filepath.Join(filepath.Dir(s.Schedule.File), "in-the-way")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Schedule.StateDir = file
	if found := checkState(context.Background(), s); found[0].Level != Bad {
		t.Errorf("a file in its place: %v", found)
	}
}

func TestLimitsThatTicksHaveAndTheShellHasNot(t *testing.T) {
	for _, test := range []struct {
		says   string
		change func(*ticknote.Environment)
		want   string // empty for nothing
	}{
		{"the same", func(*ticknote.Environment) {}, ""},
		{"few files", func(e *ticknote.Environment) { e.Limits["open files"] = 100 }, "may open 100 files at once"},
		{"little memory", func(e *ticknote.Environment) { e.Limits["memory"] = 1 << 20 },
			"have a limit for memory, 1048576, that your shell has not"},
		{"another umask", func(e *ticknote.Environment) { e.Umask = "0777" }, "files of ticks get the umask 0777"},
	} {
		s := subjectIn(t, "tasks: []")
		if err := os.MkdirAll(s.Schedule.StateDir, 0o700); err != nil {
			t.Fatal(err)
		}
		e := ticknote.Here(s.Environ, "UTC")
		e.Limits["open files"] = 4096
		test.change(&e)
		if err := ticknote.Keep(s.Schedule.StateDir, e, s.Now); err != nil {
			t.Fatal(err)
		}
		found := checkLimits(context.Background(), s)
		if (found[0].Level == OK) != (test.want == "") || !strings.Contains(found[0].Text, test.want) {
			t.Errorf("%s: %v", test.says, found)
		}
	}
}
