package state

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// A file is sched.db, however it is opened. It has whatever is at its path: when another process
// has set the file aside, or somebody has deleted it, the next call opens the path anew.
type file struct {
	dir      string
	access   access
	patience time.Duration

	mu       sync.RWMutex // protects conn to closed, which opening the file anew replaces
	conn     *sql.DB      // nil when the file could not be opened anew
	info     os.FileInfo  // the file open in conn; nil for memory, and when there was no file
	setAside string
	closed   bool
	opened   bool         // conn had it open, so its version suits this process (checkVersion)
	used     atomic.Int64 // when a call began last, in nanoseconds since 1970
}

// An access says what may be done with a file.
type access int

const (
	writing access = iota // write the file, and make it
	reading               // read the file, and change nothing
	memory                // write to memory
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
		_ = f.disconnect() // the next call opens the file again
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

// replace sets a damaged file aside and begins a new one. The caller met the damage in info.
func (f *file) replace(info os.FileInfo, damage error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || !sameFile(f.info, info) {
		return nil // another goroutine has done it
	}
	_ = f.disconnect()
	if err := f.setFileAside(info, damage); err != nil {
		return err
	}
	return f.open()
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
