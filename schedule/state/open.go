// Package state is the database of a schedule, sched.db: every table, every query, every
// transaction. It also has the locks that say which processes are alive (owners), and it refuses a
// folder that another user could change.
//
// A run is a row of the table run, from the moment at which its slot is due until it is pruned.
// There is no other form of a run: runs that wait, live or have ended, and slots that were skipped
// or missed, are rows. The phase of a row says what is going on with it (Phase), and its owner says
// which process is responsible.
//
// The types of this package divide the database by subject:
//
//	DB        opens and closes it, and begins everything else
//	Plan      is the one transaction in which a tick decides what is to be done
//	Owner     is a process that is responsible for rows, for as long as it holds the lock of a file
//	Self      is this process as an owner: it becomes one when it first has a row
//	Owned     changes rows that one owner is responsible for
//	Runs      answers questions about rows, and takes what people ask for
//	Past      adds rows up, for statistics and pictures
//	Messages  is the outbox: notifications until they were delivered
//	Pauses    are what people paused
//	Values    are single values by name, and the last valid schedule
//	Audit     is the log of what people changed: by commands, through the API and on the pages
//
// Times are microseconds since 1970 in UTC, durations are microseconds, and NULL means that there
// is no value. No other package knows SQL.
package state

import (
	"context"
	"time"
)

// Patience is how long sched waits for other processes that have the database locked.
const Patience = 10 * time.Second

// A DB is an open database. Its methods may be called from several goroutines: they take turns.
type DB struct {
	file   *file
	writes writes
}

// Open opens sched.db in the folder, which must be ours. It makes the folder (0700) and the file
// (0600) if they are missing. Each time that it has to wait for other processes, it waits no longer
// than patience.
//
//   - A damaged file is renamed (SetAside), and a new one is begun. A later call that meets damage
//     does the same.
//   - The file of a newer sched is left as it is; the error is *NewerError.
//   - An error that is Unwritable says that a tick has to do without the file: see OpenMemory.
//   - The error is *statedir.ForeignError, or another error of statedir.Check, for a folder that we
//     must not use.
func Open(dir string, patience time.Duration) (*DB, error) {
	return opened(newFile(dir, writing, patience))
}

// At returns sched.db in the folder, and opens nothing yet. The first call that needs the file
// opens it, as Open does, and returns the errors of Open.
func At(dir string, patience time.Duration) *DB {
	return &DB{file: newFile(dir, writing, patience)}
}

// OpenRead opens sched.db for reading. Nothing in the folder changes, but for the two files beside
// the database with which SQLite coordinates processes (-wal, -shm). A file that does not exist is
// an empty database. Root opens nothing in a folder that statedir.Check refuses; the error comes
// from statedir.Check.
func OpenRead(dir string, patience time.Duration) (*DB, error) {
	return opened(newFile(dir, reading, patience))
}

// OpenMemory opens an empty database that ends with this process, for a tick that cannot write to
// the file. It has the same methods. Its owners have no locks: no other process can see them.
func OpenMemory() (*DB, error) {
	return opened(&file{access: memory})
}

func opened(f *file) (*DB, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(); err != nil {
		return nil, f.explain(err)
	}
	return &DB{file: f}, nil
}

// Close closes the database. Committed changes stay.
func (db *DB) Close() error { return db.file.close() }

// CloseIfIdle closes the file until the next call needs it, if nobody has used it for at least
// idle. So the file is not open while something slow happens.
func (db *DB) CloseIfIdle(idle time.Duration) {
	if db.InMemory() || time.Since(time.Unix(0, db.file.used.Load())) < idle {
		return
	}
	db.file.mu.Lock()
	defer db.file.mu.Unlock()
	_ = db.file.disconnect() // the next call that needs the file opens it again
}

// shortenedPatience is the patience after ShortenWaits.
const shortenedPatience = 100 * time.Millisecond

// ShortenWaits makes later calls give up after shortenedPatience, because one call has waited for
// other processes in vain.
func (db *DB) ShortenWaits() {
	db.file.mu.Lock()
	defer db.file.mu.Unlock()
	if db.file.access == memory {
		return
	}
	db.file.patience = min(db.file.patience, shortenedPatience)
	_ = db.file.disconnect() // the next call that needs the file opens it again
}

// SetAside returns the path to which a damaged file was renamed; empty when no file was renamed.
func (db *DB) SetAside() string {
	db.file.mu.RLock()
	defer db.file.mu.RUnlock()
	return db.file.setAside
}

// InMemory reports whether OpenMemory opened the database.
func (db *DB) InMemory() bool { return db.file.access == memory }

// CheckPages reads every page of the file, also pages that no tick reads. Damage that it finds is
// handled like damage that a query meets. It returns nil when ctx ends it.
func (db *DB) CheckPages(ctx context.Context) error {
	err := db.read(ctx, func(q querier) error {
		var found string
		if err := q.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			return &foundDamage{found}
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
