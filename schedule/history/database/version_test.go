package database

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// newerIn says how a newer sched opens a file.
func newerIn(dir string) Config {
	c := in(dir)
	c.Version++
	return c
}

func TestAFileOfANewerSchedIsLeftUntouched(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(newerIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, f, run{1, "a"})
	f.Close()
	before, _ := os.ReadFile(filepath.Join(dir, "history.db"))

	for _, c := range []Config{in(dir), lookIn(dir)} {
		_, err = Open(c)
		var newer *NewerError
		if !errors.As(err, &newer) || newer.Version != 2 || newer.Known != 1 {
			t.Errorf("reading %t: got %v", c.Reading, err)
		}
	}
	after, _ := os.ReadFile(filepath.Join(dir, "history.db"))
	if !bytes.Equal(before, after) {
		t.Error("the file changed")
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, "*corrupt*")); len(aside) > 0 {
		t.Errorf("set aside: %v", aside)
	}
}

func TestLookingCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(lookIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := idsOf(t, f, ""); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if err := add(f, run{1, "a"}); err == nil {
		t.Error("a record was added to nothing")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("there are %v", files)
	}
}

func TestLookingSeesWhatOthersWroteAndWritesNothing(t *testing.T) {
	dir := t.TempDir()
	writer := mustOpen(t, in(dir))
	mustAdd(t, writer, run{1, "a"})
	f, err := Open(lookIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mustAdd(t, writer, run{2, "a"})
	if got := idsOf(t, f, ""); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if err := add(f, run{3, "a"}); err == nil {
		t.Error("a record was added")
	}
}
