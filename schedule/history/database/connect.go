package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	_ "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sched/schedule/statedir"
)

// errOlder says that the file needs a migration, or is in WAL mode, as those of an earlier sched are.
var errOlder = errors.New("it was written by an older sched, and cannot be brought up to date here")

// connect opens the file and looks at its version: errOlder when it has to be mended first.
// While db is connected it holds the lock file shared, so that no process moves the database away.
func (f *File) connect() error {
	lock, err := f.takeLock(syscall.LOCK_SH)
	if err != nil {
		return err
	}
	f.readOnly = f.config.Reading || lock == nil
	var conn *sql.DB
	var version int
	if f.readOnly {
		conn, version, err = f.dialToLook()
	} else {
		conn, version, err = f.dialFile()
	}
	if err == nil {
		err = f.current(version)
	}
	if err == nil && !f.readOnly {
		err = f.setJournal(conn)
	}
	if err != nil {
		return errors.Join(err, closeAll(conn, lock))
	}
	f.conn, f.version, f.lock = conn, version, lock
	return nil
}

func (f *File) current(version int) error {
	switch known := len(f.config.Migrations); {
	case version > known:
		return &NewerError{Path: f.path(), Version: version, Known: known}
	case version < known && !(f.readOnly && f.readable(version)):
		return errOlder
	}
	return nil
}

// readable reports whether a file of that version can be read without being brought up to date.
func (f *File) readable(version int) bool {
	from := f.config.ReadableFrom
	return version >= len(f.config.Migrations) || from > 0 && version >= from
}

func (f *File) disconnect() error {
	conn, lock := f.conn, f.lock
	f.conn, f.lock, f.copied = nil, nil, ""
	return closeAll(conn, lock)
}

// closeAll drops the lock last: no process may move a file that SQLite still has open.
// (https://www.sqlite.org/howtocorrupt.html, section 2.4.)
func closeAll(conn *sql.DB, lock *os.File) error {
	var err error
	if conn != nil {
		err = conn.Close()
	}
	if lock != nil {
		err = errors.Join(err, lock.Close())
	}
	return err
}

// allSuffixes are those of the names of the files of a database (https://www.sqlite.org/tempfiles.html). Those of a log are
// beside a database of an earlier sched alone.
var allSuffixes = []string{"", "-wal", "-shm", "-journal"}

// checkPlain returns an error where one of the files of the database is something else.
func (f *File) checkPlain() error {
	for _, suffix := range allSuffixes {
		if err := statedir.CheckPlain(f.path() + suffix); err != nil {
			return fmt.Errorf("%w: %w", errNotFile, err)
		}
	}
	return nil
}

// dialFile connects for writing or, where that is not allowed, for reading only.
func (f *File) dialFile() (*sql.DB, int, error) {
	if err := f.checkPlain(); err != nil {
		return nil, 0, err
	}
	conn, version, err := dialVersion(f.dsn(f.path(), writing))
	if !refused(err) {
		return conn, version, err
	}
	f.readOnly = true
	look, version, lookErr := f.dialToLook()
	if lookErr != nil {
		return conn, 0, errors.Join(err, closeAll(look, nil))
	}
	return look, version, closeAll(conn, nil)
}

// refused reports whether SQLite may not write what it has to: the file, or a journal beside it that a killed process has left
// (https://www.sqlite.org/rescode.html#readonly_rollback).
func refused(err error) bool {
	code := primary(err)
	return code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_CANTOPEN
}

// A mode is what a connection may do.
type mode string

const (
	writing mode = "write, and create the file"
	looking mode = "read a file that others write"
	frozen  mode = "read a file as it is, without locks, and whatever lies beside it"
	copied  mode = "write a copy that nobody else knows"
)

// dsn is the address of a file.
//
// SQLite creates it with the mode of the lock file (modeof: https://www.sqlite.org/uri.html), and gives
// its journal the mode of the database. Making it here first would not do: closing a descriptor
// of our own drops the locks that SQLite has on the file (howtocorrupt.html, section 2.2).
//
// A writer waits for another one, and a reader for a commit (https://www.sqlite.org/c3ref/busy_timeout.html);
// a writer waits when the transaction begins, since one that reads first and writes later cannot
// wait. For synchronous=NORMAL see setJournal.
// The records of a thousand tasks touch some 4,000 pages, 16 MB, which are used only then. Who looks reads most pages once.
func (f *File) dsn(path string, m mode) string {
	wait := strconv.FormatInt(f.config.Patience.Milliseconds(), 10)
	q := url.Values{"_busy_timeout": {wait}, "_txlock": {"immediate"}, "_synchronous": {"NORMAL"}, "_pragma": {"cache_size(-4000)"}}
	switch m {
	case writing:
		q.Set("mode", "rwc")
		q.Set("modeof", f.lockPath())
		q.Set("_pragma", "cache_size(-16000)")
	case looking:
		q.Set("mode", "ro")
		q.Set("_query_only", "1")
	case frozen:
		q.Set("mode", "ro")
		q.Set("immutable", "1")
		q.Add("_pragma", "writable_schema(1)") // else a header that is ahead of the file is taken for damage
	case copied:
		q.Set("mode", "rw")
		q.Set("_synchronous", "OFF")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: strings.ReplaceAll(q.Encode(), "+", "%20")}
	return u.String()
}

// dial returns a pool of one connection: a second one would only wait for the first.
func dial(dsn string) (*sql.DB, error) {
	withoutDirectorySync()
	conn, err := sql.Open("sqlite", dsn)
	if err == nil {
		conn.SetMaxOpenConns(1)
	}
	return conn, err
}

func dialVersion(dsn string) (*sql.DB, int, error) {
	conn, err := dial(dsn)
	if err != nil {
		return nil, 0, err
	}
	var version int
	err = conn.QueryRowContext(context.Background(), "PRAGMA user_version").Scan(&version)
	return conn, version, err
}
