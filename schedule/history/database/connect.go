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

// errEmpty says that the file has no tables, in a folder that cannot be written.
var errEmpty = errors.New("it has no tables, and cannot be given them here")

// connect opens the file, and gives a new one its tables.
// While f is connected it holds the lock file shared, so that no process moves the database away.
func (f *File) connect() error {
	lock, err := f.takeLock(syscall.LOCK_SH)
	if err != nil {
		return err
	}
	f.readOnly = f.config.Reading || lock == nil
	conn, err := f.dialReady()
	if err != nil {
		return errors.Join(err, closeAll(conn, lock))
	}
	f.conn, f.lock = conn, lock
	return nil
}

// dialReady connects to the file, with its tables. It may return a connection with an error.
func (f *File) dialReady() (conn *sql.DB, err error) {
	var version int
	if f.readOnly {
		conn, version, err = f.dialToLook()
	} else {
		conn, version, err = f.dialFile()
	}
	switch {
	case err != nil:
		return conn, err
	case version > f.config.Version:
		return conn, &NewerError{Path: f.path(), Version: version, Known: f.config.Version}
	case f.readOnly && version == 0:
		return conn, errEmpty
	case f.readOnly:
		return conn, nil
	}
	err = f.setJournal(conn)
	if err == nil && version == 0 {
		err = f.makeTables(conn)
		statedir.SyncDir(f.config.Dir) // the file may be new
	}
	return conn, err
}

// makeTables makes the tables, unless another process has made them since.
func (f *File) makeTables(conn *sql.DB) error {
	tx, err := conn.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != 0 {
		return err
	}
	if _, err := tx.Exec(fmt.Sprintf("%s; PRAGMA user_version = %d", f.config.Tables, f.config.Version)); err != nil {
		return err
	}
	return tx.Commit()
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

// allSuffixes end the names of the files of a database (https://www.sqlite.org/tempfiles.html).
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

type mode string

const (
	writing mode = "write, and create the file"
	looking mode = "read a file that others write"
	copied  mode = "write a copy that nobody else knows"
)

// dsn is the address of a file. SQLite creates it with the mode of the lock file (modeof:
// https://www.sqlite.org/uri.html). We do not create it: to close our descriptor would drop the
// locks of SQLite (howtocorrupt.html, section 2.2). A writer waits when its transaction begins,
// because one that reads first cannot wait (https://www.sqlite.org/c3ref/busy_timeout.html). For
// synchronous=NORMAL see setJournal. The cache of 16 MB holds the pages that records of a thousand
// tasks touch; readers need less.
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
