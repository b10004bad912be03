package history

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"sched/schedule/outcome"
)

// A record is added, found and pruned whatever page of the file is damaged. How a damaged file is set aside is package database.
func TestAZeroPageAnywhereIsMetByOneMethodAndThenMended(t *testing.T) {
	const page, rows = 4096, 600
	from := t.TempDir()
	var many []outcome.Record
	for n := range rows {
		many = append(many, rec(n, "a", outcome.Failed))
	}
	fill(t, from, many...)
	good, err := os.ReadFile(filepath.Join(from, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	for at := page; at < len(good); at += 8 * page {
		dir := t.TempDir()
		damaged := bytes.Clone(good)
		clear(damaged[at : at+page])
		if err := os.WriteFile(filepath.Join(dir, "history.db"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		db := openTest(t, dir)
		mustAdd(t, db, rec(9000, "b", outcome.Succeeded))
		found := runsOf(t, db, Query{Task: "a"})
		if _, err := db.Prune(context.Background(), noon, 0, 10, 0); err != nil {
			t.Errorf("page %d: %v", at/page, err)
		}
		mustAdd(t, db, rec(9001, "b", outcome.Succeeded))
		if len(found) != rows && db.SetAside() == "" {
			t.Errorf("page %d: %d of %d rows, and nothing was said", at/page, len(found), rows)
		}
		if err := db.Close(); err != nil {
			t.Errorf("page %d: %v", at/page, err)
		}
	}
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
