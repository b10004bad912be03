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
	var forgotten int64
	ctx := context.Background()
	err := s.db.write(ctx, func(q querier) (err error) {
		forgotten, err = forgetOwner(ctx, q, s.owner.ID)
		return err
	})
	if err == nil && forgotten == 1 {
		s.owner.Release()
	} else {
		s.owner.Close()
	}
	s.owner = nil
}
