package state

import (
	"errors"
	"fmt"
	"strings"

	"sched/schedule/outcome"
	"sched/schedule/statedir"

	"modernc.org/sqlite" // also the driver
	sqlite3 "modernc.org/sqlite/lib"
)

// A NewerError says that a newer sched wrote the database. It is left as it is.
type NewerError struct {
	Path    string
	Version int // of its tables
	Known   int // the newest version that this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer sched (version %d of its tables; this one knows %d)",
		e.Path, e.Version, e.Known)
}

// An olderError says that the database has to be brought up to date, but is open for reading alone.
type olderError struct{ path string }

func (e *olderError) Error() string {
	return e.path + " was written by an older sched; the next tick brings it up to date"
}

// A StaleError says that a row is not as its caller believed: another process has changed it.
// Nothing was changed.
type StaleError struct {
	Run   string
	Phase Phase // that it has now
	Owner int64 // that it has now; 0: nobody
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("run %s is not ours to change: it is %s, and its owner is %d", e.Run, e.Phase, e.Owner)
}

// IsStale reports whether err says that another process has changed a row.
func IsStale(err error) bool { return errors.As(err, new(*StaleError)) }

// ErrGone says that the database has no such row any more: it was set aside because it was damaged,
// or somebody deleted it. Owned.Restore adds the row again.
var ErrGone = errors.New("its row is not in the database any more")

// errWaited says that the patience of Open has run out.
var errWaited = errors.New("another process kept it locked for too long")

// foundDamage is what CheckPages found.
type foundDamage struct{ what string }

func (e *foundDamage) Error() string {
	return "it is damaged: " + strings.ReplaceAll(e.what, "\n", " ")
}

// Damaged reports whether err says that the file is damaged, or no database at all. Locked, full or
// unreadable files are not damaged. https://www.sqlite.org/rescode.html lists the codes.
func Damaged(err error) bool {
	code := primary(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || errors.As(err, new(*foundDamage))
}

// Locked reports whether err says that another process kept the database locked for too long.
func Locked(err error) bool {
	return primary(err) == sqlite3.SQLITE_BUSY || errors.Is(err, errWaited)
}

// Unwritable reports whether err says that the database cannot be written at this moment: the disk
// is full or read-only, the folder is not ours, or another process kept the database locked. A tick
// then works with OpenMemory.
func Unwritable(err error) bool {
	switch primary(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS:
		return true
	}
	return errors.Is(err, errWaited) || errors.As(err, new(*statedir.NotPlainError)) || statedir.Unwritable(err)
}

// primary returns the primary result code of SQLite in err; 0 when err has no such code.
func primary(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// plain says in words what the codes of SQLite mean to the owner of the file.
var plain = map[int]string{
	sqlite3.SQLITE_BUSY:     "another process kept it locked for too long",
	sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
	sqlite3.SQLITE_CORRUPT:  "it is damaged",
	sqlite3.SQLITE_FULL:     "there is no room left for it",
	sqlite3.SQLITE_IOERR:    "the disk failed",
	sqlite3.SQLITE_NOTADB:   "it is not a database",
	sqlite3.SQLITE_READONLY: "it cannot be written",
}

// isExplained reports whether the words of err are about a run, or name the file already.
func isExplained(err error) bool {
	for _, explained := range []any{new(*NewerError), new(*olderError), new(*StaleError), new(*OverError)} {
		if errors.As(err, explained) {
			return true
		}
	}
	return errors.Is(err, ErrGone)
}

// An OverError says that a run has ended.
type OverError struct {
	Run     string
	Outcome outcome.Outcome
}

func (e *OverError) Error() string {
	return fmt.Sprintf("run %s has ended: it %s", e.Run, e.Outcome.Verb())
}

// ErrNotFound says that no run has that id.
var ErrNotFound = errors.New("no such run")
