package database

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A NewerError says that the file was written by a newer sched. The file is left untouched.
type NewerError struct {
	Path    string
	Version int // of the file
	Known   int // the newest this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("history: %s was written by a newer sched (version %d of its tables; this one knows %d)",
		e.Path, e.Version, e.Known)
}

// errNotFile says that the place of one of the files of the database is taken by a folder, a device, a named pipe.
var errNotFile = errors.New("it is no database")

// A damagedError is what CheckPages found.
type damagedError string

func (e damagedError) Error() string { return "it is damaged: " + string(e) }

var errClosed = errors.New("it is closed")

// IsCorrupt reports whether err says that the file is damaged or no database, not that it is
// locked, full or unreadable: https://www.sqlite.org/rescode.html.
func IsCorrupt(err error) bool {
	code, damaged := primary(err), damagedError("")
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || errors.Is(err, errNotFile) || errors.As(err, &damaged)
}

// IsLocked reports whether err says that another process kept the file locked for too long.
func IsLocked(err error) bool {
	return primary(err) == sqlite3.SQLITE_BUSY || errors.Is(err, errWaited)
}

// primary is the primary result code of SQLite in err, 0 when there is none.
func primary(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

var plain = map[int]string{
	sqlite3.SQLITE_BUSY:     "another process kept it locked for too long",
	sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
	sqlite3.SQLITE_CORRUPT:  "it is damaged",
	sqlite3.SQLITE_FULL:     "there is no room left for it",
	sqlite3.SQLITE_IOERR:    "the disk failed",
	sqlite3.SQLITE_NOTADB:   "it is not a database",
	sqlite3.SQLITE_READONLY: "it cannot be written",
}

// explain names the file.
func (f *File) explain(err error) error {
	var newer *NewerError
	if err == nil || errors.As(err, &newer) {
		return err
	}
	if words, ok := plain[primary(err)]; ok {
		return fmt.Errorf("history: %s: %s: %w", f.path(), words, err)
	}
	return fmt.Errorf("history: %s: %w", f.path(), err)
}
