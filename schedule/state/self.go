package state

import (
	"context"
	"os"
	"sync"

	"sched/schedule/statedir"
)

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
	if s.owner != nil {
		return s.db.Owners().Owned(s.owner), nil
	}
	owner, err := s.db.Owners().New(s.kind)
	if err != nil {
		return Owned{}, s.db.file.explain(err)
	}
	owned, err := s.db.Enroll(ctx, owner)
	if err != nil {
		owner.Release() //nolint: nobody knows of it
		return Owned{}, err
	}
	s.owner = owner
	return owned, nil
}

// resign undoes Become, for a plan that was not committed.
func (s *Self) resign() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != nil {
		s.owner.Release() //nolint: nobody knows of it
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

// Close ends the owner, if this process became one. Rows that the owner still has are left to a
// later tick.
func (s *Self) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		return
	}
	has, err := s.db.Owners().dismiss(context.Background(), s.owner.ID)
	if has || err != nil {
		s.owner.Close()
	} else {
		s.owner.Release()
	}
	s.owner = nil
}

// dismiss forgets an owner without rows. It reports whether the owner has rows.
func (o Owners) dismiss(ctx context.Context, owner int64) (has bool, err error) {
	err = o.db.write(ctx, func(q querier) error {
		err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM run INDEXED BY run_live WHERE phase <> 'ended' AND owner = ?)", owner).Scan(&has)
		if err == nil && !has {
			_, err = q.ExecContext(ctx, "DELETE FROM owner WHERE id = ?", owner)
		}
		return err
	})
	return has, err
}
