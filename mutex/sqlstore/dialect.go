package sqlstore

import "strings"

// Statements of both databases. target.sql and fill replace what is in braces:
//
//   - {now} is the time of the database in milliseconds at the beginning of the statement.
//   - {clock} is that time when it is evaluated: after a wait for the transaction of somebody else.
//   - {entry}, {log} and {version} are our tables.
//   - {names}, {rows} of {entry} and {values} of {log} are as many lists of ? as a call has.
const (
	selectNow     = `SELECT 'now', {now}`
	selectByNames = `SELECT name, value FROM {entry} WHERE schedule = ? AND name IN ({names}) AND ends > {now}`
	selectByTable = `SELECT name, value FROM {entry}
WHERE schedule = ? AND name >= ? AND name < ? AND ends > {now} LIMIT ?`
	insertRows   = `INSERT INTO {entry} (schedule, name, run, value, ends) VALUES {rows}`
	updateValue  = `UPDATE {entry} SET value = ? WHERE schedule = ? AND name = ? AND value = ?`
	deleteRow    = `DELETE FROM {entry} WHERE schedule = ? AND name = ?`
	deleteOfRun  = deleteRow + ` AND run = ?`
	deleteValues = `DELETE FROM {entry} WHERE schedule = ? AND name IN ({names}) AND value IN ({names})`

	appendLog = `INSERT INTO {log} (schedule, name, value) VALUES {values}`
	tailLog   = `SELECT name, value FROM {log} WHERE schedule = ? AND name = ? ORDER BY id DESC LIMIT ? OFFSET ?`
	trimLog   = `DELETE FROM {log} WHERE schedule = ? AND name = ? AND id <= (SELECT id FROM (
SELECT id FROM {log} WHERE schedule = ? AND name = ? ORDER BY id DESC LIMIT 1 OFFSET ?) AS oldest)`
	selectVersion = `SELECT COALESCE(MAX(version), 0) FROM {version}`
)

// A dialect has the SQL that the databases write differently.
type dialect struct {
	name string // for people
	url  string // how its URLs begin

	primaryHint string // what to write if the server is a replica
	now         string // the time, for {now}
	clock       string // the time, for {clock}

	// takeRows takes rows that do not exist, that have ended, or that the same run has. It returns
	// the rows as they are then, also the rows of other runs.
	takeRows string

	putRow      string     // sets a row, whatever it held
	renewLock   string     // renews a lock, and returns how many rows it renewed
	pruneRows   string     // removes some rows that have ended
	selectRisks string     // returns settings that let the server forget commits; 'refuses' in a row without one
	migrations  [][]string // migrations[v] changes tables of version v to version v+1
}

// MySQL changes the values of a row in this order, and each assignment sees the ones before it. In
// both dialects a run that has the row already keeps its value: see Store.undo and Store.takeRow.
var mysqlDialect = &dialect{
	name: "MySQL",
	url:  "mysql://",

	primaryHint: "name the primary in the URL",
	now:         "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)",
	// A statement takes less than a minute, also if the clock of the session changes meanwhile.
	clock: "({now} + LEAST(GREATEST(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) DIV 1000, 0), 60000))",
	takeRows: insertRows + ` ON DUPLICATE KEY UPDATE
value = IF(ends <= {now} AND run <> VALUES(run), VALUES(value), value),
run = IF(ends <= {now}, VALUES(run), run),
ends = IF(run = VALUES(run), VALUES(ends) - {now} + {clock}, ends);
` + selectByNames,
	putRow: insertRows + ` ON DUPLICATE KEY UPDATE run = VALUES(run), value = VALUES(value), ends = VALUES(ends)`,
	renewLock: `UPDATE {entry} SET ends = {clock} + ? WHERE schedule = ? AND name = ? AND run = ?;
SELECT ROW_COUNT(), ''`,
	pruneRows: `DELETE FROM {entry} WHERE ends <= {now} ORDER BY ends LIMIT ?`,
	selectRisks: `SELECT 'innodb_flush_log_at_trx_commit is not 1', '' FROM DUAL WHERE @@innodb_flush_log_at_trx_commit <> 1
UNION ALL SELECT '', 'refuses' FROM DUAL WHERE @@global.read_only`,
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

// PostgreSQL computes the values of an insert, and of a plain update, before it waits for the row.
var postgresDialect = &dialect{
	name: "PostgreSQL",
	url:  "postgres://",

	primaryHint: "name the primary in the URL, or all servers: postgres://user@host,host/database",
	now:         "(extract(epoch FROM statement_timestamp()) * 1000)::bigint",
	clock:       "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
	takeRows: `WITH taken AS (` + insertRows + ` ON CONFLICT (schedule, name) DO UPDATE SET
value = CASE WHEN {entry}.run = excluded.run THEN {entry}.value ELSE excluded.value END,
run = excluded.run, ends = excluded.ends - {now} + {clock}
WHERE {entry}.ends <= {now} OR {entry}.run = excluded.run RETURNING name, value)
SELECT name, value FROM taken UNION ALL ` + selectByNames + ` AND name NOT IN (SELECT name FROM taken)`,
	putRow: insertRows + ` ON CONFLICT (schedule, name) DO UPDATE SET
run = excluded.run, value = excluded.value, ends = excluded.ends`,
	renewLock: `WITH renewed AS (UPDATE {entry} SET ends = {clock} + ours.keep
FROM (SELECT ?::bigint AS keep, schedule, name FROM {entry} WHERE schedule = ? AND name = ? AND run = ? FOR UPDATE) AS ours
WHERE {entry}.schedule = ours.schedule AND {entry}.name = ours.name RETURNING ours.name)
SELECT count(*)::text, ''::bytea FROM renewed`,
	pruneRows: `DELETE FROM {entry} WHERE ctid = ANY (ARRAY (
SELECT ctid FROM {entry} WHERE ends <= {now} ORDER BY ends LIMIT ? FOR UPDATE SKIP LOCKED))`,
	selectRisks: `SELECT name || ' = off', ''::bytea FROM pg_settings
WHERE name IN ('fsync', 'synchronous_commit') AND setting = 'off'
UNION ALL SELECT '', 'refuses'::bytea WHERE pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'`,
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

// fill replaces the placeholders {names}, {rows} and {values} by lists of n elements. It must be
// called before target.sql, because {rows} has a {now} and arguments.
func fill(statement string, n int) string {
	list := func(element string) string { return strings.TrimSuffix(strings.Repeat(element+", ", n), ", ") }
	return strings.NewReplacer(
		"{names}", list("?"),
		"{rows}", list("(?, ?, ?, ?, {now} + ?)"),
		"{values}", list("(?, ?, ?)"),
	).Replace(statement)
}
