package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"sched/schedule/statedir"
)

func (f *File) journalPath() string { return f.path() + "-journal" }

// setJournal has the connection keep a rollback journal that is truncated at each commit.
//
// A commit has the journal written to disk, then the database (synchronous=NORMAL), and then cuts the journal. A power cut
// at any moment leaves the transaction done or undone: it may undo one that was committed, where the cut had not come to
// disk. But a tick removes the files of its runs after that, and file systems with a journal of their own keep the order
// of such changes: the record is in the history or in the file of its run
// (docs/decisions.md#two-fsyncs-a-transaction).
func (f *File) setJournal(conn *sql.DB) error {
	if err := f.makeJournal(); err != nil {
		return err
	}
	mode := ""
	err := conn.QueryRowContext(context.Background(), "PRAGMA journal_mode = TRUNCATE").Scan(&mode)
	if err == nil && mode != "truncate" {
		err = errors.New("its journal cannot be set up: it stays " + mode)
	}
	return err
}

// makeJournal makes the journal where it is missing, and has its name written to disk: nothing else does (see
// withoutDirectorySync). An empty journal means nothing to SQLite.
func (f *File) makeJournal() error {
	file, err := os.OpenFile(f.journalPath(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	statedir.SyncDir(f.config.Dir)
	return file.Close()
}

// withoutDirectorySync keeps SQLite from an fsync of the folder in each transaction. It cannot know that the journal was
// there before, so it would write its name to disk each time: a third of what a transaction waits for.
//
// The system calls of SQLite can be replaced (xSetSystemCall in https://www.sqlite.org/c3ref/vfs.html), and a folder that
// cannot be opened is not synced (unixSync in os_unix.c).
var withoutDirectorySync = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	name, err := libc.CString("openDirectory")
	if err != nil {
		return
	}
	defer libc.Xfree(tls, name)
	address := sqlite3.Xsqlite3_vfs_find(tls, 0)
	vfs := *(**sqlite3.Tsqlite3_vfs)(unsafe.Pointer(&address))
	if vfs == nil || vfs.FxSetSystemCall == 0 {
		return
	}
	set := *(*func(tls *libc.TLS, vfs, name, call uintptr) int32)(unsafe.Pointer(&struct{ call uintptr }{vfs.FxSetSystemCall}))
	set(tls, address, name, *(*uintptr)(unsafe.Pointer(&struct {
		call func(*libc.TLS, uintptr, uintptr) int32
	}{openNoDirectory})))
})

func openNoDirectory(*libc.TLS, uintptr, uintptr) int32 { return sqlite3.SQLITE_CANTOPEN }
