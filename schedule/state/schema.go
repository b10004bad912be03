package state

import (
	"context"
	"database/sql"
	"strconv"
)

// migrations are the versions of the tables, the oldest first. A later version of sched adds
// entries and never changes one. An entry only adds to the tables: processes of an older sched that
// watch runs go on writing the columns that they know.
var migrations = []string{tables, repeats, leased, survivors, ownerFiles, dueTimes, counts, reported, meant, tellings}

// firstVersion is the version of the first entry. Versions 1 to 6 were never released.
const firstVersion = 7

// newestVersion returns the version of the last entry. A file has its version in PRAGMA
// user_version.
func newestVersion() int { return firstVersion + len(migrations) - 1 }

// tables is the first version. docs/internals/state.md describes the columns for people who open
// the file with sqlite3. Times are microseconds since 1970 in UTC, and durations are microseconds.
const tables = `
-- Definitions of tasks as they were when a run began: a run does not read the schedule again.
CREATE TABLE definition (
	id     INTEGER PRIMARY KEY,
	digest BLOB NOT NULL UNIQUE,            -- SHA-256 of the body
	body   TEXT NOT NULL                    -- JSON; it has the name of its task, so no two tasks share one
);

-- Processes that are responsible for rows. A process lives while it has the flock of the file
-- locks/owner-ID.
CREATE TABLE owner (
	id    INTEGER PRIMARY KEY,              -- microseconds at which it began, or a little more
	kind  TEXT NOT NULL,                    -- tick, supervisor, finish
	pid   INTEGER NOT NULL,                 -- for people; a pid is given to others later
	since INTEGER NOT NULL
);

-- Slots and runs, past and present.
CREATE TABLE run (
	id          TEXT NOT NULL PRIMARY KEY,  -- UUIDv7: sorts by the time at which it was made
	task        TEXT NOT NULL,
	mutex       TEXT NOT NULL,              -- the mutex of its task, whether or not the task takes it
	pool        TEXT NOT NULL DEFAULT '',   -- the pool in which its task takes a seat; '' for none
	slot        INTEGER NOT NULL,           -- when it was due
	last_slot   INTEGER,                    -- of a row that stands for several missed slots: the last
	slots       INTEGER NOT NULL DEFAULT 1, -- how many slots it stands for
	previous_slot INTEGER,                  -- the slot of the schedule before this one
	scheduled   INTEGER NOT NULL,           -- 1: a slot of the schedule; 0: somebody or something asked for the run
	origin      TEXT NOT NULL DEFAULT '',   -- what asked for it, in words; '' for the schedule
	test        INTEGER NOT NULL DEFAULT 0, -- 1: sched test, which counts in no statistic
	cause       TEXT,                       -- the run after which it came
	cause_task  TEXT,
	cause_outcome TEXT,
	no_chain    INTEGER NOT NULL DEFAULT 0, -- 1: its hooks trigger no other task
	params      TEXT,                       -- JSON: the values of params that somebody set for it
	background  INTEGER NOT NULL DEFAULT 0,
	server      TEXT NOT NULL DEFAULT '',
	definition  INTEGER REFERENCES definition (id),

	phase       TEXT NOT NULL CHECK (phase IN ('waiting', 'planned', 'ready', 'running', 'finishing', 'ended')),
	owner       INTEGER CHECK ((owner IS NULL) = (phase IN ('waiting', 'ended'))),
	not_before  INTEGER,                    -- waiting and ready: nothing happens before
	until       INTEGER,                    -- waiting: afterwards it is too late
	waits_for   TEXT NOT NULL DEFAULT '' CHECK (waits_for IN ('', 'time', 'pause', 'mutex', 'seat', 'store')),
	waiting_since INTEGER,                  -- when it began to wait for what others have; NULL when it does not
	waited      INTEGER NOT NULL DEFAULT 0, -- for how long it has waited for that, before waiting_since
	locked      INTEGER NOT NULL DEFAULT 0, -- 1: it has its mutex
	seat        TEXT NOT NULL DEFAULT '',   -- the seat that it has in its pool; '' for none
	stop        TEXT,                       -- JSON: who asked to stop it, when and why

	attempt     INTEGER NOT NULL DEFAULT 0, -- the last that began; 0: none
	attempt_started INTEGER,
	pid         INTEGER,                    -- of that attempt, and of its process group; NULL before it is known
	boot        TEXT NOT NULL DEFAULT '',   -- of the machine, in which the attempt began

	started     INTEGER,                    -- when the first attempt began
	ended       INTEGER,                    -- when the outcome was settled
	outcome     TEXT CHECK (outcome IN ('succeeded', 'failed', 'timed out', 'stopped', 'lost', 'skipped', 'missed')),
	kind        TEXT NOT NULL DEFAULT '',   -- why, for code: a closed list
	reason      TEXT NOT NULL DEFAULT '',   -- why, for people; of a waiting row: for what it waits; see Row.SayCount
	exit_code   INTEGER,                    -- of the last attempt
	user_cpu    INTEGER NOT NULL DEFAULT 0, -- the processor time of all attempts, in microseconds
	system_cpu  INTEGER NOT NULL DEFAULT 0,
	peak_memory INTEGER NOT NULL DEFAULT 0, -- bytes, of the largest process; 0 when it is not known
	limits      TEXT NOT NULL DEFAULT '',   -- how its limits were kept, in words; '' without
	output      TEXT NOT NULL DEFAULT '',   -- the file, below output/ in the state folder; '' when nothing was printed
	notes       TEXT,                       -- JSON: a list of texts
	triggered   TEXT,                       -- JSON: the runs that its hooks asked for, a task and a run each
	unpublished INTEGER NOT NULL DEFAULT 0, -- 1: other servers of the store do not know of it yet
	unreported  INTEGER NOT NULL DEFAULT 0, -- 1: it ended badly, and no tick has printed that yet

	CHECK ((outcome IS NOT NULL) = (phase IN ('finishing', 'ended')))
);
CREATE UNIQUE INDEX run_once ON run (task, slot)                      -- a slot of the schedule has one row
	WHERE scheduled = 1 AND last_slot IS NULL;
CREATE INDEX run_task  ON run (task, slot);                           -- the newest rows of a task
CREATE INDEX run_slot  ON run (slot);                                 -- the newest rows of all
CREATE INDEX run_sum   ON run                                         -- what hours and summaries add up
	(task, outcome, slot, ended - started, iif(scheduled, started - slot, NULL), last_slot, test)
	WHERE outcome IS NOT NULL AND last_slot IS NULL AND test = 0;
CREATE INDEX run_live  ON run (phase, owner) WHERE phase <> 'ended';  -- what is going on
CREATE INDEX run_ran   ON run (task, id, outcome, ended - started, test) -- how a task's last runs ended
	WHERE outcome NOT IN ('skipped', 'missed') AND test = 0;
CREATE INDEX run_bad   ON run (outcome, slot) WHERE outcome <> 'succeeded';
CREATE INDEX run_warned ON run (slot) WHERE kind = 'warning';         -- the successes with a warning
CREATE INDEX run_mutex ON run (mutex, slot) WHERE mutex <> task;
CREATE INDEX run_range ON run (last_slot, slot, task) WHERE last_slot IS NOT NULL;
CREATE INDEX run_tail  ON run (substr(id, -4));                       -- a run by the end of its id
CREATE INDEX run_unpublished ON run (unpublished) WHERE unpublished = 1;
CREATE INDEX run_unreported ON run (unreported) WHERE unreported = 1;

-- How many slots of each task have ended with each outcome, the pruned ones included: monitoring
-- counts on numbers that never go down. Only a slot that was missed and turns out to have run is
-- taken back.
CREATE TABLE total (
	task      TEXT NOT NULL,
	outcome   TEXT NOT NULL,
	slots     INTEGER NOT NULL,
	run       TEXT NOT NULL,                -- the newest of them; the columns below are its own
	slot      INTEGER NOT NULL,
	started   INTEGER,
	ended     INTEGER,
	exit_code INTEGER,
	PRIMARY KEY (task, outcome)
) WITHOUT ROWID;
CREATE TRIGGER total_added AFTER INSERT ON run
	WHEN NEW.outcome IS NOT NULL AND NEW.test = 0 BEGIN` + addToTotal + `END;
CREATE TRIGGER total_ended AFTER UPDATE OF outcome ON run
	WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL AND NEW.test = 0 BEGIN` + addToTotal + `END;
CREATE TRIGGER total_changed AFTER UPDATE OF slots ON run
	WHEN OLD.outcome IS NOT NULL AND NEW.test = 0 BEGIN
	UPDATE total SET slots = slots + NEW.slots - OLD.slots WHERE task = NEW.task AND outcome = OLD.outcome;
END;

-- Hooks of runs that have not ended. A hook without an end was being fired when its process was
-- killed: it is fired again.
CREATE TABLE hook (
	run   TEXT NOT NULL,                    -- or the id of an incident: see on_overdue
	name  TEXT NOT NULL,                    -- on_failure 1: the key, and the place in its list
	begun INTEGER NOT NULL,
	tries INTEGER NOT NULL DEFAULT 1,       -- how often it has begun
	ended INTEGER,
	pid   INTEGER,                          -- of a command; NULL for others
	note  TEXT NOT NULL DEFAULT '',         -- how it failed
	PRIMARY KEY (run, name)
) WITHOUT ROWID;

-- The outbox: notifications until they were delivered, and for as long as at_most has to count them.
CREATE TABLE message (
	id         TEXT NOT NULL PRIMARY KEY,   -- the run and the hook: the same message is put in once
	sender     TEXT NOT NULL,               -- the task and the hook: at_most counts by it, a newer ping replaces by it
	task       TEXT NOT NULL,
	run        TEXT NOT NULL,
	hook       TEXT NOT NULL,
	target     TEXT NOT NULL,               -- JSON: where to
	body       TEXT NOT NULL,               -- JSON: what
	created    INTEGER NOT NULL,
	replaces   INTEGER NOT NULL,            -- 1: a ping, which replaces older ones of its sender
	status     TEXT NOT NULL CHECK (status IN ('due', 'held', 'refused', 'sent')),
	not_before INTEGER NOT NULL,            -- due: the next attempt comes then
	owner      INTEGER,                     -- the process that makes an attempt now
	tries      INTEGER NOT NULL DEFAULT 0,
	tried      INTEGER,                     -- the last attempt
	failing    INTEGER,                     -- since when attempts fail; if it is sent, it was given up
	error      TEXT NOT NULL DEFAULT '',    -- of the last attempt
	reported   INTEGER NOT NULL DEFAULT 0,  -- 1: a tick has printed that error; held: a success came since
	addresses  TEXT,                        -- JSON: indexes of the addresses that still need it; NULL for all
	held_back  INTEGER NOT NULL DEFAULT 0,  -- how many messages before it were held back by at_most
	held_since INTEGER,                     -- the first of them
	sent       INTEGER,
	most       INTEGER NOT NULL DEFAULT 0,  -- at_most: so many messages; 0: no limit, and a sent one is removed
	per        INTEGER NOT NULL DEFAULT 0   -- at_most: in so many microseconds
);
CREATE INDEX message_sender ON message (sender, status);
CREATE INDEX message_due    ON message (not_before) WHERE status = 'due';

-- What people paused. A pause that is over stays: it says what was paused when. A task may have
-- several, one of them at most begun by hand.
CREATE TABLE pause (
	task    TEXT NOT NULL,                  -- * for everything
	planned INTEGER NOT NULL DEFAULT 0,     -- the time at which it was to begin; 0: it began when it was made
	by      TEXT NOT NULL,
	server  TEXT NOT NULL,
	reason  TEXT NOT NULL,
	since   INTEGER NOT NULL,
	until   INTEGER,                        -- NULL: until somebody ends it
	ended   INTEGER,                        -- when somebody ended it, or took it back
	version INTEGER NOT NULL,               -- of two copies the one with the larger version counts
	stop    INTEGER NOT NULL DEFAULT 0,     -- 1: runs that go on when it begins are stopped
	PRIMARY KEY (task, planned)
) WITHOUT ROWID;

-- The last valid text of each schedule of this folder, which runs while its file is not valid.
CREATE TABLE schedule (
	file    TEXT NOT NULL PRIMARY KEY,      -- absolute
	digest  TEXT NOT NULL,
	machine TEXT NOT NULL,                  -- name and labels of the machine, if tasks have servers
	text    BLOB NOT NULL,                  -- an archive of the file and of all that it names
	since   INTEGER NOT NULL
);

-- What people changed, by commands, through the API and on the pages.
CREATE TABLE audit (
	id     INTEGER PRIMARY KEY,
	at     INTEGER NOT NULL,
	who    TEXT NOT NULL,
	origin TEXT NOT NULL,                   -- how it was asked: command, socket, or an address
	action TEXT NOT NULL,
	target TEXT NOT NULL,                   -- the task or the run
	reason TEXT NOT NULL,
	error  TEXT NOT NULL                    -- why it was not done; '' when it was
);

-- Single values: covered (the last minute that a tick covered), covered_by (the file of its schedule),
-- newest_covered (the newest ever), boot, pauses_of (the store whose pauses these are), interrupt, …
CREATE TABLE meta (
	key   TEXT NOT NULL PRIMARY KEY,
	value ANY
) WITHOUT ROWID;
`

