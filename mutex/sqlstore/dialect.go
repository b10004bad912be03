package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A dialect is what the databases write differently. In statements ? is an argument, {now} the time
// of the database in milliseconds at the beginning of the statement, {entry}, {log} and {version}
// are our tables, and {rows} and {names} what the queue fills in.
type dialect struct {
	name  string // for people
	now   string
	port  string
	take  string // rows that are not there, that have ended, or that are of the same run; returns the rows that count now
	put   string // rows whatever is there
	prune string // some rows that have ended
	risk  string // returns which setting lets the server forget what it has committed
	// migrations[v] makes tables of version v into tables of version v+1.
	migrations [][]string
}

// The values of a row change in this order in MySQL, where each assignment sees those before it.
// A run that has the row already keeps its value: see Store.undo.
var mysqlDialect = &dialect{
	name: "MySQL",
	now:  "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)",
	port: "3306",
	take: `INSERT INTO {entry} (schedule, kind, name, run, value, ends) VALUES {rows} ON DUPLICATE KEY UPDATE
value = IF(ends <= {now} AND run <> VALUES(run), VALUES(value), value),
run = IF(ends <= {now}, VALUES(run), run),
ends = IF(run = VALUES(run), VALUES(ends), ends);
SELECT name, value FROM {entry} WHERE schedule = ? AND kind = ? AND ends > {now} AND name IN ({names})`,
	put: `INSERT INTO {entry} (schedule, kind, name, run, value, ends) VALUES {rows} ON DUPLICATE KEY UPDATE
run = VALUES(run), value = VALUES(value), ends = VALUES(ends)`,
	prune: `DELETE FROM {entry} WHERE ends <= {now} ORDER BY ends LIMIT ?`,
	risk: `SELECT CONCAT('innodb_flush_log_at_trx_commit = ', @@innodb_flush_log_at_trx_commit), '' FROM DUAL
WHERE @@innodb_flush_log_at_trx_commit <> 1`,
	migrations: [][]string{{
		`CREATE TABLE IF NOT EXISTS {entry} (
  schedule VARBINARY(255) NOT NULL, kind VARBINARY(255) NOT NULL, name VARBINARY(1000) NOT NULL,
  run VARBINARY(255) NOT NULL, value LONGBLOB NOT NULL, ends BIGINT NOT NULL,
  PRIMARY KEY (schedule, kind, name), INDEX (ends)
) ENGINE=InnoDB`,
		`CREATE TABLE IF NOT EXISTS {log} (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  schedule VARBINARY(255) NOT NULL, name VARBINARY(255) NOT NULL, value LONGBLOB NOT NULL,
  INDEX (schedule, name, id)
) ENGINE=InnoDB`,
		`CREATE TABLE IF NOT EXISTS {version} (version INT NOT NULL PRIMARY KEY) ENGINE=InnoDB`,
		`INSERT IGNORE INTO {version} VALUES (1)`,
	}},
}

var postgresDialect = &dialect{
	name: "PostgreSQL",
	now:  "(extract(epoch FROM statement_timestamp()) * 1000)::bigint",
	port: "5432",
	take: `WITH taken AS (
INSERT INTO {entry} AS e (schedule, kind, name, run, value, ends) VALUES {rows} ON CONFLICT (schedule, kind, name) DO UPDATE SET
value = CASE WHEN e.run = excluded.run THEN e.value ELSE excluded.value END, run = excluded.run, ends = excluded.ends
WHERE e.ends <= {now} OR e.run = excluded.run RETURNING name, value)
SELECT name, value FROM taken UNION ALL SELECT name, value FROM {entry} WHERE schedule = ? AND kind = ?
AND ends > {now} AND name IN ({names}) AND name NOT IN (SELECT name FROM taken)`,
	put: `INSERT INTO {entry} (schedule, kind, name, run, value, ends) VALUES {rows} ON CONFLICT (schedule, kind, name)
DO UPDATE SET run = excluded.run, value = excluded.value, ends = excluded.ends`,
	prune: `DELETE FROM {entry} WHERE ctid = ANY (ARRAY (
SELECT ctid FROM {entry} WHERE ends <= {now} ORDER BY ends LIMIT ? FOR UPDATE SKIP LOCKED))`,
	risk: `SELECT name || ' = off', ''::bytea FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') AND setting = 'off'`,
	migrations: [][]string{{
		`CREATE TABLE IF NOT EXISTS {entry} (
  schedule text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL, value bytea NOT NULL, ends bigint NOT NULL,
  PRIMARY KEY (schedule, kind, name)
)`,
		`CREATE INDEX IF NOT EXISTS {index}entry_ends ON {entry} (ends)`,
		`CREATE TABLE IF NOT EXISTS {log} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  schedule text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value bytea NOT NULL
)`,
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
	if t.dialect != postgresDialect {
		return statement
	}
	parts := strings.Split(statement, "?")
	var numbered strings.Builder
	for i, part := range parts {
		if i > 0 {
			numbered.WriteString("$" + strconv.Itoa(i))
		}
		numbered.WriteString(part)
	}
	return numbered.String()
}

// Tables returns the statements that make the tables for a database of a kind, "postgres" or
// "mysql". Their names begin with a prefix; "" is the default. ok is false when it cannot be done.
func Tables(kind, prefix string) (text string, ok bool) {
	t := &target{dialect: dialects[kind], prefix: cmp.Or(prefix, defaultPrefix)}
	if t.dialect == nil || !prefixes.MatchString(t.prefix) {
		return "", false
	}
	for _, statements := range t.migrations {
		text += t.sql(strings.Join(statements, ";\n")) + ";\n"
	}
	return text, true
}

// prepare makes the tables that are missing, and refuses tables of a newer version of sched. After
// a success it does nothing.
func (s *Store) prepare(ctx context.Context, c *sql.Conn) error {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	if s.prepared {
		return nil
	}
	version, newest := 0, len(s.target.migrations)
	err := c.QueryRowContext(ctx, s.target.sql("SELECT COALESCE(MAX(version), 0) FROM {version}")).Scan(&version)
	if code := codeOf(err); err != nil && code != noTablePostgres && code != noTableMySQL {
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
	s.prepared = true
	return nil
}
