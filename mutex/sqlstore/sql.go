package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
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
		codes: "3D000 1049",
		text:  "has no database of that name",
		hint:  "see the end of the URL, or make it with CREATE DATABASE: the tables come with the first tick",
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