// addToTotal adds a row to its total. It keeps the newest run, in whatever order runs end.
const addToTotal = `
	INSERT INTO total (task, outcome, slots, run, slot, started, ended, exit_code)
	VALUES (NEW.task, NEW.outcome, NEW.slots, NEW.id, NEW.slot, NEW.started, NEW.ended, NEW.exit_code)
	ON CONFLICT DO UPDATE SET slots = slots + excluded.slots, run = max(run, excluded.run),
		slot      = iif(excluded.run > run, excluded.slot, slot),
		started   = iif(excluded.run > run, excluded.started, started),
		ended     = iif(excluded.run > run, excluded.ended, ended),
		exit_code = iif(excluded.run > run, excluded.exit_code, exit_code);
`

// repeats is the version in which a retry keeps the slot of its run.
const repeats = `
ALTER TABLE run ADD COLUMN repeats INTEGER; -- of a retry: the slot that its command is for; NULL: slot
CREATE INDEX run_repeats ON run (task, outcome, repeats) WHERE repeats IS NOT NULL;
`

// leased is the version in which a run with on_lost_lease: stop keeps the age of its lease, and a
// run that waits for its mutex knows how long it has waited, whatever the clock is set to.
const leased = `
ALTER TABLE run ADD COLUMN leased INTEGER; -- when its lease was renewed last, after the boot; NULL: a loss stops nothing
ALTER TABLE run ADD COLUMN waiting_boot INTEGER; -- waiting_since, after the boot that is in boot; NULL: not known
`

