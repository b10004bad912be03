package history

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sched/schedule/history/database"
)

// A DB is the history in <dir>/history.db. Its methods may be called from several goroutines and,
// through a DB each, from any number of processes. One process opens it once at a time.
//
// A damaged file makes no method fail: the method that meets the damage moves the file aside,
// starts an empty one, and does its work there. SetAside then names the damaged file, so that the
// caller can say so. What errors of the file mean package database tells.
type DB struct {
	file *database.File
	dir  string // absolute
}

// Open opens <dir>/history.db, and creates it (mode 0600) if there is none. It does not create dir.
//
// In a folder that cannot be written it opens what is there for reading. A file of a newer sched is
// left untouched and gives a *database.NewerError. A file that another process has locked is waited for,
// and never taken for a damaged one.
func Open(dir string) (*DB, error) {
	return open(dir, false)
}

// OpenRead is Open for reading only, as `sched list` and `sched run --dry-run` do: it changes and creates nothing in the folder,
// and moves nothing aside. A history that does not exist reads as an empty one; a damaged one gives errors that database.IsCorrupt
// recognises; one in which a killed process has left half a transaction is read in a copy.
func OpenRead(dir string) (*DB, error) {
	return open(dir, true)
}

func open(dir string, reading bool) (*DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	file, err := database.Open(database.Config{Dir: dir, Tables: tables, Version: tablesVersion, Patience: 10 * time.Second, Reading: reading})
	if err != nil {
		return nil, err
	}
	return &DB{file: file, dir: dir}, nil
}

// Close closes the file.
func (db *DB) Close() error { return db.file.Close() }

// SetAside is the path to which a damaged history was moved since Open began; empty when none was.
func (db *DB) SetAside() string { return db.file.SetAside() }

// CheckPages reads every page of the file, also those that no tick ever reads, and does with damage there what every method does with
// damage that it meets. When ctx is done it has found nothing.
func (db *DB) CheckPages(ctx context.Context) error { return db.file.CheckPages(ctx) }
