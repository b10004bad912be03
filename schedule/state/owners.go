package state

import (
	"context"
	"database/sql"
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

	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// Owners are the processes that are responsible for rows.
type Owners struct {
	file  *file // of the database
	store store
}

// New makes an owner, and locks its file.
//
// A process that finds the new file before it is locked may lock it and remove it
// (Owners.RemoveStale). New then tries the next id.
func (o Owners) New(kind OwnerKind) (*Owner, error) {
	file := o.file
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
	if o.file.access == memory {
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
	return nil, fmt.Errorf("%s: no lock for this process can be had", o.file.locksDir())
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

// Alive reports whether the owner lives. It returns true when nobody can tell, as when this process
// can open no more files: nobody may take a row that may have an owner.
func (o Owners) Alive(id int64) bool {
	if o.file.access == memory {
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

func (o Owners) path(id int64) string {
	return filepath.Join(o.file.locksDir(), ownerPrefix+strconv.FormatInt(id, 10))
}

// Enroll makes an owner that may have rows: it also writes down the owner.
func (o Owners) Enroll(ctx context.Context, kind OwnerKind) (*Owner, error) {
	owner, err := o.New(kind)
	if err != nil {
		return nil, err
	}
	if err := owner.Enroll(ctx, o.store); err != nil {
		return nil, err
	}
	return owner, nil
}

// elsewhere returns the owners in the database whose files are not the files of this folder: the
// folder is a copy, or the database was restored from one. Their processes may live, and look after
// the same runs in the other folder. After another boot none of them lives, so then they are dead
// owners of this folder.
func (o Owners) elsewhere(ctx context.Context, q querier) (ids []int64, err error) {
	if o.file.access == memory {
		return nil, nil
	}
	type owned struct{ id, device, inode int64 }
	scan := func(rows *sql.Rows) (r owned, err error) { return r, rows.Scan(&r.id, &r.device, &r.inode) }
	all, err := listed(ctx, q, scan, "SELECT id, device, inode FROM owner WHERE boot = ? AND inode <> 0", thisBoot())
	for _, r := range all {
		var info unix.Stat_t
		err := unix.Lstat(o.path(r.id), &info)
		if err == nil && (int64(info.Dev) != r.device || int64(info.Ino) != r.inode) || errors.Is(err, fs.ErrNotExist) {
			ids = append(ids, r.id)
		}
	}
	return ids, err
}

// InCopy reports whether the owner is a process of another state folder, of which this one is a
// copy.
func (o Owners) InCopy(ctx context.Context, id int64) (bool, error) {
	return ask(ctx, o.store, func(q querier) (bool, error) {
		ids, err := o.elsewhere(ctx, q)
		return slices.Contains(ids, id), err
	})
}

// Copied returns the rows of a copied folder that processes of the other folder look after.
func (o Owners) Copied(ctx context.Context) ([]Row, error) {
	return ask(ctx, o.store, func(q querier) ([]Row, error) { return o.copied(ctx, q) })
}

func (o Owners) copied(ctx context.Context, q querier) (copied []Row, err error) {
	ids, err := o.elsewhere(ctx, q)
	for _, id := range ids {
		rows, rowsErr := RowsOf(ctx, q, SelectRows()+"WHERE "+notEnded+" AND owner = ? ORDER BY id", id)
		copied, err = append(copied, rows...), errors.Join(err, rowsErr)
	}
	return copied, err
}

// SettleCopied ends the rows of Copied, and returns them as they were. It leaves their processes,
// hooks and locks alone.
func (o Owners) SettleCopied(ctx context.Context) (copied []Row, err error) {
	if copied, err = o.Copied(ctx); err != nil || len(copied) == 0 {
		return nil, err
	}
	err = o.store.write(ctx, func(q querier) (err error) {
		copied, err = o.copied(ctx, q)
		for _, r := range copied {
			if err == nil {
				err = endCopied(clock.Now()).apply(ctx, q, r.Owner, r)
			}
		}
		return err
	})
	return copied, err
}

// Owned returns what an enrolled owner may do with its rows.
func (o Owners) Owned(owner *Owner) Owned { return Owned{o.store, owner.ID} }

// Planned returns the runs to which their owners have not come yet.
func (o Owners) Planned(ctx context.Context) ([]string, error) {
	return ask(ctx, o.store, func(q querier) ([]string, error) {
		return Only[string](ctx, q, "SELECT id FROM run INDEXED BY run_live WHERE "+notEnded+" AND phase = 'planned'")
	})
}

// RemoveStale forgets owners that are dead and have no rows, and removes their files. Once a day is
// enough.
func (o Owners) RemoveStale(ctx context.Context) error {
	if o.file.access != writing {
		return nil
	}
	remaining, err := o.forgetDead(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(o.file.locksDir())
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
	err = o.store.write(ctx, func(q querier) error {
		all, err := Only[int64](ctx, q, "SELECT id FROM owner")
		for _, id := range all {
			if err == nil && !o.Alive(id) {
				_, err = forgetOwner(ctx, q, id)
			}
		}
		if err == nil {
			remaining, err = Only[int64](ctx, q, "SELECT id FROM owner")
		}
		return err
	})
	return remaining, err
}

// A Self is this process as an owner of rows. The process becomes an owner when it first needs to
// be one. Safe for concurrent use.
type Self struct {
	owners Owners
	kind   OwnerKind

	mu    sync.Mutex
	owner *Owner // nil before it is needed
}

// Owned returns what this process may do with its rows.
func (s *Self) Owned(ctx context.Context) (Owned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		owner, err := s.owners.Enroll(ctx, s.kind)
		if err != nil {
			return Owned{}, err
		}
		s.owner = owner
	}
	return s.owners.Owned(s.owner), nil
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
	return s.owners.Owned(s.owner).Restore(ctx, r, s.owner)
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
	err := s.owners.store.write(ctx, func(q querier) (err error) {
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

// NamesOf names the runs of rows for people.
func NamesOf(rows []Row) string {
	var names []string
	for _, r := range rows {
		names = append(names, humanize.Line(r.Task)+" "+humanize.ShortRun(r.ID))
	}
	return strings.Join(names, ", ")
}
