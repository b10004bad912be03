package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"time"
)

// A failure is why the last request got no good answer.
type failure struct {
	err   error
	rests time.Time // until then the database is not asked
}

const (
	shortPause = 20 * time.Millisecond  // between two attempts at most; doubled with each one
	longPause  = 200 * time.Millisecond // the longest one
	shortest   = 50 * time.Millisecond  // time for an attempt
	mostBroken = 3                      // connections that one operation tries
)

// begin bounds an operation. It goes on when the caller gives up: nobody would know what it did.
func begin(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if latest := time.Now().Add(timeout); !limited || end.After(latest) {
		end = latest
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// do runs an operation on a connection, again after what passes by itself, so an operation must be
// one that may be repeated. The error is a *StoreError, or the one of a context that was cancelled.
func (s *Store) do(ctx context.Context, operation func(context.Context, *sql.Conn) error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	if last := s.failed.Load(); last != nil && time.Now().Before(last.rests) {
		return last.err
	}
	db, err := s.open()
	if err != nil {
		s.failed.Store(&failure{err: err})
		return err
	}
	begun := time.Now()
	ctx, cancel := begin(ctx)
	defer cancel()
	end, _ := ctx.Deadline()
	for attempt := 1; ; attempt++ {
		err := s.try(ctx, db, operation)
		if err == nil {
			s.failed.Store(nil)
			return nil
		}
		explained, kind := s.target.explain(err)
		if kind == passing || kind == lasting {
			s.failed.Store(&failure{err: explained})
		}
		pause := rand.N(min(shortPause<<min(attempt, 8), longPause))
		if again := kind == passing || kind == broken && attempt < mostBroken; again && time.Until(end) > pause+shortest {
			time.Sleep(pause)
			continue
		}
		if kind == broken || kind == silent && time.Since(begun) > timeout/2 { // a caller without time proves nothing
			s.failed.Store(&failure{explained, time.Now().Add(rest)})
		}
		return explained
	}
}

// try runs an operation on one connection. It closes the connection after errors that a new one may
// not have: another server may have taken over.
func (s *Store) try(ctx context.Context, db *sql.DB, operation func(context.Context, *sql.Conn) error) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err = s.prepare(ctx, c); err == nil {
		err = operation(ctx, c)
	}
	if err != nil {
		if _, kind := s.target.explain(err); kind != passing {
			c.Raw(func(any) error { return driver.ErrBadConn })
		}
	}
	return err
}

// exec runs a statement, and returns how many rows it was about.
func (s *Store) exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	err = s.do(ctx, func(ctx context.Context, c *sql.Conn) error {
		result, err := c.ExecContext(ctx, s.target.sql(statement), args...)
		if err == nil {
			rows, err = result.RowsAffected()
		}
		return err
	})
	return rows, err
}

// A row is the answer to a query: a name and what goes with it, which is not nil.
type row struct {
	name  string
	value []byte
}

// read runs a query for rows.
func (s *Store) read(ctx context.Context, statement string, args ...any) (rows []row, err error) {
	err = s.do(ctx, func(ctx context.Context, c *sql.Conn) (err error) {
		rows, err = s.query(ctx, c, statement, args...)
		return err
	})
	return rows, err
}

func (s *Store) query(ctx context.Context, c *sql.Conn, statement string, args ...any) (rows []row, err error) {
	found, err := c.QueryContext(ctx, s.target.sql(statement), args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		r := row{value: []byte{}}
		if err := found.Scan(&r.name, &r.value); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}
