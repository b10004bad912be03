package database

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"
)

// tables are those of the files of these tests: a row a run.
const tables = `CREATE TABLE runs (run INTEGER PRIMARY KEY, task TEXT NOT NULL, output TEXT NOT NULL)`

// A run is a row. Twenty fill a page.
type run struct {
	id   int
	task string
}

// in says how a file in the folder is opened: with the patience of the history.
func in(dir string) Config {
	return Config{Dir: dir, Tables: tables, Version: 1, Patience: 10 * time.Second}
}

// lookIn is in for reading alone.
func lookIn(dir string) Config {
	c := in(dir)
	c.Reading = true
	return c
}

// atOnce is in without patience for other processes.
func atOnce(dir string) Config {
	c := in(dir)
	c.Patience = 10 * time.Millisecond
	return c
}

// mustOpen opens a file, and closes it at the end of the test.
func mustOpen(t testing.TB, c Config) *File {
	t.Helper()
	f, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// add adds the runs in one transaction.
func add(f *File, runs ...run) error {
	return f.Write(context.Background(), func(tx *sql.Tx) error { return insert(tx, runs...) })
}

func insert(tx *sql.Tx, runs ...run) error {
	for _, r := range runs {
		if _, err := tx.Exec("INSERT OR IGNORE INTO runs (run, task, output) VALUES (?, ?, ?)", r.id, r.task, strings.Repeat(".", 180)); err != nil {
			return err
		}
	}
	return nil
}

func mustAdd(t testing.TB, f *File, runs ...run) {
	t.Helper()
	if err := add(f, runs...); err != nil {
		t.Fatal(err)
	}
}

// fill adds the runs to the file in the folder, as a tick does.
func fill(t testing.TB, dir string, runs ...run) {
	t.Helper()
	f, err := Open(in(dir))
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, f, runs...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// many are n runs of a task, from the id first on.
func many(first, n int, task string) (runs []run) {
	for id := range n {
		runs = append(runs, run{first + id, task})
	}
	return runs
}

// idsOf returns the runs of a task, or of all for "", the newest first.
func idsOf(t testing.TB, f *File, task string) []int {
	t.Helper()
	ids, err := find(f, task)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func find(f *File, task string) (ids []int, err error) {
	err = f.Do(func(conn *sql.DB) error {
		ids = nil
		rows, err := conn.Query("SELECT run FROM runs WHERE ?1 IN ('', task) ORDER BY run DESC", task)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id int
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	})
	return ids, err
}
