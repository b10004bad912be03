package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"sched/schedule/statedir"
)

// mend makes the file one that db can use, runs op on it, and stays connected.
//
// One process mends at a time, and each first checks whether the one before has mended what it
// found. No other process may have the file open meanwhile: it would go on writing to a file that has been
// moved away. Processes that wait to mend have closed it, so only those are waited for that met no
// damage.
func (db *DB) mend(op func(*sql.DB) error) error {
	alone, err := db.takeLock(db.path()+"-mend", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	if alone == nil {
		return fmt.Errorf("it has to be mended, in a folder that cannot be written: %w", fs.ErrPermission)
	}
	defer alone.Close()
	var found error
	err = db.poll(func() (bool, error) {
		if found = db.use(op); !db.mendable(found) {
			return true, found
		}
		return db.tryMend(op)
	})
	if errors.Is(err, errWaited) {
		return fmt.Errorf("%w, and another process keeps it open", found)
	}
	return err
}

// tryMend mends unless another process has the file open, and reports whether it did.
func (db *DB) tryMend(op func(*sql.DB) error) (bool, error) {
	alone, err := statedir.OpenPlain(db.lockPath(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return false, err
	}
	if locked, err := flock(alone, syscall.LOCK_EX); !locked {
		return false, errors.Join(err, alone.Close())
	}
	err = db.useAlone(op)
	if IsCorrupt(err) && !db.reading {
		if err = db.moveAside(time.Now()); err == nil {
			err = db.useAlone(op)
		}
	}
	err = errors.Join(err, alone.Close())
	if again := db.use(nil); err == nil {
		err = again
	}
	return true, err
}

// useAlone opens the file, brings it up to date, runs op, and closes it.
func (db *DB) useAlone(op func(*sql.DB) error) error {
	conn, version, err := db.dialFile(writing)
	if err == nil && version > len(db.migrations) {
		err = db.current(version)
	}
	if err == nil {
		err = upgrade(context.Background(), conn, version, db.migrations)
	}
	if err == nil && op != nil {
		err = op(conn)
	}
	return errors.Join(err, closeAll(conn, nil))
}

// exists reports whether there is anything at path, be it a link to nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// moveAside renames the file and its log to history.db.corrupt-<UTC time>, where `sqlite3 FILE .recover`
// finds them. A death between two renames is harmless: SQLite ignores a log without its database.
func (db *DB) moveAside(now time.Time) error {
	to := db.path() + ".corrupt-" + now.UTC().Format("20060102T150405Z")
	for n := 2; exists(to); n++ {
		to = fmt.Sprintf("%s.corrupt-%s.%d", db.path(), now.UTC().Format("20060102T150405Z"), n)
	}
	for _, suffix := range allSuffixes {
		err := os.Rename(db.path()+suffix, to+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a damaged history cannot be moved aside: %w", err)
		}
	}
	db.setAside = to
	return nil
}
