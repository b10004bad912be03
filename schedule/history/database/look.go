package database

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sched/schedule/statedir"
)

// dialToLook connects for reading only. It creates nothing beside the file, whoever we are, and changes nothing: a file that
// others write is read between two of their commits. One that SQLite would have to change first is read in a copy.
func (f *File) dialToLook() (*sql.DB, int, error) {
	if err := f.checkPlain(); err != nil {
		return nil, 0, err
	}
	conn, version, err := dialVersion(f.dsn(f.path(), looking))
	if !refused(err) && (err != nil || version > 0) {
		return conn, version, err
	}
	if err := closeAll(conn, nil); err != nil {
		return nil, 0, err
	}
	return f.dialCopy()
}

// dialCopy connects to a copy, in which SQLite may roll back the hot journal of a killed process.
// The copy has no name any more when it is read, so nothing of it stays behind.
func (f *File) dialCopy() (*sql.DB, int, error) {
	dir, err := os.MkdirTemp("", "sched-history-")
	if err != nil {
		return nil, 0, notRead(err)
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, filepath.Base(f.path()))
	if f.copied, err = f.copyTo(to); err != nil {
		return nil, 0, notRead(err)
	}
	conn, version, err := dialVersion(f.dsn(to, copied))
	if err == nil && version == 0 { // the process was killed while it made the tables
		err = f.makeTables(conn)
		version = f.config.Version
	}
	if err == nil {
		_, err = conn.Exec("PRAGMA query_only = ON")
	}
	return conn, version, err
}

func notRead(err error) error {
	return fmt.Errorf("it can be read after the next tick that records something: a process was killed while it wrote, "+
		"and it cannot be copied: %w", err)
}

// writers is held shared by each file of this process that was opened for writing, and alone by one that copies: closing a descriptor of our own
// would drop the locks that SQLite has for the others (howtocorrupt.html, section 2.2).
var writers sync.RWMutex

// copyTo copies the file and what lies beside it as they are at one moment: it tries again when
// they change meanwhile. It returns their state.
func (f *File) copyTo(to string) (state string, err error) {
	if f.holds { // it turned out that it cannot be written
		f.release()
		defer f.hold()
	}
	err = f.poll(func() (bool, error) {
		if !writers.TryLock() {
			return false, nil
		}
		defer writers.Unlock()
		state = f.state()
		for _, suffix := range allSuffixes {
			if err := copyFile(to+suffix, f.path()+suffix); err != nil {
				return false, err
			}
		}
		return state == f.state(), nil
	})
	return state, err
}

// copyFile leaves no file at to where there is none at from.
func copyFile(to, from string) error {
	source, err := statedir.OpenPlain(from, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.Remove(to); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// state is another text after the file or its journal was written.
func (f *File) state() string {
	var b strings.Builder
	for _, suffix := range allSuffixes {
		if info, err := os.Stat(f.path() + suffix); err == nil {
			fmt.Fprintf(&b, "%d %s\n", info.Size(), info.ModTime().Format(time.RFC3339Nano))
		} else {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// outdated reports whether the connection shows what was there before others wrote.
func (f *File) outdated() bool { return f.copied != "" && f.copied != f.state() }

// isHot reports whether a reader was refused since a process was killed while it wrote.
func isHot(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK
}
