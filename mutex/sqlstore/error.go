package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"sched/mutex"
	"sched/schedule/humanize"
)

// A kind of error says what is done about it.
type kind int

const (
	lasting kind = iota // it would come again
	passing             // it passes by itself: a conflict, or a server without room
	broken              // of the connection: a new one may be better
	silent              // there is no answer in time
)

// An answer is an error of a server. Codes are SQLSTATE for PostgreSQL, numbers for MySQL.
type answer struct {
	codes string
	kind  kind
	text  string // for people, after the name of the database; "" for the words of the server
	hint  string
}

const (
	noTablePostgres = "42P01"
	noTableMySQL    = "1146"
)

// answers are searched in this order. 42P07, 42710 and 23505: two processes make the tables at the
// same time.
var answers = []answer{
	{"40001 40P01 55P03 42P07 42710 23505 1213 1205 1020 1050", passing, "has too many conflicts", "is a transaction open that locks our tables?"},
	{"53300 57P03 1040 1203 1226 1047", passing, "takes no more connections", "max_connections of the server must allow 4 for each sched that works at the same time; a pooler needs fewer"},
	{"57P01 57P02 08000 08003 08006 1053", broken, "closes the connection: it is being stopped", "is it running?"},
	{"25006 1290 1792 1836", broken, "takes no writes: it is a replica, or read-only", "name the primary in the URL; for PostgreSQL all servers: postgres://user@host,host/database"},
	{"28P01 28000 1045 1698", lasting, "refuses the user or the password", "write postgres://user:password@host/database; in a password %40 is @ and %2F is /"},
	{"42501 1142 1143 1044 1370", lasting, "does not let the user do that", "`sched schema --sql` prints the tables; the user needs SELECT, INSERT, UPDATE and DELETE on them"},
	{noTablePostgres + " " + noTableMySQL, lasting, "has no tables of sched, or no longer", "the next tick makes them if the user may; `sched schema --sql` prints them"},
}

// codeOf returns the code of an error that a server has answered, "" for other errors.
func codeOf(err error) string {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	switch {
	case errors.As(err, &pg):
		return pg.Code
	case errors.As(err, &my):
		return strconv.Itoa(int(my.Number))
	}
	return ""
}

// explain makes an error of a driver one for people.
func (t *target) explain(err error) (*mutex.StoreError, kind) {
	var ours *mutex.StoreError
	if errors.As(err, &ours) {
		return ours, lasting
	}
	if code := codeOf(err); code != "" {
		for _, a := range answers {
			if strings.Contains(" "+a.codes+" ", " "+code+" ") {
				return t.failed(a.text, a.hint), a.kind
			}
		}
		return t.failed("answers: "+t.line(err.Error()), "its log may say more, and docs/many-servers.md how it should be set up"), lasting
	}
	hint := "is it running, and is that its port, or its socket?"
	var unknown *net.DNSError
	var timedOut net.Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return t.failed("does not answer: there is no host of that name", hint), silent
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout():
		return t.failed(fmt.Sprintf("does not answer within %s", timeout), hint), silent
	case errors.As(err, &errno):
		return t.failed("does not answer: "+errno.Error(), hint), broken
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn):
		return t.failed("does not answer: it closes the connection at once", hint), broken
	}
	return t.failed("does not answer: "+t.line(err.Error()), hint), broken
}

func (t *target) failed(text, hint string) *mutex.StoreError {
	return &mutex.StoreError{Text: t.String() + " " + text, Hint: hint}
}

// line is what a server said, in one line, without the password that it may quote.
func (t *target) line(said string) string {
	if t.password != "" {
		said = strings.ReplaceAll(said, t.password, "***")
	}
	return humanize.Line(said)
}
