package history

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sched/schedule/history/database"
)

// A DB is the history in <dir>/history.db. Several goroutines may call it and, through a DB each,
// any number of processes. One process opens it once at a time. A damaged file makes no method
// fail: it is moved aside, an empty one begun, and SetAside names the damaged one.
type DB struct {
	file *database.File
	dir  string // absolute
}

// Open opens <dir>/history.db, and creates it (mode 0600) if there is none: see database.Open.
func Open(dir string) (*DB, error) {
	return open(dir, false)
}

// OpenRead is Open for reading only: it changes, creates and moves nothing (see database.Open).
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

// CheckPages is database.File.CheckPages.
func (db *DB) CheckPages(ctx context.Context) error { return db.file.CheckPages(ctx) }
