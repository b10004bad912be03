package state

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver
	sqlite3 "modernc.org/sqlite/lib"

	"sched/schedule/statedir"
)

// open connects to the file, or to memory. The caller holds mu.
//
//  1. A file that is ready is opened, and that is all.
//  2. A file that is missing, empty or old is made or brought up to date, by one process at a time.
//  3. A damaged file is renamed, and a new one is made.
func (f *file) open() error {
	if err := f.disconnect(); err != nil && !Damaged(err) {
		return err
	}
	switch f.access {
	case memory:
		return f.openEmpty()
	case reading:
		return f.openForReading()
	}
	if err := statedir.Check(f.dir); err != nil {
		return err
	}
	if err := statedir.MakeDir(f.locksDir()); err != nil {
		return err
	}
	if err := checkPlain(f.path()); err != nil {
		return err
	}
	info := f.stat() // the file that connect may find damaged: only that one is set aside
	err := f.connect()
	if errors.Is(err, errNotReady) {
		if err = f.exclusively(f.make); err == nil {
			info = f.stat()
			err = f.connect()
		}
	}
	if !Damaged(err) {
		return err
	}
	if err := f.setFileAside(info, err); err != nil {
		return err
	}
	if err := f.exclusively(f.make); err != nil {
		return err
	}
	return f.connect()
}

// errNotReady says that the file has to be made, or brought up to date.
var errNotReady = errors.New("it has to be made, or brought up to date")

// connect opens the file when it is ready.
func (f *file) connect() error {
	info := f.stat()
	if info == nil {
		return errNotReady
	}
	conn, err := f.dialChecked()
	if !sameFile(f.stat(), info) { // another process set the file aside meanwhile, so our result means nothing
		if err == nil {
			conn.Close()
		}
		return errNotReady
	}
	if err == nil {
		f.conn, f.info, f.opened = conn, info, true
	}
	return err
}

// dialChecked connects to the file if it has the tables of this version and a journal that works on
// its file system.
func (f *file) dialChecked() (*sql.DB, error) {
	conn, err := f.dial(f.path(), "rw")
	if err != nil {
		return nil, err
	}
	err = f.checkVersion(conn.version)
	switch {
	case err != nil:
	case conn.journal != "wal":
		_, err = setJournal(conn.DB, "TRUNCATE")
	case onNetwork(f.dir): // a WAL does not work there: make changes the journal
		err = errNotReady
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn.DB, nil
}

// checkVersion compares the version of a file with ours. A newer version is refused, unless a newer
// sched brought the file up to date while this process was using it: its runs must end.
func (f *file) checkVersion(version int) error {
	switch known := newestVersion(); {
	case version > known && !f.opened:
		return &NewerError{Path: f.path(), Version: version, Known: known}
	case version < known:
		return errNotReady
	}
	return nil
}

// checkPlain refuses files that are no plain files, such as a named pipe, for which SQLite would
// wait for ever.
func checkPlain(path string) error {
	for _, suffix := range fileSuffixes {
		if err := statedir.CheckPlain(path + suffix); err != nil {
			return err
		}
	}
	return nil
}

// openEmpty connects to an empty database in memory.
func (f *file) openEmpty() error {
	conn, err := sql.Open("sqlite", "file::memory:?_dqs=0")
	if err != nil {
		return err
	}
	conn.SetMaxOpenConns(1) // another connection would have another database
	conn.SetConnMaxLifetime(0)
	err = migrate(conn, 0)
	if err == nil && f.access == reading {
		_, err = conn.Exec("PRAGMA query_only = ON")
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	f.conn, f.info = conn, nil
	return nil
}

// openForReading opens the file in a way that leaves the folder as it is:
//   - When the log (-wal) is there, it is opened for reading alone: a process has the database
//     open, or was killed.
//   - When the log is not there and the folder is ours, SQLite makes the log for us and removes it
//     when we close.
//   - If SQLite can make no log, as on a full or read-only disk, nobody writes: the file is read as
//     it is.
//
// Root opens nothing in a folder that statedir.Check refuses: SQLite makes its log by path, and
// gives the log to the owner of the database. So another user could have a file made in any folder.
func (f *file) openForReading() error {
	notOurs := statedir.Check(f.dir)
	if notOurs != nil && os.Geteuid() == 0 {
		return notOurs
	}
	if err := checkPlain(f.path()); err != nil {
		return err
	}
	info := f.stat()
	if info == nil {
		return f.openEmpty()
	}
	mode := "rw"
	if _, err := os.Lstat(f.path() + "-wal"); err == nil || notOurs != nil {
		mode = "ro"
	}
	conn, err := f.dial(f.path(), mode)
	if err != nil && !sameFile(f.stat(), info) { // a process set the file aside meanwhile
		return f.openForReading()
	}
	switch primary(err) {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		conn, err = f.dial(f.path(), "ro&immutable=1")
	}
	if err != nil {
		return err
	}
	err = f.checkVersion(conn.version)
	if errors.Is(err, errNotReady) {
		err = &olderError{f.path()}
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	f.conn, f.info = conn.DB, info
	return nil
}

// maxReaders bounds the queries that run at the same time in a database that OpenRead opened.
const maxReaders = 4

// An openDB is an open database, with what the file said when it was opened.
type openDB struct {
	*sql.DB
	version int    // of the tables; 0 in a new file
	journal string // the mode of the journal: wal or another
}

// dial connects to the database at the path. The mode is the mode of a URI of SQLite: rw, rwc or
// ro.
func (f *file) dial(path, mode string) (openDB, error) {
	db, err := sql.Open("sqlite", f.dsn(path, mode))
	if err != nil {
		return openDB{}, err
	}
	db.SetMaxOpenConns(1) // a second writer would only wait for the first
	if f.access == reading {
		db.SetMaxOpenConns(maxReaders)
		db.SetMaxIdleConns(maxReaders)
	}
	conn := openDB{DB: db}
	err = db.QueryRow("PRAGMA user_version").Scan(&conn.version)
	if err == nil {
		err = db.QueryRow("PRAGMA journal_mode").Scan(&conn.journal)
	}
	if err != nil {
		return openDB{}, errors.Join(err, db.Close())
	}
	return conn, nil
}

// dsn is the address of the file. SQLite gives a new file the permissions 0600, and its log the
// permissions of the file. We never open the file ourselves: closing a descriptor of our own would
// drop the locks that SQLite has on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
//
// A writer waits when its transaction begins (_txlock): a transaction that reads first and writes
// later could not wait. With synchronous=NORMAL a power cut may undo the last commits. It undoes
// nothing older, and damages nothing.
func (f *file) dsn(path, mode string) string {
	q := url.Values{
		"_busy_timeout": {strconv.FormatInt(f.patience.Milliseconds(), 10)},
		"_txlock":       {"immediate"},
		"_synchronous":  {"NORMAL"},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
		"_pragma":       {"temp_store(MEMORY)"},
	}
	if f.access == writing {
		q.Add("_pragma", "cache_size(-16000)") // KiB: a reader would only fill it with rows that it reads once
	}
	if f.access == reading {
		q.Set("_query_only", "1")
	}
	if mode == "rwc" {
		q.Set("modeof", f.makingPath())
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	return u.String() + "?mode=" + mode + "&" + strings.ReplaceAll(q.Encode(), "+", "%20")
}
