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
)

// mend makes the file one that db can use, runs op on it, and stays connected.
//
// Those who have to mend take turns, and each first looks whether the one before has mended what it
// found. To mend, nobody else may have the file open: a reader with an older view of it would
// write to a file that has been moved away. Who waits for a turn has it closed, so only those are
// waited for who met no damage.
func (db *DB) mend(op func(*sql.DB) error) error {
	turn, err := db.takeLock(db.path()+"-mend", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	if turn == nil {
		return fmt.Errorf("it has to be mended, in a folder that cannot be written: %w", fs.ErrPermission)
	}
	defer turn.Close()
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

// tryMend mends when nobody has the file open, and reports whether it was so.
func (db *DB) tryMend(op func(*sql.DB) error) (bool, error) {
	alone, err := os.OpenFile(db.lockPath(), os.O_RDWR|os.O_CREATE, 0o600)
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
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(db.path()+suffix, to+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a damaged history cannot be moved aside: %w", err)
		}
	}
	db.setAside = to
	return nil
}

func (db *DB) lockPath() string { return db.path() + "-lock" }

// takeLock waits for a lock file: shared by those who have the database open, alone by the one who
// mends it. It returns nil where the folder cannot be written: nothing is mended there either.
func (db *DB) takeLock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := db.poll(func() (bool, error) { return flock(f, how) }); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, nil
}

// flock tries once, and reports whether it has the lock, which the kernel drops with its holder: flock(2).
func flock(f *os.File, how int) (bool, error) {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// errWaited says that patience has run out.
var errWaited = errors.New("another process kept it locked for too long")

// poll calls try until it is done or fails, and gives up with errWaited.
func (db *DB) poll(try func() (bool, error)) error {
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
