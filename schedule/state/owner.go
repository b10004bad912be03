package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// An Owner is a process that is responsible for rows (Owners.Enroll) or for messages (Owners.New).
// It lives for as long as any process has the descriptor of its file (flock(2)). The kernel closes
// the descriptor when a process dies. No owner comes back to life, and no two owners have the same
// id.
type Owner struct {
	ID   int64
	Kind OwnerKind
	path string
	file *os.File // at path, locked; nil for an owner of a database in memory
}

// ownerTries bounds the ids that Owners.New tries.
const ownerTries = 1000

// Owners are the processes that are responsible for rows.
type Owners struct{ db *DB }

// Owners returns the owners of the rows of this database.
func (db *DB) Owners() Owners { return Owners{db} }

// New makes an owner, and locks its file.
//
// A process that finds the new file before it is locked may lock it and remove it
// (Owners.RemoveStale). New then tries the next id.
func (o Owners) New(kind OwnerKind) (*Owner, error) {
	file := o.db.file
	if file.access != memory {
		if err := statedir.Check(file.dir); err != nil {
			return nil, file.explain(err)
		}
		if err := file.ready(); err != nil { // the folder of the locks is made with the database
			return nil, file.explain(err)
		}
		file.mu.RUnlock() // ready has locked it
	}
	owner, err := o.lockNew(kind)
	return owner, file.explain(err)
}

// lockNew is New for a folder that is checked and ready.
func (o Owners) lockNew(kind OwnerKind) (*Owner, error) {
	id := time.Now().UnixMicro()
	if o.db.file.access == memory {
		return &Owner{ID: id, Kind: kind}, nil
	}
	for range ownerTries {
		file, err := statedir.Open(o.path(id), os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if err == nil {
			if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && statedir.IsAt(file, o.path(id)) {
				return &Owner{ID: id, Kind: kind, path: o.path(id), file: file}, nil
			}
			file.Close()
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		id++
	}
	return nil, fmt.Errorf("%s: no lock for this process can be had", o.db.file.locksDir())
}

// Inherited returns an owner that another process has made, and whose file (Files) this process has
// inherited at a descriptor. It returns false when another file is open there.
func (o Owners) Inherited(id int64, kind OwnerKind, descriptor int) (*Owner, bool) {
	var here, there unix.Stat_t
	if unix.Fstat(descriptor, &here) != nil || here.Mode&unix.S_IFMT != unix.S_IFREG || int(here.Uid) != os.Geteuid() {
		return nil, false
	}
	if unix.Lstat(o.path(id), &there) == nil && (here.Ino != there.Ino || here.Dev != there.Dev) {
		return nil, false
	} // there is no file at the path if somebody has deleted the folder
	unix.CloseOnExec(descriptor)
	return &Owner{ID: id, Kind: kind, path: o.path(id), file: os.NewFile(uintptr(descriptor), o.path(id))}, true
}

// Files returns the files that another process has to inherit to be the owner, too; nil for a
// database in memory.
func (o *Owner) Files() []*os.File {
	if o.file == nil {
		return nil
	}
	return []*os.File{o.file}
}

// Close closes the file of the owner in this process. The owner lives on in the processes that
// inherited the file. Without such a process it is dead, and the file at its path proves that.
func (o *Owner) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// Release ends the owner, which must have no rows any more, and removes its file. If nobody calls
// it, a later tick removes the file.
func (o *Owner) Release() error {
	if o.file == nil {
		return nil
	}
	return errors.Join(os.Remove(o.path), o.file.Close())
}

// revive makes the file of the owner anew, if it is gone.
func (o *Owner) revive() error {
	if o.file == nil || statedir.IsAt(o.file, o.path) {
		return nil
	}
	file, err := statedir.OpenLocked(o.path, os.O_RDWR|os.O_CREATE)
	if err == nil {
		o.file = file // the old one stays open: other processes may have it
	}
	return err
}

// Alive reports whether the owner lives. It returns true when nobody can tell, as when this process
// can open no more files: nobody may take a row that may have an owner.
func (o Owners) Alive(id int64) bool {
	if o.db.file.access == memory {
		return true
	}
	file, err := statedir.OpenPlain(o.path(id), os.O_RDONLY)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// aliveOnce returns Alive for many rows: it looks once at each owner.
func (o Owners) aliveOnce() func(id int64) bool {
	known := map[int64]bool{}
	return func(id int64) bool {
		if _, asked := known[id]; !asked {
			known[id] = o.Alive(id)
		}
		return known[id]
	}
}

// ownerPrefix begins the names of the files of owners.
const ownerPrefix = "owner-"

func (o Owners) path(id int64) string {
	return filepath.Join(o.db.file.locksDir(), ownerPrefix+strconv.FormatInt(id, 10))
}

// Enroll makes an owner that may have rows: it also writes down the owner.
func (o Owners) Enroll(ctx context.Context, kind OwnerKind) (*Owner, error) {
	owner, err := o.New(kind)
	if err != nil {
		return nil, err
	}
	if err := owner.enroll(ctx, o.db); err != nil {
		return nil, err
	}
	return owner, nil
}

// enroll writes down the owner. After an error the owner is gone.
func (o *Owner) enroll(ctx context.Context, s store) error {
	err := s.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, "INSERT INTO owner (id, kind, pid, since) VALUES (?, ?, ?, ?)",
			o.ID, string(o.Kind), os.Getpid(), time.Now().UnixMicro())
		return err
	})
	if err != nil {
		_ = o.Release() // nobody knows of the owner
	}
	return err
}

