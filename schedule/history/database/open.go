package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Config says which file to open, and how.
type Config struct {
	Dir      string        // the folder of the file, an absolute path
	Tables   string        // the SQL that makes the tables of a new file
	Version  int           // of these tables: the user_version of the file, 1 or more
	Patience time.Duration // bounds each wait for other processes
	Reading  bool          // changes and creates nothing in the folder, and mends nothing
}

// A File is history.db, open. Its methods may be called from several goroutines.
type File struct {
	config Config

	mu       sync.RWMutex // protects the fields below, which mending replaces
	conn     *sql.DB      // nil while the file cannot be used
	lock     *os.File     // nil where the folder cannot be written, and for a file that is not there
	readOnly bool
	copied   string // the state of the file when the copy that conn has was made; empty where conn has the file itself
	holds    bool   // writers, shared
	setAside string
	closed   bool
}

// Open opens the file, and creates it (mode 0600) where there is none, but not its folder. A
// damaged file is moved aside, and a new one begun. A locked file is waited for. A file of a newer
// sched stays as it is and gives a *NewerError. In a folder that cannot be written Open is for
// reading.
//
// For reading alone, a missing file is empty, a damaged one gives errors that IsCorrupt recognises,
// and a file with half a transaction of a killed process is read in a copy.
func Open(c Config) (*File, error) {
	f := &File{config: c}
	if err := f.open(nil); err != nil {
		return nil, f.explain(errors.Join(err, f.disconnect()))
	}
	return f, nil
}

// open connects to the file, mending it first when it is damaged, and runs op when there is one.
func (f *File) open(op func(*sql.DB) error) error {
	if info, err := os.Stat(f.path()); f.config.Reading && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0) {
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
func (f *File) hold() {
	if !f.config.Reading && !f.holds {
		writers.RLock()
		f.holds = true
	}
}

func (f *File) release() {
	if f.holds {
		writers.RUnlock()
		f.holds = false
	}
}

// use connects and runs op. It stays connected unless the file has to be mended.
func (f *File) use(op func(*sql.DB) error) error {
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
func (f *File) mendable(err error) bool {
	return !f.readOnly && IsCorrupt(err)
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	defer f.release()
	return f.explain(f.disconnect())
}

// SetAside is the path to which a damaged file was moved since Open began; empty when none was.
func (f *File) SetAside() string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.setAside
}

// Do runs op, and once more on a mended file when the file turns out to be damaged. An op that
// fails must have changed nothing. The error names the file, and what is wrong with it.
func (f *File) Do(op func(*sql.DB) error) error {
	f.mu.RLock()
	var err error
	open := f.conn != nil && !f.outdated()
	if open {
		err = op(f.conn)
	}
	mend := f.mendable(err) || f.config.Reading && isHot(err)
	f.mu.RUnlock()
	if mend || !open {
		err = f.doMended(op)
	}
	return f.explain(err)
}

// doMended opens the file anew, mending it where it must, and runs op.
func (f *File) doMended(op func(*sql.DB) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	_ = f.disconnect()
	return f.open(op)
}

// openEmpty connects to an empty database in memory, for a file that does not exist or is empty.
func (f *File) openEmpty() error {
	conn, err := dial(":memory:")
	if err != nil {
		return err
	}
	err = f.makeTables(conn)
	if err == nil {
		_, err = conn.Exec("PRAGMA query_only = ON")
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	f.conn = conn
	return nil
}

func (f *File) path() string { return filepath.Join(f.config.Dir, "history.db") }

// Write runs op in a transaction, as Do does. It waits for other writers when it begins, so op never has to.
func (f *File) Write(ctx context.Context, op func(*sql.Tx) error) error {
	return f.Do(func(conn *sql.DB) error {
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
