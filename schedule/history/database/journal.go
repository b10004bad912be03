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

// setJournal has the connection keep a rollback journal that is truncated at each commit. A commit
// syncs the journal, then the database (synchronous=NORMAL), then cuts the journal. A power cut may
// undo a commit whose journal was not cut on disk. But a tick removes the files of its runs later,
// and file systems keep that order: a record is in the history or in the file of its run
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

// withoutDirectorySync saves an fsync of the folder, a third of what a transaction waits for. It
// replaces a system call of SQLite (xSetSystemCall in https://www.sqlite.org/c3ref/vfs.html): a
// folder that cannot be opened is not synced (unixSync in os_unix.c).
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
