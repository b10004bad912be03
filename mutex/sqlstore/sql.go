package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
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

// Statements of both databases. In each one ? is an argument, {now} the time of the database in
// milliseconds at the beginning of the statement, and {entry}, {log} and {version} are our tables.
// {names}, {rows} of {entry} and {values} of {log} become as many as a call has.
const (
	selectNow   = `SELECT 'now', {now}`
	selectNames = `SELECT name, value FROM {entry} WHERE schedule = ? AND name IN ({names}) AND ends > {now}`
	selectTable = `SELECT name, value FROM {entry} WHERE schedule = ? AND name >= ? AND name < ? AND ends > {now} LIMIT ?`
	insert      = `INSERT INTO {entry} (schedule, name, run, value, ends) VALUES {rows} `
	renewLease  = `UPDATE {entry} SET ends = {now} + ? WHERE schedule = ? AND name = ? AND run = ?`
	release     = remove + ` AND run = ?`
	remove      = `DELETE FROM {entry} WHERE schedule = ? AND name = ?`
	confirm     = `UPDATE {entry} SET value = ? WHERE schedule = ? AND name = ? AND value = ?`
	undo        = `DELETE FROM {entry} WHERE schedule = ? AND name IN ({names}) AND value IN ({names})`

	appendLog = `INSERT INTO {log} (schedule, name, value) VALUES {values}`
	tailLog   = `SELECT name, value FROM {log} WHERE schedule = ? AND name = ? ORDER BY id DESC LIMIT ? OFFSET ?`
	trimLog   = `DELETE FROM {log} WHERE schedule = ? AND name = ? AND id <= (SELECT id FROM (
SELECT id FROM {log} WHERE schedule = ? AND name = ? ORDER BY id DESC LIMIT 1 OFFSET ?) AS oldest)`
	selectVersion = `SELECT COALESCE(MAX(version), 0) FROM {version}`
)

// A dialect has the SQL that the databases write differently.
type dialect struct {
	name       string // for people
	now        string
	take       string     // rows that are not there, that have ended, or that are of the same run; returns the rows that count now
	put        string     // a row whatever is there
	renew      string     // a lock; returns how many
	prune      string     // some rows that have ended
	risk       string     // returns which setting lets the server forget what it has committed
	migrations [][]string // [v] makes tables of version v into tables of version v+1
}

// MySQL changes the values of a row in this order, and each assignment sees the ones before it. In
// both dialects a run that has the row already keeps its value: see Store.undo and Store.take.
var mysqlDialect = &dialect{
	name: "MySQL",
	now:  "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)",
	take: insert + `ON DUPLICATE KEY UPDATE
value = IF(ends <= {now} AND run <> VALUES(run), VALUES(value), value),
run = IF(ends <= {now}, VALUES(run), run),
ends = IF(run = VALUES(run), VALUES(ends), ends);
` + selectNames,
	put:   insert + `ON DUPLICATE KEY UPDATE run = VALUES(run), value = VALUES(value), ends = VALUES(ends)`,
	renew: renewLease + `; SELECT ROW_COUNT(), ''`,
	prune: `DELETE FROM {entry} WHERE ends <= {now} ORDER BY ends LIMIT ?`,
	risk:  `SELECT 'innodb_flush_log_at_trx_commit is not 1', '' FROM DUAL WHERE @@innodb_flush_log_at_trx_commit <> 1`,
	migrations: [][]string{{
		`CREATE TABLE IF NOT EXISTS {entry} (
  schedule VARBINARY(255) NOT NULL, name VARBINARY(1000) NOT NULL,
  run VARBINARY(255) NOT NULL, value LONGBLOB NOT NULL, ends BIGINT NOT NULL,
  PRIMARY KEY (schedule, name), INDEX (ends)) ENGINE=InnoDB`,
		`CREATE TABLE IF NOT EXISTS {log} (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  schedule VARBINARY(255) NOT NULL, name VARBINARY(255) NOT NULL, value LONGBLOB NOT NULL,
  INDEX (schedule, name, id)) ENGINE=InnoDB`,
		`CREATE TABLE IF NOT EXISTS {version} (version INT NOT NULL PRIMARY KEY) ENGINE=InnoDB`,
		`INSERT IGNORE INTO {version} VALUES (1)`,
	}},
}

