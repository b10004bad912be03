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
type DB struct{ file }

// A file is the file of a history: it is opened, locked, mended and closed here, and operations on its tables run in do and write.
type file struct {
	dir        string // absolute
	migrations []migration
	patience   time.Duration // bounds the wait for other processes
	reading    bool          // opened by OpenRead: changes nothing, so it mends nothing either

	mu       sync.RWMutex // protects the fields below, which mending replaces
	conn     *sql.DB      // nil while the file cannot be used
	version  int          // of the tables that conn has
	lock     *os.File     // nil where the folder cannot be written, and for a file that is not there
	readOnly bool
	copied   string // the state of the file when the copy that conn has was made; empty where conn has the file itself
	holds    bool   // writers, shared
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

// OpenRead is Open for reading only, as `sched list` and `sched run --dry-run` do: it changes and creates nothing in the folder,
// and moves nothing aside. A history that does not exist reads as an empty one; a damaged one gives errors that IsCorrupt
// recognises; one of an earlier sched, or one in which a killed process has left half a transaction, is read in a copy.
func OpenRead(dir string) (*DB, error) {
	return open(dir, true)
}

func open(dir string, reading bool) (*DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	db := &DB{file{dir: dir, migrations: migrations, patience: 10 * time.Second, reading: reading}}
	if err := db.open(nil); err != nil {
		return nil, db.explain(errors.Join(err, db.disconnect()))
	}
	return db, nil
}

// open connects to the file, mending it first when it is new, old or damaged, and runs op when there
// is one.
func (f *file) open(op func(*sql.DB) error) error {
	if info, err := os.Stat(f.path()); f.reading && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0) {
		return f.openEmpty()
	}
	f.hold()
	err := f.use(op)
	if f.mendable(err) {
		err = f.mend(op)
	}
	if f.conn == nil {
		f.release()
	}
	return err
}

// hold keeps other connections of this process from copying, and release lets them.
func (f *file) hold() {
	if !f.reading && !f.holds {
		writers.RLock()
		f.holds = true
	}
}

func (f *file) release() {
	if f.holds {
		writers.RUnlock()
		f.holds = false
	}
}

// use connects and runs op. It stays connected unless the file has to be mended.
func (f *file) use(op func(*sql.DB) error) error {
	err := f.connect()
	if err == nil && op != nil {
		err = op(f.conn)
	}
	if f.mendable(err) {
		_ = f.disconnect() // err says already what is wrong
	}
	return err
}

// mendable reports whether mend has a remedy for the error.
func (f *file) mendable(err error) bool {
	return !f.readOnly && (errors.Is(err, errOlder) || IsCorrupt(err))
}

// Close closes the file.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	defer f.release()
	return f.explain(f.disconnect())
}

// SetAside is the path to which a damaged history was moved since Open began; empty when none was.
func (f *file) SetAside() string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.setAside
}

// do runs op, and once more on a mended file when the file turns out to be damaged. An op that
// fails must have changed nothing.
func (f *file) do(op func(*sql.DB) error) error {
	f.mu.RLock()
	var err error
	open := f.conn != nil && !f.outdated()
	if open {
		err = op(f.conn)
	}
	mend := f.mendable(err) || f.reading && isHot(err)
	f.mu.RUnlock()
	if mend || !open {
		err = f.doMended(op)
	}
	return f.explain(err)
}

// doMended opens the file anew, mending it where it must, and runs op. It also tries again what could not be mended the
// last time.
func (f *file) doMended(op func(*sql.DB) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	_ = f.disconnect()
	return f.open(op)
}

// openEmpty connects to an empty database in memory, for a file that does not exist or is empty.
func (f *file) openEmpty() error {
	conn, err := dial(":memory:")
	if err != nil {
		return err
	}
	err = upgrade(context.Background(), conn, 0, f.migrations)
	if err == nil {
		_, err = conn.Exec("PRAGMA query_only = ON")
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	f.conn, f.version = conn, len(f.migrations)
	return nil
}

func (f *file) path() string { return filepath.Join(f.dir, "history.db") }

// A rower is a connection or a transaction.
type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// write runs op in a transaction. It waits for other writers when it begins, so op never has to.
func (f *file) write(ctx context.Context, op func(*sql.Tx) error) error {
	return f.do(func(conn *sql.DB) error {
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