// Owned returns what an enrolled owner may do with its rows.
func (o Owners) Owned(owner *Owner) Owned { return Owned{o.db, owner.ID} }

// RemoveStale forgets owners that are dead and have no rows, and removes their files. Once a day is
// enough.
func (o Owners) RemoveStale(ctx context.Context) error {
	if o.db.file.access != writing {
		return nil
	}
	remaining, err := o.forgetDead(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(o.db.file.locksDir())
	for _, entry := range entries {
		text, ok := strings.CutPrefix(entry.Name(), ownerPrefix)
		id, notANumber := strconv.ParseInt(text, 10, 64)
		if !ok || notANumber != nil || slices.Contains(remaining, id) {
			continue
		}
		if file, err := statedir.OpenLocked(o.path(id), os.O_RDWR); err == nil {
			os.Remove(o.path(id))
			file.Close()
		}
	}
	return err
}

// forgetDead forgets owners that are dead and have no rows. It returns the owners that remain.
func (o Owners) forgetDead(ctx context.Context) (remaining []int64, err error) {
	err = o.db.write(ctx, func(q querier) error {
		all, err := column[int64](ctx, q, "SELECT id FROM owner")
		for _, id := range all {
			if err == nil && !o.Alive(id) {
				_, err = forgetOwner(ctx, q, id)
			}
		}
		if err == nil {
			remaining, err = column[int64](ctx, q, "SELECT id FROM owner")
		}
		return err
	})
	return remaining, err
}

// forgetOwner forgets an owner, and returns false for an owner that has rows.
func forgetOwner(ctx context.Context, q querier, id int64) (forgotten bool, err error) {
	n, err := changed(ctx, q, `DELETE FROM owner WHERE id = ?1
		AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_live WHERE `+notEnded+` AND owner = ?1)`, id)
	return n > 0, err
}

// A Self is this process as an owner of rows. The process becomes an owner when it first needs to
// be one. Safe for concurrent use.
type Self struct {
	db   *DB
	kind OwnerKind

	mu    sync.Mutex
	owner *Owner // nil before it is needed
}

// Self returns this process as an owner of that kind.
func (db *DB) Self(kind OwnerKind) *Self { return &Self{db: db, kind: kind} }

// As returns this process as an owner that another process has made and enrolled.
func (db *DB) As(o *Owner) *Self { return &Self{db: db, kind: o.Kind, owner: o} }

// Owned returns what this process may do with its rows.
func (s *Self) Owned(ctx context.Context) (Owned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		owner, err := s.db.Owners().Enroll(ctx, s.kind)
		if err != nil {
			return Owned{}, err
		}
		s.owner = owner
	}
	return s.db.Owners().Owned(s.owner), nil
}

// resign undoes Plan.Become, for a plan that was not committed.
func (s *Self) resign() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != nil {
		_ = s.owner.Release() // nobody knows of the owner
		s.owner = nil
	}
}

// Restore adds our row as it is to a database that has lost it: see Owned.Restore. When the folder
// was deleted, the lock of this owner is made anew, too.
func (s *Self) Restore(ctx context.Context, r Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		return ErrGone
	}
	if err := s.owner.revive(); err != nil {
		return err
	}
	return s.db.Owners().Owned(s.owner).Restore(ctx, r)
}

// Close ends the owner, if this process became one. Without rows the file of the owner goes, too.
// If the owner has rows, the file stays as the proof that the owner is dead, and a later tick takes
// the rows.
func (s *Self) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		return
	}
	var forgotten bool
	ctx := context.Background()
	err := s.db.write(ctx, func(q querier) (err error) {
		forgotten, err = forgetOwner(ctx, q, s.owner.ID)
		return err
	})
	if err == nil && forgotten {
		s.owner.Release()
	} else {
		s.owner.Close()
	}
	s.owner = nil
}
