package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sched/schedule/history/database"
	"sched/schedule/outcome"
)

// openVersion opens the history as the sched with those migrations does.
func openVersion(t testing.TB, dir string, m []database.Migration, reading bool) (*DB, error) {
	t.Helper()
	db, err := open(dir, database.Config{Migrations: m, Reading: reading})
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
func TestAFileOfEveryVersionIsReadAndBroughtUpToDate(t *testing.T) {
	for version := 1; version < len(migrations); version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			dir := t.TempDir()
			fromDump(t, dir, version)
			look, err := OpenRead(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := runsOf(t, look, Query{}); len(got) != 3 {
				t.Errorf("who looks finds %v", got)
			}
			look.Close()
			db := openTest(t, dir)
			mustAdd(t, db, rec(1, "new", outcome.Succeeded))
			records, err := db.Find(context.Background(), Query{})
			if err != nil || len(records) != 4 {
				t.Fatalf("got %v, %v", records, err)
			}
			broken := records[slices.IndexFunc(records, func(r outcome.Record) bool { return r.Task == "broken" })]
			if broken.Mutex != "shared" || broken.Outcome != outcome.Failed || *broken.ExitCode != 3 || len(broken.Snapshot) == 0 || broken.Origin != "" {
				t.Errorf("got %+v", broken)
			}
		})
	}
}
