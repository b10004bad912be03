package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"sched/mutex"
	"sched/schedule/humanize"
)

// A silence is why and how long the database is not asked.
type silence struct {
	err   error
	until time.Time
}

// A row is the answer to a statement: a name and what goes with it.
type row struct {
	name  string
	value []byte
}

// An operation uses one connection. It may be repeated.
type operation func(context.Context, *sql.Conn) ([]row, error)

func (s *Store) run(ctx context.Context, statement string, args ...any) ([]row, error) {
	return s.do(ctx, func(ctx context.Context, c *sql.Conn) ([]row, error) { return s.query(ctx, c, statement, args...) })
}

// do runs an operation, again until the deadline unless its error would come again. The error is a
// *StoreError, or why the context was cancelled.
func (s *Store) do(ctx context.Context, o operation) ([]row, error) {
	begun := time.Now()
	if silent := s.silent.Load(); silent != nil && begun.Before(silent.until) {
		return nil, silent.err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end, _ := ctx.Deadline()
	for pause := longestPause / 8; ; pause = min(2*pause, longestPause) {
		rows, err := s.try(ctx, o)
		if err == nil {
			return rows, nil
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, context.Cause(ctx)
		}
		explained, again := s.target.explain(err)
		if wait := rand.N(pause); again && time.Until(end) > wait+longestPause {
			time.Sleep(wait)
			continue
		}
		if time.Since(begun) > timeout/2 { // a caller without time proves nothing
			s.silent.Store(&silence{explained, time.Now().Add(rest)})
		}
		return nil, explained
	}
}

// try runs an operation on a connection. It closes the connection after an error: another server
// may have taken over.
func (s *Store) try(ctx context.Context, o operation) (rows []row, err error) {
	db, err := s.open()
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err = s.prepare(ctx, c); err == nil {
		rows, err = o(ctx, c)
	}
	if err != nil {
		c.Raw(func(any) error { return driver.ErrBadConn })
	}
	return rows, err
}

// prepare makes the tables that are missing, and refuses tables of a newer version of sched. After
// a success it does nothing.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	if s.prepared.Load() {
		return nil
	}
	version, newest := 0, len(s.target.migrations)
	err := c.QueryRowContext(ctx, s.target.sql(selectVersion)).Scan(&version)
	if code := codeOf(err); err != nil && code != "42P01" && code != "1146" { // there are no tables
		return err
	}
	if version > newest {
		return s.target.failed(fmt.Sprintf("has tables of a newer sched: version %d, and this one knows %d", version, newest), "update sched on this server")
	}
	for _, statement := range slices.Concat(s.target.migrations[version:]...) {
		if _, err := c.ExecContext(ctx, s.target.sql(statement)); err != nil {
			return err
		}
	}
	s.prepared.Store(true)
	return nil
}

func (s *Store) query(ctx context.Context, c *sql.Conn, statement string, args ...any) (rows []row, err error) {
	found, err := c.QueryContext(ctx, s.target.sql(statement), args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var r row
		if err := found.Scan(&r.name, &r.value); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}

// answers are errors of servers in our words. Codes are SQLSTATE for PostgreSQL, numbers for MySQL.
// 42P07, 42710, 23505, 1050: two processes make the tables at the same time.
var answers = []struct {
	codes string
	again bool   // it may pass by itself, or another server may answer
	text  string // after the name of the database
	hint  string
}{
	{"40001 40P01 55P03 42P07 42710 23505 1213 1205 1020 1050", true, "has too many conflicts", "is a transaction open that locks our tables?"},
	{"53300 1040 1203 1226", true, "takes no more connections", "max_connections of the server must allow 4 for each sched that works at the same time; a pooler needs fewer"},
	{"57P01 57P02 57P03 08000 08003 08006 1053 1047", true, "is being stopped or started", "is it running?"},
	{"25006 1290 1792 1836", true, "takes no writes: it is a replica, or read-only", "name the primary in the URL; for PostgreSQL all servers: postgres://user@host,host/database"},
	{"28P01 28000 1045 1698", false, "refuses the user or the password", "write postgres://user:password@host/database; in a password %40 is @ and %2F is /"},
	{"42501 1142 1143 1044 1370", false, "does not let the user do that", "`sched schema --sql` prints the tables; the user needs SELECT, INSERT, UPDATE and DELETE on them"},
	{"42P01 1146", false, "has no tables of sched, or no longer", "the next tick makes them if the user may; `sched schema --sql` prints them"},
}

// codeOf returns the code of an error that a server has answered, "" for other errors.
func codeOf(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	} else if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return strconv.Itoa(int(my.Number))
	}
	return ""
}

// explain makes an error of a driver one for people, and reports whether to try again.
func (t *target) explain(err error) (explained *mutex.StoreError, again bool) {
	if errors.As(err, &explained) {
		return explained, false
	}
	said := humanize.Line(err.Error())
	if password, _ := t.user.Password(); password != "" {
		said = strings.ReplaceAll(said, password, "***") // a server may quote it
	}
	if code := codeOf(err); code != "" {
		for _, a := range answers {
			if slices.Contains(strings.Fields(a.codes), code) {
				return t.failed(a.text, a.hint), a.again
			}
		}
		return t.failed("answers: "+said, "its log may say more, and docs/many-servers.md how it should be set up"), false
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		said = errno.Error()
	}
	said = ": " + said
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		said = fmt.Sprintf(" within %s", timeout)
	}
	return t.failed("does not answer"+said, "is it running, and is that its host and port, or its socket?"), true
}

func (t *target) failed(text, hint string) *mutex.StoreError {
	return &mutex.StoreError{Text: t.String() + " " + text, Hint: hint}
}
