package database

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// later is what a later version of sched may add.
var later = append(slices.Clone(tables),
	`ALTER TABLE runs ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'`,
	`UPDATE runs SET mood = 'glad' WHERE task = 'a'`)

// laterIn says how a later version opens a file.
func laterIn(dir string) Config {
	c := in(dir)
	c.Migrations = later
	return c
}

func TestAnOlderFileIsBroughtUpToDate(t *testing.T) {
	for _, reading := range []bool{true, false} {
		dir := t.TempDir()
		fill(t, dir, run{1, "a"}, run{2, "b"})
		c := laterIn(dir)
		c.Reading = reading // then a copy is brought up to date
		f := mustOpen(t, c)
		var moods string
		err := f.Do(func(conn *sql.DB) error {
			return conn.QueryRow("SELECT group_concat(mood) FROM (SELECT mood FROM runs ORDER BY run)").Scan(&moods)
		})
		if err != nil || moods != "glad,calm" || f.Version() != len(later) {
			t.Errorf("reading %t: got %s of version %d, %v", reading, moods, f.Version(), err)
		}
	}
}

func TestAMigrationThatFailsChangesNothing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, run{1, "a"})
	broken := laterIn(dir)
	broken.Migrations = append(slices.Clone(later), "SELECT no_such_column FROM runs")
	if _, err := Open(broken); err == nil {
		t.Error("it succeeded")
	}
	if got := idsOf(t, mustOpen(t, in(dir)), ""); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestAFileOfANewerSchedIsLeftUntouched(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(laterIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, f, run{1, "a"})
	f.Close()
	before, _ := os.ReadFile(filepath.Join(dir, "history.db"))

	for _, c := range []Config{in(dir), lookIn(dir)} {
		_, err = Open(c)
		var newer *NewerError
		if !errors.As(err, &newer) || newer.Version != len(later) || newer.Known != len(tables) {
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

// A version that can be read as it is is not copied, and one before it is: it has to be brought up to date.
func TestATableThatIsMissingNeedsNoCopyWhereReadersDoWithout(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, run{1, "a"})
	c := laterIn(dir)
	c.Reading = true
	t.Setenv("TMPDIR", filepath.Join(dir, "nowhere")) // there is no room for a copy
	if _, err := Open(c); err == nil {
		t.Error("a copy was made nowhere")
	}
	c.ReadableFrom = len(tables)
	if f := mustOpen(t, c); f.Version() != len(tables) || len(idsOf(t, f, "a")) != 1 {
		t.Errorf("version %d is read", f.Version())
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
