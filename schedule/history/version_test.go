package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// later is what a later version of sched may add.
var later = append(slices.Clone(migrations),
	`ALTER TABLE runs ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'`,
	`UPDATE runs SET mood = 'glad' WHERE outcome = 'succeeded'`)

// openVersion opens the history as the sched with those migrations does.
func openVersion(t testing.TB, dir string, m []migration, reading bool) (*DB, error) {
	t.Helper()
	db := &DB{file{dir: dir, migrations: m, patience: 10 * time.Second, reading: reading}}
	err := db.open(nil)
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return db, err
}

func fill(t testing.TB, dir string, records ...outcome.Record) {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, db, records...)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnOlderFileIsBroughtUpToDate(t *testing.T) {
	for _, reading := range []bool{true, false} {
		dir := t.TempDir()
		fill(t, dir, rec(1, "a", outcome.Succeeded), rec(2, "a", outcome.Failed))
		db, err := openVersion(t, dir, later, reading) // one that reads brings a copy up to date
		if err != nil {
			t.Fatal(err)
		}
		moods, err := texts(context.Background(), db.conn, "SELECT mood FROM runs ORDER BY run")
		if err != nil || !slices.Equal(moods, []string{"glad", "calm"}) {
			t.Errorf("reading %t: got %v, %v", reading, moods, err)
		}
	}
}

// fromDump makes the history of the sched that had that version of the tables.
func fromDump(t *testing.T, dir string, version int) {
	t.Helper()
	dump, err := os.ReadFile(fmt.Sprintf("testdata/v%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := sql.Open("sqlite", filepath.Join(dir, "history.db"))
	if err == nil {
		_, err = conn.Exec(string(dump))
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// testdata holds a dump of a file of each version that was released.
func TestAFileOfEveryVersionIsBroughtUpToDate(t *testing.T) {
	for version := 1; version < len(migrations); version++ {
		dir := t.TempDir()
		fromDump(t, dir, version)
		db := openTest(t, dir)
		mustAdd(t, db, rec(1, "new", outcome.Succeeded))
		records, err := db.Find(context.Background(), Query{})
		if err != nil || len(records) != 4 {
			t.Fatalf("version %d: got %v, %v", version, records, err)
		}
		broken := records[slices.IndexFunc(records, func(r outcome.Record) bool { return r.Task == "broken" })]
		if broken.Mutex != "shared" || broken.Outcome != outcome.Failed || *broken.ExitCode != 3 || len(broken.Snapshot) == 0 || broken.Origin != "" {
			t.Errorf("version %d: got %+v", version, broken)
		}
	}
}

func TestAMigrationThatFailsChangesNothing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, rec(1, "a", outcome.Succeeded))
	broken := append(slices.Clone(later), "SELECT no_such_column FROM runs")
	if _, err := openVersion(t, dir, broken, false); err == nil {
		t.Error("it succeeded")
	}
	if got := runsOf(t, openTest(t, dir), Query{}); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestAFileOfANewerSchedIsLeftUntouched(t *testing.T) {
	dir := t.TempDir()
	db, err := openVersion(t, dir, later, false)
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, db, rec(1, "a", outcome.Succeeded))
	db.Close()
	before, _ := os.ReadFile(filepath.Join(dir, "history.db"))

	for name, open := range map[string]func(string) (*DB, error){"Open": Open, "OpenRead": OpenRead} {
		_, err = open(dir)
		var newer *NewerError
		if !errors.As(err, &newer) || newer.Version != len(later) || newer.Known != len(migrations) {
			t.Errorf("%s: got %v", name, err)
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
	db, err := OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := runsOf(t, db, Query{}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if err := db.Add(context.Background(), []outcome.Record{rec(1, "a", outcome.Succeeded)}); err == nil {
		t.Error("a record was added to nothing")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("there are %v", files)
	}
}

func TestLookingSeesWhatOthersWroteAndWritesNothing(t *testing.T) {
	dir := t.TempDir()
	writer := openTest(t, dir)
	mustAdd(t, writer, rec(1, "a", outcome.Succeeded))
	db, err := OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mustAdd(t, writer, rec(2, "a", outcome.Succeeded))
	if got := runsOf(t, db, Query{}); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if err := db.Add(context.Background(), []outcome.Record{rec(3, "a", outcome.Succeeded)}); err == nil {
		t.Error("a record was added")
	}
}
