package state

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sched/schedule/statedir"
)

// Patience is how long sched waits for other processes that have the database locked.
const Patience = 10 * time.Second

// A DB is an open database. Its methods may be called from several goroutines: they take turns.
type DB struct {
	dir      string
	access   access
	patience time.Duration

	mu       sync.RWMutex // protects the fields below, which opening the file anew replaces
	conn     *sql.DB      // nil when the file could not be opened anew
	file     os.FileInfo  // the file that conn has; nil for memory, and when there was no file
	setAside string
	closed   bool
}

// An access says what a DB may do.
type access string

const (
	writing access = "write the file, and make it"
	looking access = "read the file, and change nothing"
	memory  access = "write to memory"
)

// Open opens sched.db in the folder, which must be ours. It makes the folder and the file where
// they are missing (0700, 0600). It waits for other processes for as long as patience says, each
// time that it has to.
//
//   - A damaged file is renamed (SetAside), and a new one is begun. That also happens later, in the call that meets the damage.
//   - The file of a newer sched is left as it is; the error is *NewerError.
//   - An error that is Unwritable says that a tick has to do without the file: see OpenMemory.
//   - The error is *statedir.ForeignError, or another one of statedir.Check, for a folder that we must not use.
func Open(dir string, patience time.Duration) (*DB, error) {
	if err := statedir.Check(dir); err != nil {
		return nil, err
	}
	return opened(&DB{dir: dir, access: writing, patience: patience})
}

// OpenRead opens sched.db for somebody who looks. Nothing in the folder changes, but for the two
// files beside the database with which SQLite coordinates processes (-wal, -shm). Root may look
// into the folders of others. A file that does not exist is an empty database.
func OpenRead(dir string, patience time.Duration) (*DB, error) {
	return opened(&DB{dir: dir, access: looking, patience: patience})
}

// OpenMemory opens an empty database that ends with this process, for a tick that cannot write to
// the file. It has the same methods. Its owners have no locks: no other process can see them.
func OpenMemory() (*DB, error) {
	return opened(&DB{access: memory})
}

func opened(db *DB) (*DB, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.open(); err != nil {
		return nil, db.explain(err)
	}
	return db, nil
}

// Close closes the database. What was committed stays.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = true
	return db.explain(db.disconnect())
}

// SetAside returns the path to which a damaged file was renamed; empty when none was.
func (db *DB) SetAside() string {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.setAside
}

// InMemory reports whether the database is one of OpenMemory.
func (db *DB) InMemory() bool { return db.access == memory }

// DataVersion returns a number that is another one after another process has changed the database
// (https://www.sqlite.org/pragma.html#pragma_data_version). It costs no look at the tables.
func (db *DB) DataVersion(ctx context.Context) (version int64, err error) {
	err = db.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
	})
	return version, err
}

// CheckPages reads every page of the file, also those that no tick reads. Damage that it finds is
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

func (db *DB) path() string     { return filepath.Join(db.dir, "sched.db") }
func (db *DB) locksDir() string { return filepath.Join(db.dir, "locks") }

// A querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// A store is where a subject reads and writes: a DB, each time in a transaction of its own, or a
// Plan, always in the plan's transaction.
type store interface {
	read(ctx context.Context, op func(querier) error) error
	write(ctx context.Context, op func(querier) error) error
}

// read runs op on the database as it is at one moment, if op asks one query.
func (db *DB) read(_ context.Context, op func(querier) error) error {
	return db.do(func(conn *sql.DB) error { return op(conn) })
}

// write runs op in a transaction. It waits for other writers when it begins, so op never has to.
func (db *DB) write(ctx context.Context, op func(querier) error) error {
	return db.do(func(conn *sql.DB) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := op(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// do runs op, and once more on a new file when the file turns out to be damaged. An op that fails
// must have changed nothing.
func (db *DB) do(op func(*sql.DB) error) error {
	file, err := db.once(op)
	if db.access == writing && damaged(err) {
		if err = db.replace(file, err); err == nil {
			_, err = db.once(op)
		}
	}
	return db.explain(err)
}

// once runs op, and returns the file that it had.
func (db *DB) once(op func(*sql.DB) error) (os.FileInfo, error) {
	if err := db.ready(); err != nil {
		return nil, err
	}
	defer db.mu.RUnlock()
	return db.file, op(db.conn)
}

// ready holds mu for reading when it returns nil, and then conn has the file that is at the path at
// this moment. Without that a process would go on to write into a file that another one has set
// aside, or that somebody has deleted.
func (db *DB) ready() error {
	for {
		db.mu.RLock()
		if db.closed {
			db.mu.RUnlock()
			return fs.ErrClosed
		}
		if db.conn != nil && !db.moved() {
			return nil
		}
		db.mu.RUnlock()
		db.mu.Lock()
		var err error
		if !db.closed && (db.conn == nil || db.moved()) {
			err = db.open()
		}
		db.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// moved reports whether another file is at the path than the one that conn has.
func (db *DB) moved() bool {
	if db.access == memory {
		return false
	}
	return !sameFile(db.stat(), db.file)
}

// stat returns the file at the path; nil when there is none, or an empty one, which is no database
// yet.
func (db *DB) stat() os.FileInfo {
	info, err := os.Stat(db.path())
	if err != nil || info.Size() == 0 {
		return nil
	}
	return info
}

func sameFile(a, b os.FileInfo) bool {
	return (a == nil) == (b == nil) && (a == nil || os.SameFile(a, b))
}

// disconnect closes the connection.
func (db *DB) disconnect() error {
	if db.conn == nil {
		return nil
	}
	err := db.conn.Close()
	db.conn, db.file = nil, nil
	return err
}

// poll calls try until it is done or fails. It returns errWaited when patience is over.
func (db *DB) poll(try func() (done bool, err error)) error {
	deadline := time.Now().Add(db.patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if done, err := try(); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errWaited
		}
		time.Sleep(pause)
	}
}

// alone runs op while no other process makes, migrates or sets aside the database.
func (db *DB) alone(op func() error) error {
	const flags = os.O_RDWR | os.O_CREATE
	var lock *os.File
	err := db.poll(func() (done bool, err error) {
		lock, err = statedir.OpenLocked(db.makingPath(), flags)
		if errors.Is(err, statedir.ErrLocked) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	defer lock.Close()
	return op()
}

// makingPath begins with a dot: no mutex has such a file.
func (db *DB) makingPath() string { return filepath.Join(db.locksDir(), ".making") }
