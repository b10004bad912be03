package history

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

// errOlder says that the file needs a migration.
var errOlder = errors.New("it was written by an older sched, and cannot be brought up to date here")

// connect opens the file and looks at its version: errOlder when it has to be mended first.
// While db is connected it holds the lock file shared, so that no process moves the database away.
func (f *file) connect() error {
	lock, err := f.takeLock(f.lockPath(), syscall.LOCK_SH)
	if err != nil {
		return err
	}
	mode := writing
	if f.reading || lock == nil {
		mode = looking
	}
	conn, version, err := f.dialFile(mode)
	f.readOnly = f.readOnly || lock == nil
	if err == nil {
		err = f.current(version)
	}
	if err != nil {
		return errors.Join(err, closeAll(conn, lock))
	}
	f.conn, f.lock = conn, lock
	return nil
}

func (f *file) current(version int) error {
	switch known := len(f.migrations); {
	case version > known:
		return &NewerError{Path: f.path(), Version: version, Known: known}
	case version < known:
		return errOlder
	}
	return nil
}

func (f *file) disconnect() error {
	conn, lock := f.conn, f.lock
	f.conn, f.lock = nil, nil
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

// allSuffixes are those of the names of the files of a database (https://www.sqlite.org/tempfiles.html).
var allSuffixes = []string{"", "-wal", "-shm", "-journal"}

// A mode is what a connection may do.
type mode string

const (
	writing mode = "write, and create the file"
	looking mode = "read a file that others write"
	frozen  mode = "read a file that no process writes"
)

// dialFile connects for mode or, where that is not allowed, for reading only.
//
// A database in WAL mode needs to create files beside it even for reading, so the last resort is to
// promise SQLite that no process changes it (https://www.sqlite.org/wal.html#read_only_databases). The
// price is that what still waits in a log is not seen.
func (f *file) dialFile(m mode) (*sql.DB, int, error) {
	f.readOnly = false
	for _, suffix := range allSuffixes {
		if err := statedir.CheckPlain(f.path() + suffix); err != nil {
			return nil, 0, fmt.Errorf("%w: %w", errNotFile, err)
		}
	}
	conn, version, err := dialVersion(f.dsn(m))
	if code := primary(err); code != sqlite3.SQLITE_READONLY && code != sqlite3.SQLITE_CANTOPEN {
		return conn, version, err
	}
	f.readOnly = true
	still, version, stillErr := dialVersion(f.dsn(frozen))
	if stillErr != nil {
		return conn, 0, errors.Join(err, closeAll(still, nil))
	}
	return still, version, closeAll(conn, nil)
}

// dsn is the address of the file.
//
// SQLite creates it with the mode of the lock file (modeof: https://www.sqlite.org/uri.html), and gives
// the files of its log the mode of the database. Making it here first would not do: closing a descriptor
// of our own drops the locks that SQLite has on the file (howtocorrupt.html, section 2.2).
//
// A writer waits for another one (https://www.sqlite.org/c3ref/busy_timeout.html);
// it waits when the transaction begins, since one that reads first and writes later cannot
// wait (https://www.sqlite.org/rescode.html#busy_snapshot). With synchronous=FULL a record survives
// a power cut once Add has returned (https://www.sqlite.org/pragma.html#pragma_synchronous).
// The records of a thousand tasks touch some 4,000 pages, 16 MB, which are used only then.
func (f *file) dsn(m mode) string {
	wait := strconv.FormatInt(f.patience.Milliseconds(), 10)
	q := url.Values{"_busy_timeout": {wait}, "_txlock": {"immediate"}, "_synchronous": {"FULL"}, "_pragma": {"cache_size(-16000)"}}
	switch m {
	case writing:
		q.Set("mode", "rwc")
		q.Set("modeof", f.lockPath())
	case looking:
		q.Set("mode", "rw")
		q.Set("_query_only", "1")
	case frozen:
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: f.path(), RawQuery: strings.ReplaceAll(q.Encode(), "+", "%20")}
	return u.String()
}

// dial returns a pool of one connection: a second one would only wait for the first.
func dial(dsn string) (*sql.DB, error) {
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