// survivors is the version in which a run names the processes that it could not end.
const survivors = `
ALTER TABLE run ADD COLUMN survivors TEXT NOT NULL DEFAULT ''; -- PID@START of each process that KILL did not end
`

// ownerFiles is the version in which an owner names its file, so that a copy of it counts as one.
const ownerFiles = `
ALTER TABLE owner ADD COLUMN device INTEGER NOT NULL DEFAULT 0; -- of the file locks/owner-ID
ALTER TABLE owner ADD COLUMN inode  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owner ADD COLUMN boot   TEXT NOT NULL DEFAULT '';   -- of the machine, and of its container
`

// dueTimes is the version in which a valid schedule says when its tasks were due.
const dueTimes = `
ALTER TABLE schedule ADD COLUMN times TEXT; -- JSON: when each task is due that runs on the machine; NULL: not known
`

// counts is the version in which the reason of a range does not say how many slots it has.
const counts = `
UPDATE run SET reason = replace(replace(reason, slots || ' times until ', ''), 'once until ', '')
WHERE last_slot IS NOT NULL;
`

// reported is the version with the values that runs report.
const reported = `
CREATE TABLE value (
	run     TEXT NOT NULL,
	attempt INTEGER NOT NULL,               -- a run has the values of its last attempt
	name    TEXT NOT NULL,
	task    TEXT NOT NULL,
	at      INTEGER NOT NULL,               -- when the attempt had ended
	value   REAL NOT NULL,
	PRIMARY KEY (run, attempt, name)
) WITHOUT ROWID;
CREATE INDEX value_spent ON value (task, name, at);
CREATE INDEX value_at    ON value (at);
`

