package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// settle closes the database and says the words about it, as a tick does whose mark is from before
// it read.
func settle(t *testing.T, db *DB, dir, words string) {
	t.Helper()
	must(t, db.Close())
	mark := Mark(dir)
	db = open(t, dir)
	_, err := db.Values().Covered(ctx)
	must(t, err)
	must(t, db.Close())
	must(t, Settle(dir, mark, words))
}

// age has the last change of the database be a minute ago.
func age(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(filepath.Join(dir, "sched.db"), then, then))
}

func TestWhoOnlyReadsLeavesTheDatabaseSettled(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	age(t, dir)
	settle(t, db, dir, "words")
	for range 2 {
		if said, unchanged := Settled(dir, "words"); !said || !unchanged {
			t.Errorf("%v, %v", said, unchanged)
		}
		db := open(t, dir)
		_, err := db.Pauses("").All(ctx)
		must(t, err)
		if _, unchanged := Settled(dir, "words"); unchanged {
			t.Error("another process has it open, and could change it")
		}
		must(t, db.Close())
	}
	if said, unchanged := Settled(dir, "other words"); said || unchanged {
		t.Errorf("%v, %v", said, unchanged)
	}
}

func TestAnyChangeEndsThatTheDatabaseIsSettled(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string){
		"a value": func(dir string) {
			db := open(t, dir)
			must(t, db.Values().Set(ctx, "a", 1))
			must(t, db.Close())
		},
		"a killed process that had it open": func(dir string) { must(t, os.WriteFile(filepath.Join(dir, "sched.db-wal"), nil, 0o600)) },
		"another file": func(dir string) {
			must(t, os.Rename(filepath.Join(dir, "sched.db"), filepath.Join(dir, "old")))
			db := open(t, dir)
			must(t, db.Close())
			age(t, dir)
		},
		"none": func(dir string) { must(t, os.Remove(filepath.Join(dir, "sched.db"))) },
	} {
		dir := folder(t)
		db := open(t, dir)
		age(t, dir)
		settle(t, db, dir, "words")
		change(dir)
		if said, unchanged := Settled(dir, "words"); !said || unchanged {
			t.Errorf("%s: %v, %v", name, said, unchanged)
		}
	}
}

// A second change in the same moment would have the same time.
func TestADatabaseThatWasJustChangedIsNotSettled(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	settle(t, open(t, dir), dir, "words")
	age(t, dir)
	if said, unchanged := Settled(dir, "words"); !said || unchanged {
		t.Errorf("%v, %v", said, unchanged)
	}
}
