package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"sched/schedule/statedir"
)

// mend makes the file one that db can use, runs op on it, and stays connected. One process mends at
// a time, and first checks whether another has mended. No other process may have the file open: it
// would go on writing to a file that was moved away. Processes that wait to mend have closed it.
func (f *File) mend(op func(*sql.DB) error) error {
	alone, err := f.takeLockAt(f.path()+"-mend", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	if alone == nil {
		return fmt.Errorf("it has to be mended, in a folder that cannot be written: %w", fs.ErrPermission)
	}
	defer alone.Close()
	var found error
	err = f.poll(func() (bool, error) {
		if found = f.use(op); !f.mendable(found) {
			return true, found
		}
		return f.tryMend(op)
	})
	if errors.Is(err, errWaited) {
		return fmt.Errorf("%w, and another process keeps it open", found)
	}
	return err
}

// tryMend mends unless another process has the file open, and reports whether it did.
func (f *File) tryMend(op func(*sql.DB) error) (bool, error) {
	alone, err := statedir.OpenPlain(f.lockPath(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return false, err
	}
	if locked, err := flock(alone, syscall.LOCK_EX); !locked {
		return false, errors.Join(err, alone.Close())
	}
	err = f.useAlone(op)
	if IsCorrupt(err) {
		if err = f.moveAside(time.Now()); err == nil {
			err = f.useAlone(op)
		}
	}
	err = errors.Join(err, alone.Close())
	if again := f.use(nil); err == nil {
		err = again
	}
	return true, err
}

func (f *File) useAlone(op func(*sql.DB) error) error {
	conn, err := f.dialReady()
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

// moveAside renames the file and its journal to history.db.corrupt-<UTC time>, where `sqlite3 FILE .recover`
// finds them. A death between two renames is harmless: SQLite ignores a journal without its database.
func (f *File) moveAside(now time.Time) error {
	to := f.path() + ".corrupt-" + now.UTC().Format("20060102T150405Z")
	for n := 2; exists(to); n++ {
		to = fmt.Sprintf("%s.corrupt-%s.%d", f.path(), now.UTC().Format("20060102T150405Z"), n)
	}
	if info, err := os.Lstat(f.journalPath()); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		os.Remove(f.journalPath()) // it says nothing about the file
	}
	for _, suffix := range allSuffixes {
		err := os.Rename(f.path()+suffix, to+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a damaged history cannot be moved aside: %w", err)
		}
	}
	f.setAside = to
	return nil
}

// CheckPages reads every page of the file, also those that no tick ever reads, and does with damage there what Do does with damage
// that it meets. When ctx is done it has found nothing (https://www.sqlite.org/pragma.html#pragma_quick_check).
func (f *File) CheckPages(ctx context.Context) error {
	err := f.Do(func(conn *sql.DB) error {
		var found string
		if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			return damagedError(strings.ReplaceAll(found, "\n", " "))
		}
		return nil
	})
	if errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
