package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	sqlite3 "modernc.org/sqlite/lib"

	"sched/schedule/statedir"
)

// This file makes the database, brings it up to date, and sets a damaged one aside: by one process
// at a time.

// fileSuffixes are the endings of the names of a database's files
// (https://www.sqlite.org/tempfiles.html).
var fileSuffixes = []string{"", "-wal", "-journal", "-shm"}

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

// makingPath returns the path of exclusively's lock. The name begins with a dot, so it is the name
// of no mutex.
func (f *file) makingPath() string { return filepath.Join(f.locksDir(), ".making") }

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

// migrate runs the migrations after version, in one transaction.
func migrate(conn *sql.DB, version int) error {
	if version >= newestVersion() {
		return nil
	}
	tx, err := conn.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, migration := range migrations[max(0, version-firstVersion+1):] {
		if _, err := tx.Exec(migration); err != nil {
			return err
		}
	}
	if _, err := tx.Exec("PRAGMA user_version = " + strconv.Itoa(newestVersion())); err != nil {
		return err
	}
	return tx.Commit()
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
