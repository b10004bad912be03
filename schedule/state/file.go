package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	sqlite3 "modernc.org/sqlite/lib"

	"sched/schedule/statedir"
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

func (f *file) path() string { return filepath.Join(f.dir, "sched.db") }

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

func sameFile(a, b os.FileInfo) bool {
	return (a == nil) == (b == nil) && (a == nil || os.SameFile(a, b))
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
	if err := statedir.Make(f.dir); err != nil {
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

// disconnect closes the connection.
func (f *file) disconnect() error {
	if f.conn == nil {
		return nil
	}
	err := f.conn.Close()
	f.conn, f.info = nil, nil
	return err
}

// openEmpty connects to an empty database in memory.
func (f *file) openEmpty() error {
	conn, err := openSQL("file::memory:?_dqs=0")
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

// fileSuffixes are the endings of the names of a database's files
// (https://www.sqlite.org/tempfiles.html).
var fileSuffixes = []string{"", "-wal", "-journal", "-shm"}

// dial connects to the database at the path. The mode is the mode of a URI of SQLite: rw, rwc or
// ro.
func (f *file) dial(path, mode string) (openDB, error) {
	db, err := openSQL(f.dsn(path, mode))
	if err != nil {
		return openDB{}, err
	}
	db.SetMaxOpenConns(1) // a second writer would only wait for the first
	if f.access == reading {
		db.SetMaxOpenConns(MaxReaders)
		db.SetMaxIdleConns(MaxReaders)
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

// An openDB is an open database, with what the file said when it was opened.
type openDB struct {
	*sql.DB
	version int    // of the tables; 0 in a new file
	journal string // the mode of the journal: wal or another
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

// makingPath returns the path of exclusively's lock. The name begins with a dot, so it is the name
// of no mutex.
func (f *file) makingPath() string { return filepath.Join(f.locksDir(), ".making") }

// MaxReaders bounds the queries that run at the same time in a database that OpenRead opened.
const MaxReaders = 4

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

// exclusively runs op while no other process makes, migrates or sets aside the database. The error
// is errWaited when another process does so for longer than patience.
func (f *file) exclusively(op func() error) error {
	deadline := time.Now().Add(f.patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		lock, err := statedir.OpenLocked(f.makingPath(), os.O_RDWR|os.O_CREATE)
		if err == nil {
			defer lock.Close()
			return op()
		}
		if !errors.Is(err, statedir.ErrLocked) {
			return err
		}
		if time.Now().After(deadline) {
			return errWaited
		}
		time.Sleep(pause)
	}
}

// make makes the file, or brings it up to date. Another process may have done so already. The
// caller holds the lock of exclusively.
//
// A new file gets its name when it is complete, so no process ever sees an unfinished file or its
// journal. If the file is missing, a log or journal at its path is left from a file that was set
// aside or deleted. make removes them, because the new file must not meet them.
func (f *file) make() error {
	if f.stat() != nil {
		return f.upgrade()
	}
	draft := f.path() + ".new"
	for _, path := range []string{f.path(), draft} {
		for _, suffix := range fileSuffixes {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	conn, err := f.dial(draft, "rwc")
	if err != nil {
		return err
	}
	if err = f.newJournal(conn.DB); err == nil {
		err = migrate(conn.DB, 0)
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft, f.path()); err != nil {
		return err
	}
	statedir.SyncDir(f.dir)
	return nil
}

// upgrade runs the migrations that the file does not have. It takes a file that was moved to a
// network file system out of WAL mode.
func (f *file) upgrade() error {
	conn, err := f.dial(f.path(), "rw")
	if err != nil {
		return err
	}
	if err = f.checkVersion(conn.version); errors.Is(err, errNotReady) { // older: that is why we are here
		err = nil
	}
	if err == nil && conn.journal == "wal" && onNetwork(f.dir) {
		_, err = setJournal(conn.DB, "TRUNCATE")
	}
	if err == nil {
		err = migrate(conn.DB, conn.version)
	}
	return errors.Join(err, conn.Close())
}

// newJournal sets WAL mode in a new file, which keeps it. WAL needs memory that all processes
// share. On a network file system, or if SQLite refuses WAL, the journal is a file that is
// truncated at each commit.
func (f *file) newJournal(conn *sql.DB) error {
	if !onNetwork(f.dir) {
		got, err := setJournal(conn, "WAL")
		if err == nil && got == "wal" || primary(err) == sqlite3.SQLITE_FULL {
			return err
		}
	}
	_, err := setJournal(conn, "TRUNCATE")
	return err
}

// setFileAside renames a damaged file, unless another process has done so already and another file
// is at the path. Processes that have the damaged file open notice before their next transaction
// (ready). SQLite does not remove the log of the new file when they close the old one
// (SQLITE_FCNTL_HAS_MOVED).
func (f *file) setFileAside(info os.FileInfo, damage error) error {
	if info == nil {
		return damage
	}
	return f.exclusively(func() error {
		if !sameFile(f.stat(), info) {
			return nil
		}
		to := freePath(f.path() + ".damaged-" + time.Now().UTC().Format("20060102T150405Z"))
		for _, suffix := range fileSuffixes { // a log without its database means nothing (make), so the file goes first
			err := os.Rename(f.path()+suffix, to+suffix)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w, and it cannot be renamed: %w", damage, err)
			}
		}
		f.setAside = to
		return nil
	})
}

// freePath returns path, or path with a number behind it, so that nothing has the name yet. If it
// cannot find that out, the rename to the path fails with the reason.
func freePath(path string) string {
	free := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s.%d", path, n)
	}
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

// explain names the file, and says what is wrong with it.
func (f *file) explain(err error) error {
	if err == nil || isExplained(err) {
		return err
	}
	if words, ok := plain[primary(err)]; ok {
		return fmt.Errorf("%s: %s: %w", f.path(), words, err)
	}
	return fmt.Errorf("%s: %w", f.path(), err)
}

// close ends the use of the file.
func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.explain(f.disconnect())
}

// networks are the types of file systems of Linux whose files are on other machines (statfs(2)).
var networks = []int64{
	0x5346414f, // AFS
	0xff534d42, // CIFS
	0xfe534d42, // SMB 2
	0x517b,     // SMB
	0x00c36400, // Ceph
	0x01021997, // 9P
	0x6969,     // NFS
}

// onNetwork reports whether the folder is on a network file system. Only Linux tells; elsewhere WAL
// mode is always tried.
func onNetwork(dir string) bool {
	var s unix.Statfs_t
	return runtime.GOOS == "linux" && unix.Statfs(dir, &s) == nil && slices.Contains(networks, int64(uint32(s.Type)))
}

func setJournal(conn *sql.DB, mode string) (got string, err error) {
	err = conn.QueryRowContext(context.Background(), "PRAGMA journal_mode = "+mode).Scan(&got)
	return got, err
}