var postgresDialect = &dialect{
	name: "PostgreSQL",
	now:  "(extract(epoch FROM statement_timestamp()) * 1000)::bigint",
	take: `WITH taken AS (` + insert + `ON CONFLICT (schedule, name) DO UPDATE SET
value = CASE WHEN {entry}.run = excluded.run THEN {entry}.value ELSE excluded.value END, run = excluded.run, ends = excluded.ends
WHERE {entry}.ends <= {now} OR {entry}.run = excluded.run RETURNING name, value)
SELECT name, value FROM taken UNION ALL ` + selectNames + ` AND name NOT IN (SELECT name FROM taken)`,
	put:   insert + `ON CONFLICT (schedule, name) DO UPDATE SET run = excluded.run, value = excluded.value, ends = excluded.ends`,
	renew: `WITH renewed AS (` + renewLease + ` RETURNING name) SELECT count(*)::text, ''::bytea FROM renewed`,
	prune: `DELETE FROM {entry} WHERE ctid = ANY (ARRAY (
SELECT ctid FROM {entry} WHERE ends <= {now} ORDER BY ends LIMIT ? FOR UPDATE SKIP LOCKED))`,
	risk: `SELECT name || ' = off', ''::bytea FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') AND setting = 'off'`,
	migrations: [][]string{{
		`CREATE TABLE IF NOT EXISTS {entry} (
  schedule text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL, value bytea NOT NULL, ends bigint NOT NULL,
  PRIMARY KEY (schedule, name))`,
		`CREATE INDEX IF NOT EXISTS {index}entry_ends ON {entry} (ends)`,
		`CREATE TABLE IF NOT EXISTS {log} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  schedule text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value bytea NOT NULL)`,
		`CREATE INDEX IF NOT EXISTS {index}log_name ON {log} (schedule, name, id)`,
		`CREATE TABLE IF NOT EXISTS {version} (version integer PRIMARY KEY)`,
		`INSERT INTO {version} VALUES (1) ON CONFLICT DO NOTHING`,
	}},
}

// sql fills the names of tables and the clock into a statement, and numbers the arguments for
// PostgreSQL.
func (t *target) sql(statement string) string {
	statement = strings.NewReplacer("{now}", t.now, "{entry}", t.prefix+"entry", "{log}", t.prefix+"log",
		"{version}", t.prefix+"version", "{index}", t.prefix[strings.Index(t.prefix, ".")+1:]).Replace(statement)
	if t.dialect == mysqlDialect {
		return statement
	}
	parts := strings.Split(statement, "?")
	for i := range parts[1:] {
		parts[i] += "$" + strconv.Itoa(i+1)
	}
	return strings.Join(parts, "")
}

// fill repeats what a call has n times.
func fill(statement string, n int) string {
	list := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") }
	return strings.NewReplacer("{names}", list("?"), "{rows}", list("(?, ?, ?, ?, {now} + ?)"), "{values}", list("(?, ?, ?)")).Replace(statement)
}

// Tables returns the statements that make the tables for a database of a kind, "postgres" or
// "mysql". Their names begin with a prefix; "" is the default. ok is false when it cannot be done.
func Tables(kind, prefix string) (text string, ok bool) {
	t := &target{dialect: dialects[kind], prefix: cmp.Or(prefix, defaultPrefix)}
	if good, _ := regexp.MatchString(prefixes, t.prefix); t.dialect == nil || !good {
		return "", false
	}
	return t.sql(strings.Join(slices.Concat(t.migrations...), ";\n")) + ";\n", true
}

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
