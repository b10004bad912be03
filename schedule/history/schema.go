package history

// tablesVersion is the version of the tables. A sched that knows an older one refuses the file.
const tablesVersion = 1

// tables makes the tables. Times are microseconds since 1970 in UTC, and NULL for the zero time (but a slot, which orders rows,
// is never NULL). Processor times are microseconds. The path of an output inside the state folder is relative to the folder,
// so that the folder can be moved.
//
// A row of runs may stand for several slots, from slot through until. The column origin says what asked for the run if its
// schedule did not, and chain, as JSON, what triggered it and what its hooks triggered (see rare).
//
// Each index answers one question on a million rows without a scan:
//   - runs_task, runs_slot: the newest rows of a task, and of all; what is old; where a snapshot is used;
//   - runs_mutex: the same of a mutex, for rows whose mutex has another name than the task;
//   - runs_ran: the newest row of a task that says how its command went (Last, Previous);
//   - runs_trouble: the newest failures of all tasks; small while most runs succeed;
//   - runs_tail: a run by the end of its id;
//   - runs_until: which rows of several slots reach into a time.
//
// The rows of a tick are of as many tasks, so an index that is sorted by task costs a page a row, and dominates the cost of
// Add: runs_mutex is partial for that reason, and snapshots have no index. The hash of a snapshot is of the task and the body,
// so that tasks share none.
//
// The table totals has, of each task and outcome, how many slots there were in all, and the newest record. It has one dense
// row a task and outcome; runs has a thousand (docs/decisions.md#slots-are-counted-in-a-table).
const tables = `
CREATE TABLE snapshots (
	id   INTEGER PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	body TEXT NOT NULL
);
CREATE TABLE runs (
	run         TEXT NOT NULL PRIMARY KEY,
	task        TEXT NOT NULL,
	mutex       TEXT NOT NULL,
	slot        INTEGER NOT NULL,
	background  INTEGER NOT NULL,
	server      TEXT NOT NULL,
	started     INTEGER,
	ended       INTEGER,
	outcome     TEXT NOT NULL,
	reason      TEXT NOT NULL,
	exit_code   INTEGER,
	attempts    INTEGER NOT NULL,
	user_cpu    INTEGER NOT NULL,
	system_cpu  INTEGER NOT NULL,
	peak_memory INTEGER NOT NULL,
	output      TEXT NOT NULL,
	notes       TEXT,
	snapshot    INTEGER REFERENCES snapshots (id),
	until       INTEGER,
	slots       INTEGER NOT NULL DEFAULT 0,
	origin      TEXT NOT NULL DEFAULT '',
	chain       TEXT
);
CREATE INDEX runs_task    ON runs (task, slot, snapshot);
CREATE INDEX runs_mutex   ON runs (mutex, slot) WHERE mutex <> task;
CREATE INDEX runs_slot    ON runs (slot);
CREATE INDEX runs_ran     ON runs (task, run) WHERE outcome NOT IN ('skipped', 'missed');
CREATE INDEX runs_trouble ON runs (outcome, slot) WHERE outcome <> 'succeeded';
CREATE INDEX runs_tail    ON runs (substr(run, -4));
CREATE INDEX runs_until   ON runs (until, slot, task) WHERE until IS NOT NULL;
CREATE TABLE meta (
	key   TEXT NOT NULL PRIMARY KEY,
	value ANY
) WITHOUT ROWID;
CREATE TABLE totals (
	task      TEXT NOT NULL,
	outcome   TEXT NOT NULL,
	slots     INTEGER NOT NULL,
	run       TEXT NOT NULL,
	slot      INTEGER NOT NULL,
	started   INTEGER,
	ended     INTEGER,
	exit_code INTEGER,
	PRIMARY KEY (task, outcome)
) WITHOUT ROWID;` + hoursTable

// ran is the condition of runs_ran; SQLite takes a partial index only for the very same words
// (https://www.sqlite.org/partialindex.html).
const ran = `outcome NOT IN ('skipped', 'missed')`