// meant is the version in which a run knows the day that it was meant for.
const meant = `
ALTER TABLE run ADD COLUMN nominal TEXT NOT NULL DEFAULT ''; -- 2027-05-01; '' without a calendar
ALTER TABLE run ADD COLUMN moved   TEXT NOT NULL DEFAULT ''; -- why its slot is on another day, for people
`

// tellings is the version in which a run says which of its notifications arrived.
const tellings = `
ALTER TABLE run ADD COLUMN told TEXT; -- JSON: notifications that arrived, or that nobody gets; see Told
`

// Conditions of partial indexes. SQLite uses such an index only for a query that repeats its
// condition in the very same words (https://www.sqlite.org/partialindex.html).
const (
	notEnded = "phase <> 'ended'"                                       // run_live
	Ran      = "outcome NOT IN ('skipped', 'missed') AND test = 0"      // run_ran: rows that say how a command went
	Single   = "outcome IS NOT NULL AND last_slot IS NULL AND test = 0" // run_sum: one slot; statistics count it
)

// migrate runs the migrations after version, in one transaction.
func migrate(conn *sql.DB, version int) error {
	if version >= newestVersion() {
		return nil
	}
	tx, err := conn.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, migration := range migrations[max(0, version-firstVersion+1):] {
		if _, err := tx.Exec(migration); err != nil {
			return err
		}
	}
	if _, err := tx.Exec("PRAGMA user_version = " + strconv.Itoa(newestVersion())); err != nil {
		return err
	}
	return tx.Commit()
}
