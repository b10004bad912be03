package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/statedir"
)

// An OwnerKind says what kind of process an owner is.
type OwnerKind string

const (
	Tick       OwnerKind = "tick"
	Supervisor OwnerKind = "supervisor"
	Finish     OwnerKind = "finish"
)

// An Owner is a process that is responsible for rows: Enroll. It lives for as long as any process
// has the descriptor of its file (flock(2)), which the kernel closes when a process dies. No owner
// comes back to life, and no two have one id.
type Owner struct {
	ID   int64
	Kind OwnerKind
	path string
	file *os.File // at path, locked; nil for an owner of a database in memory
}

// ownerTries bounds the ids that NewOwner tries.
const ownerTries = 1000

// NewOwner makes an owner, and locks its file. It comes before the first row that the owner has.
//
// A process that finds the new file before it is locked may lock it and remove it
// (RemoveStaleLocks). Then the next id is tried.
func (db *DB) NewOwner(kind OwnerKind) (*Owner, error) {
	id := time.Now().UnixMicro()
	if db.file.access == memory {
		return &Owner{ID: id, Kind: kind}, nil
	}
	if err := db.file.ready(); err != nil { // the folder of the locks is made with the database
		return nil, db.file.explain(err)
	}
	db.file.mu.RUnlock()
	for range ownerTries {
		file, err := statedir.Open(db.ownerPath(id), os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if err == nil {
			if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && statedir.IsAt(file, db.ownerPath(id)) {
				return &Owner{ID: id, Kind: kind, path: db.ownerPath(id), file: file}, nil
			}
			file.Close()
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		id++
	}
	return nil, fmt.Errorf("%s: no lock for this process can be had", db.file.locksDir())
}

// InheritOwner returns an owner that another process has made, and whose descriptor this process
// has from it (Files).
func (db *DB) InheritOwner(id int64, kind OwnerKind, file *os.File) *Owner {
	unix.CloseOnExec(int(file.Fd()))
	return &Owner{ID: id, Kind: kind, path: db.ownerPath(id), file: file}
}

// Files returns what another process has to inherit to be the owner, too; nothing for a database in
// memory.
func (o *Owner) Files() []*os.File {
	if o.file == nil {
		return nil
	}
	return []*os.File{o.file}
}

// Close ends the part of this process. The owner lives on in the processes that inherited it.
func (o *Owner) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// Release ends the owner, which must have no rows any more, and removes its file. Without it a
// later tick does that.
func (o *Owner) Release() error {
	if o.file == nil {
		return nil
	}
	return errors.Join(os.Remove(o.path), o.file.Close())
}

// Alive reports whether the owner lives. When nobody can tell, as when this process can open no
// more files, it is true: a row that somebody has is never taken.
func (db *DB) Alive(id int64) bool {
	if db.file.access == memory {
		return true
	}
	file, err := statedir.OpenPlain(db.ownerPath(id), os.O_RDONLY)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// ownerPrefix begins the names of the files of owners.
const ownerPrefix = "owner-"

func (db *DB) ownerPath(id int64) string {
	return filepath.Join(db.file.locksDir(), ownerPrefix+strconv.FormatInt(id, 10))
}

// Enroll writes down the owner, and returns what it may do with its rows.
func (db *DB) Enroll(ctx context.Context, o *Owner) (Owned, error) { return enroll(ctx, db, o) }

// OwnedBy returns what an owner may do with its rows that is enrolled already.
func (db *DB) OwnedBy(o *Owner) Owned { return Owned{db, o.ID} }

func enroll(ctx context.Context, s store, o *Owner) (Owned, error) {
	err := s.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, "INSERT INTO owner (id, kind, pid, since) VALUES (?, ?, ?, ?)",
			o.ID, string(o.Kind), os.Getpid(), time.Now().UnixMicro())
		return err
	})
	return Owned{s, o.ID}, err
}

// deadOwners returns the enrolled owners that do not live.
func (db *DB) deadOwners(ctx context.Context, q querier) (dead []int64, err error) {
	rows, err := q.QueryContext(ctx, "SELECT id FROM owner")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		if !db.Alive(id) {
			dead = append(dead, id)
		}
	}
	return dead, rows.Err()
}

// RemoveStaleLocks removes the files of owners that died before they were enrolled, or after nobody
// knew them any more. Once a day is enough.
func (db *DB) RemoveStaleLocks(ctx context.Context) error {
	if db.file.access != writing {
		return nil
	}
	entries, err := os.ReadDir(db.file.locksDir())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, ok := strings.CutPrefix(entry.Name(), ownerPrefix)
		id, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			continue
		}
		known := false
		err = db.read(ctx, func(q querier) error {
			return q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM owner WHERE id = ?)", id).Scan(&known)
		})
		if err != nil {
			return err
		}
		if known {
			continue
		}
		if file, err := statedir.OpenLocked(db.ownerPath(id), os.O_RDWR); err == nil {
			os.Remove(db.ownerPath(id))
			file.Close()
		}
	}
	return nil
}
