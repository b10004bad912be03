package history

import (
	"sched/schedule/history/database"
	"sched/schedule/history/hours"
)

// migrations are all there ever were, oldest first. A later version of sched adds entries and never changes one.
var migrations = []database.Migration{tables, ranges, coverage, totals, chains, perHour}

// tables is version 1. Times are microseconds since 1970 in UTC, and NULL for the zero time (but a
// slot, which orders rows, is never NULL); processor times are microseconds; output is
// relative to the state folder when it lies inside it, so that the folder can be moved.
//
// Each index answers one question on a million rows without a scan:
//   - runs_task, runs_slot: the newest rows of a task, and of all; what is old; where a snapshot is used;
//   - runs_mutex: the same of a mutex, as far as its rows are not those of the task with its name;
//   - runs_ran: the newest row of a task that says how its command went (Last, Previous);
//   - runs_trouble: the newest failures of all tasks; small where most runs succeed;
//   - runs_tail: a run by the end of its id.
//
// The rows of a tick are of as many tasks, so an index that is sorted by task costs a page a row, and
// dominates the cost of Add: runs_mutex is partial for that reason, and snapshots have no index.
// The hash of a snapshot is of the task and the body, so that tasks share none.
const tables database.Migration = `
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
	snapshot    INTEGER REFERENCES snapshots (id)
);
CREATE INDEX runs_task    ON runs (task, slot, snapshot);
CREATE INDEX runs_mutex   ON runs (mutex, slot) WHERE mutex <> task;
CREATE INDEX runs_slot    ON runs (slot);
CREATE INDEX runs_ran     ON runs (task, run) WHERE outcome NOT IN ('skipped', 'missed');
CREATE INDEX runs_trouble ON runs (outcome, slot) WHERE outcome <> 'succeeded';
CREATE INDEX runs_tail    ON runs (substr(run, -4));
CREATE TABLE meta (
	key   TEXT NOT NULL PRIMARY KEY,
	value ANY
) WITHOUT ROWID;`

// ranges is version 2: a record may stand for several slots, from slot through until, and says what
// asked for it where that was not its schedule.
const ranges database.Migration = `
ALTER TABLE runs ADD COLUMN until  INTEGER;
ALTER TABLE runs ADD COLUMN slots  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT '';`

// coverage is version 3: runs_until answers which ranges reach into a time, which the index of their
// slots cannot. Only rows of several slots are in it, so it costs Add nothing for the others.
const coverage database.Migration = `
CREATE INDEX runs_until ON runs (until, slot, task) WHERE until IS NOT NULL;`

// totals is version 4: of each task and outcome, how many slots there were in all, and the newest record. It
// has one dense row a task and outcome, where runs has a thousand: Totals reads it
// (docs/decisions.md#slots-are-counted-in-a-table). SQLite takes the columns of a group from the row of its
// only max() (https://www.sqlite.org/lang_select.html#bareagg).
const totals database.Migration = `
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
) WITHOUT ROWID;
` + fillTotals

// chains is version 5: what triggered a run, and what its hooks triggered, as JSON (chain); NULL for neither.
const chains database.Migration = `
ALTER TABLE runs ADD COLUMN chain TEXT;`

// perHour is version 6: in which minutes of an hour a task had slots (package hours).
const perHour database.Migration = hours.Table

// hoursSince is the version of the first file that has the table hours. One of the version before can be read as it is: Hours asks
// the records themselves then.
const hoursSince = 6

// readableFrom is the version of the earliest file that is read as it is. Whoever adds a migration says what a reader does without it.
func readableFrom() int {
	if len(migrations) != hoursSince {
		return len(migrations)
	}
	return hoursSince - 1
}

const fillTotals = `INSERT INTO totals SELECT task, outcome, sum(max(slots, 1)), max(run), slot, started, ended, exit_code
	FROM runs GROUP BY task, outcome;`

// ran is the condition of runs_ran; SQLite takes a partial index only for the very same words
// (https://www.sqlite.org/partialindex.html).
const ran = `outcome NOT IN ('skipped', 'missed')`
