package state

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"sched/schedule/statedir"
)

// A file is sched.db, however it is opened. It has whatever is at its path: when another process
// has set the file aside, or somebody has deleted it, the next call opens the path anew.
type file struct {
	dir      string
	access   access
	patience time.Duration

	mu       sync.RWMutex // protects the fields below, which opening the file anew replaces
	conn     *sql.DB      // nil when the file could not be opened anew
	info     os.FileInfo  // the file open in conn; nil for memory, and when there was no file
	setAside string
	closed   bool
	used     atomic.Int64 // when a call began last, in nanoseconds since 1970
}

// An access says what may be done with a file.
type access string

const (
	writing access = "write the file, and make it"
	reading access = "read the file, and change nothing"
	memory  access = "write to memory"
)

func newFile(dir string, may access, patience time.Duration) *file {
	if whole, err := filepath.Abs(dir); err == nil { // else it cannot be opened
		dir = whole
	}
	return &file{dir: dir, access: may, patience: patience}
}

func (f *file) path() string     { return filepath.Join(f.dir, "sched.db") }
func (f *file) locksDir() string { return filepath.Join(f.dir, "locks") }

// do runs op, and once more on a new file when the file turns out to be damaged. An op that fails
// must have changed nothing. A file that was opened while its folder was read-only can never be
// written: the next call opens it anew.
func (f *file) do(op func(*sql.DB) error) error {
	info, err := f.once(op)
	if f.access == writing && Damaged(err) {
		if err = f.replace(info, err); err == nil {
			_, err = f.once(op)
		}
	}
	if f.access == writing && primary(err) == sqlite3.SQLITE_READONLY {
		f.mu.Lock()
		f.disconnect() //nolint: it is opened again when it is needed
		f.mu.Unlock()
	}
	return f.explain(err)
}

// once runs op, and returns the file that it had.
func (f *file) once(op func(*sql.DB) error) (os.FileInfo, error) {
	if err := f.ready(); err != nil {
		return nil, err
	}
	defer f.mu.RUnlock()
	f.used.Store(time.Now().UnixNano())
	return f.info, op(f.conn)
}

// ready opens the file at the path, if conn has none or another file. After nil it has locked mu
// for reading, and the caller must unlock it. Without this look a process would go on to write into
// a file that another process has set aside, or that somebody has deleted.
func (f *file) ready() error {
	for {
		f.mu.RLock()
		if f.closed {
			f.mu.RUnlock()
			return fs.ErrClosed
		}
		if f.conn != nil && !f.moved() {
			return nil
		}
		f.mu.RUnlock()
		f.mu.Lock()
		var err error
		if !f.closed && (f.conn == nil || f.moved()) {
			err = f.open()
		}
		f.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// moved reports whether the file at the path is another one than the file open in conn.
func (f *file) moved() bool {
	if f.access == memory {
		return false
	}
	return !sameFile(f.stat(), f.info)
}

// stat returns the file at the path. It returns nil when the file is missing, or empty: an empty
// file is no database yet.
func (f *file) stat() os.FileInfo {
	info, err := os.Stat(f.path())
	if err != nil || info.Size() == 0 {
		return nil
	}
	return info
}

func sameFile(a, b os.FileInfo) bool {
	return (a == nil) == (b == nil) && (a == nil || os.SameFile(a, b))
}

// close ends the use of the file.
func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.explain(f.disconnect())
}

// disconnect closes the connection.
func (f *file) disconnect() error {
	if f.conn == nil {
		return nil
	}
	err := f.conn.Close()
	f.conn, f.info = nil, nil
	return err
}

// poll calls try until it is done or fails. It returns errWaited when patience is over.
func (f *file) poll(try func() (done bool, err error)) error {
	deadline := time.Now().Add(f.patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if done, err := try(); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errWaited
		}
		time.Sleep(pause)
	}
}

// exclusively runs op while no other process makes, migrates or sets aside the database. The error
// is errWaited when another process does so for too long.
func (f *file) exclusively(op func() error) error {
	const flags = os.O_RDWR | os.O_CREATE
	var lock *os.File
	err := f.poll(func() (done bool, err error) {
		lock, err = statedir.OpenLocked(f.makingPath(), flags)
		if errors.Is(err, statedir.ErrLocked) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	defer lock.Close()
	return op()
}

// makingPath returns the path of exclusively's lock. The name begins with a dot, so it is the name
// of no mutex.
func (f *file) makingPath() string { return filepath.Join(f.locksDir(), ".making") }
