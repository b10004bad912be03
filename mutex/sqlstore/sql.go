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

// A silence says why, and until when, the database is not asked.
type silence struct {
	err   error
	until time.Time
}

// An answer is a row that a statement returns. Every statement returns a text and a value, such as
// the name and the value of a row of {entry}.
type answer struct {
	text  string
	value []byte
}

// An operation uses one connection. do may call it several times: it must do the same each time.
type operation func(context.Context, *sql.Conn) ([]answer, error)

// execute executes one statement: see do.
func (s *Store) execute(ctx context.Context, statement string, args ...any) ([]answer, error) {
	return s.do(ctx, func(ctx context.Context, c *sql.Conn) ([]answer, error) {
		return s.query(ctx, c, statement, args...)
	})
}

// do runs an operation, and repeats it until the deadline if its error may pass by itself. The
// error is a *StoreError, or why the context was cancelled.
func (s *Store) do(ctx context.Context, o operation) ([]answer, error) {
	begun := time.Now()
	if silent := s.silent.Load(); silent != nil && begun.Before(silent.until) {
		return nil, silent.err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end, _ := ctx.Deadline()
	for pause := maxPause / 8; ; pause = min(2*pause, maxPause) {
		answers, err := s.try(ctx, o)
		if err == nil {
			return answers, nil
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, context.Cause(ctx)
		}
		explained, again := s.target.explain(err)
		if wait := rand.N(pause); again && time.Until(end) > wait+maxPause {
			time.Sleep(wait)
			continue
		}
		hadTime := time.Since(begun) > timeout/2 // the deadline of the caller may leave the database no time
		if hadTime {
			s.silent.Store(&silence{err: explained, until: time.Now().Add(quietTime)})
		}
		return nil, explained
	}
}

// try runs an operation on a connection. It closes the connection after an error: another server
// may have taken over.
func (s *Store) try(ctx context.Context, o operation) (answers []answer, err error) {
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
		answers, err = o(ctx, c)
	}
	if err != nil {
		c.Raw(func(any) error { return driver.ErrBadConn })
	}
	return answers, err
}

// prepare makes the tables that are missing, and refuses tables of a newer version of sched. After
// a success it does nothing.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	if s.prepared.Load() {
		return nil
	}
	version, newest := 0, len(s.target.migrations)
	err := c.QueryRowContext(ctx, s.target.sql(selectVersion)).Scan(&version)
	if err != nil && !slices.Contains(strings.Fields(missingTableCodes), codeOf(err)) {
		return err
	}
	if version > newest {
		text := fmt.Sprintf("has tables of a newer sched: version %d, and this one knows %d", version, newest)
		return s.target.failed(text, "update sched on this server")
	}
	for _, statement := range slices.Concat(s.target.migrations[version:]...) {
		if _, err := c.ExecContext(ctx, s.target.sql(statement)); err != nil {
			return err
		}
	}
	s.prepared.Store(true)
	return nil
}

// query executes a statement on a connection.
func (s *Store) query(
	ctx context.Context, c *sql.Conn, statement string, args ...any,
) (answers []answer, err error) {
	rows, err := c.QueryContext(ctx, s.target.sql(statement), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a answer
		if err := rows.Scan(&a.text, &a.value); err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, rows.Err()
}

// missingTableCodes are the codes of a statement on a table that does not exist.
const missingTableCodes = "42P01 1146"

// knownErrors are errors of servers in our words. Codes are SQLSTATE for PostgreSQL, numbers for
// MySQL.
var knownErrors = []struct {
	codes string
	again bool   // the error may pass by itself, or another server may answer
	text  string // after the name of the database
	hint  string // {url} and {primary} come from the dialect
}{
	{
		// 42P07, 42710, 23505 and 1050: two processes make the tables at the same time.
		codes: "40001 40P01 55P03 42P07 42710 23505 1213 1205 1020 1050",
		again: true,
		text:  "has too many conflicts",
		hint:  "is a transaction open that locks our tables?",
	},
	{
		// The server ended the statement, and undid it: also at our own deadline (57014).
		codes: "57014 25P04 1969 3024 1317",
		again: true,
		text:  "does not execute a statement in time",
		hint: "is a transaction open that locks our tables, or do statement_timeout, max_statement_time " +
			"or max_execution_time allow a statement less than two seconds?",
	},
	{
		codes: "53300 1040 1203 1226",
		again: true,
		text:  "takes no more connections",
		hint: "max_connections of the server must allow 4 for each sched that works at the same time; " +
			"a pooler needs fewer",
	},
	{
		codes: "57P01 57P02 57P03 57P05 08000 08003 08006 1053 1047 1927 4031",
		again: true,
		text:  "ends our connections: it is being stopped or started",
		hint:  "is it running?",
	},
	{
		codes: "25006 1290 1792 1836",
		again: true,
		text:  "takes no writes: it is a replica, or read-only",
		hint:  "{primary}",
	},
	{
		codes: "28P01 28000 1045 1698",
		text:  "refuses the user or the password",
		hint:  "write {url}user:password@host/database; in a password %40 is @ and %2F is /",
	},
	{
		codes: "42501 1142 1143 1044 1370",
		text:  "does not let the user do that",
		hint: "`sched schema --sql` prints the tables; " +
			"the user needs SELECT, INSERT, UPDATE and DELETE on them",
	},
	{
		codes: missingTableCodes,
		text:  "has no tables of sched, or no longer",
		hint:  "the next tick makes them if the user may; `sched schema --sql` prints them",
	},
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
	text := humanize.Line(err.Error())
	if password, _ := t.user.Password(); password != "" {
		text = strings.ReplaceAll(text, password, "***") // a server may quote the password
	}
	if code := codeOf(err); code != "" {
		for _, known := range knownErrors {
			if slices.Contains(strings.Fields(known.codes), code) {
				words := strings.NewReplacer("{url}", t.dialect.url, "{primary}", t.dialect.primaryHint)
				return t.failed(known.text, words.Replace(known.hint)), known.again
			}
		}
		return t.failed("answers: "+text,
			"its log may say more, and docs/many-servers.md how it should be set up"), false
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		text = errno.Error()
	}
	text = ": " + text
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		text = fmt.Sprintf(" within %s", timeout)
	}
	return t.failed("does not answer"+text, "is it running, and is that its host and port, or its socket?"), true
}

func (t *target) failed(text, hint string) *mutex.StoreError {
	return &mutex.StoreError{Text: t.String() + " " + text, Hint: hint}
}
