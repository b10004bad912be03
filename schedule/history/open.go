package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A DB is the history in <dir>/history.db. Its methods may be called from several goroutines and,
// through a DB each, from any number of processes. One process opens it once at a time.
//
// A damaged file makes no method fail: the method that meets the damage moves the file aside,
// starts an empty one, and does its work there. SetAside then names the damaged file, so that the
// caller can say so.
type DB struct {
	dir        string // absolute
	migrations []migration
	patience   time.Duration // bounds the wait for other processes
	reading    bool          // opened by OpenRead: changes nothing, so it mends nothing either

	mu       sync.RWMutex // protects the fields below, which mending replaces
	conn     *sql.DB      // nil while the file cannot be used
	lock     *os.File     // nil where the folder cannot be written, and for a file that is not there
	readOnly bool
	setAside string
	closed   bool
}

// Open opens <dir>/history.db, and creates it (mode 0600) or brings it up to date where needed.
// It does not create dir.
//
// In a folder that cannot be written it opens what is there for reading. A file of a newer sched is
// left untouched and gives a *NewerError. A file that another process has locked is waited for,
// and never taken for a damaged one.
func Open(dir string) (*DB, error) {
	return open(dir, false)
}

// OpenRead is Open for reading only, as `sched list` and `sched run --dry-run` do: it creates
// nothing and moves nothing aside. A history that does not exist reads as an empty one; a damaged
// one gives errors that IsCorrupt recognises.
func OpenRead(dir string) (*DB, error) {
	return open(dir, true)
}

func open(dir string, reading bool) (*DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	db := &DB{dir: dir, migrations: migrations, patience: 10 * time.Second, reading: reading}
	if err := db.open(nil); err != nil {
		return nil, db.explain(errors.Join(err, db.disconnect()))
	}
	return db, nil
}

// open connects to the file, mending it first when it is new, old or damaged, and runs op when there
// is one.
func (db *DB) open(op func(*sql.DB) error) error {
	if info, err := os.Stat(db.path()); db.reading && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0) {
		return db.openEmpty()
	}
	err := db.use(op)
	if db.mendable(err) {
		err = db.mend(op)
	}
	return err
}

// use connects and runs op. It stays connected unless the file has to be mended.
func (db *DB) use(op func(*sql.DB) error) error {
	err := db.connect()
	if err == nil && op != nil {
		err = op(db.conn)
	}
	if db.mendable(err) {
		_ = db.disconnect() // err says already what is wrong
	}
	return err
}

// mendable reports whether mend has a remedy for the error.
func (db *DB) mendable(err error) bool {
	return !db.readOnly && (errors.Is(err, errOlder) || IsCorrupt(err) && !db.reading)
}

// Close closes the file. The last process that closes it folds the write-ahead log into it.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = true
	return db.explain(db.disconnect())
}

// SetAside is the path to which a damaged history was moved since Open began; empty when none was.
func (db *DB) SetAside() string {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.setAside
}

// do runs op, and once more on a mended file when the file turns out to be damaged. An op that
// fails must have changed nothing.
func (db *DB) do(op func(*sql.DB) error) error {
	db.mu.RLock()
	var err error
	open := db.conn != nil
	if open {
		err = op(db.conn)
	}
	mend := db.mendable(err)
	db.mu.RUnlock()
	if mend || !open {
		err = db.doMended(op)
	}
	return db.explain(err)
}

// doMended opens the file anew, mending it where it must, and runs op. It also tries again what could not be mended the
// last time.
func (db *DB) doMended(op func(*sql.DB) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return errClosed
	}
	_ = db.disconnect()
	return db.open(op)
}

// openEmpty connects to an empty database in memory, for a file that does not exist or is empty.
func (db *DB) openEmpty() error {
	conn, err := dial(":memory:")
	if err != nil {
		return err
	}
	err = upgrade(context.Background(), conn, 0, db.migrations)
	if err == nil {
		_, err = conn.Exec("PRAGMA query_only = ON")
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	db.conn = conn
	return nil
}

func (db *DB) path() string { return filepath.Join(db.dir, "history.db") }

// A rower is a connection or a transaction.
type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// write runs op in a transaction. It waits for other writers when it begins, so op never has to.
func (db *DB) write(ctx context.Context, op func(*sql.Tx) error) error {
	return db.do(func(conn *sql.DB) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := op(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// A queryer is a connection or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
