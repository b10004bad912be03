//go:build schedtrace

package state

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
)

// A binary that is built with -tags schedtrace writes each change of a row into the table trace, by
// triggers and in the transaction of the change. spec/traces compares the trace with spec/plan.pml.
// No release is built so: another sched cannot open such a database.

func init() {
	sqlite.MustRegisterScalarFunction("monotonic", 0, monotonic)
	migrations = append(migrations, traceTables)
}

func monotonic(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano(), err
}

const (
	// traceNew is the INSERT of the triggers for INSERT and UPDATE. Each of them adds the two
	// values of the row before the change.
	traceNew = `
	INSERT INTO trace (at, run, task, slot, is_slot, phase,
		owner, owner_kind, outcome, attempt, phase_before, owner_before)
	SELECT monotonic(), NEW.id, NEW.task, NEW.slot, NEW.scheduled AND NEW.last_slot IS NULL, NEW.phase,
		NEW.owner, (SELECT kind FROM owner WHERE id = NEW.owner), NEW.outcome, NEW.attempt, `

	// traceTables is the table of the changes, and the triggers that fill it.
	traceTables = `
CREATE TABLE trace (
	seq          INTEGER PRIMARY KEY,
	at           INTEGER NOT NULL,
	run          TEXT NOT NULL,
	task         TEXT NOT NULL,
	slot         INTEGER NOT NULL,
	is_slot      INTEGER NOT NULL,
	phase_before TEXT,
	phase        TEXT,
	owner_before INTEGER,
	owner        INTEGER,
	owner_kind   TEXT,
	outcome      TEXT,
	attempt      INTEGER NOT NULL
);
CREATE TRIGGER trace_added AFTER INSERT ON run BEGIN` + traceNew + `NULL, NULL;
END;
CREATE TRIGGER trace_changed AFTER UPDATE OF phase, owner, outcome, attempt ON run
	WHEN OLD.phase <> NEW.phase OR OLD.owner IS NOT NEW.owner OR OLD.outcome IS NOT NEW.outcome
		OR OLD.attempt <> NEW.attempt BEGIN` + traceNew + `OLD.phase, OLD.owner;
END;
CREATE TRIGGER trace_removed AFTER DELETE ON run BEGIN
	INSERT INTO trace (at, run, task, slot, is_slot, phase_before, owner_before, outcome, attempt)
	VALUES (monotonic(), OLD.id, OLD.task, OLD.slot, OLD.scheduled AND OLD.last_slot IS NULL,
		OLD.phase, OLD.owner, OLD.outcome, OLD.attempt);
END;
`
)

// A Traced is one change of a row. A field that has no value is empty: the fields before the change
// for a row that is new, Phase and Owner for a row that is removed.
type Traced struct {
	At          int64 // nanoseconds by the monotonic clock of the machine
	Run         string
	Task        string
	Slot        int64 // microseconds since 1970
	IsSlot      bool  // the row of one slot of the schedule
	PhaseBefore string
	Phase       string
	OwnerBefore int64
	Owner       int64
	OwnerKind   string
	Outcome     string
	Attempt     int
}

// Traces returns all changes in their order.
func Traces(ctx context.Context, db *DB) ([]Traced, error) {
	scan := func(rows *sql.Rows) (t Traced, err error) {
		err = rows.Scan(&t.At, &t.Run, &t.Task, &t.Slot, &t.IsSlot, &t.PhaseBefore, &t.Phase,
			&t.OwnerBefore, &t.Owner, &t.OwnerKind, &t.Outcome, &t.Attempt)
		return t, err
	}
	return ask(ctx, db, func(q querier) ([]Traced, error) {
		return listed(ctx, q, scan, `SELECT at, run, task, slot, is_slot,
				coalesce(phase_before, ''), coalesce(phase, ''),
				coalesce(owner_before, 0), coalesce(owner, 0), coalesce(owner_kind, ''),
				coalesce(outcome, ''), attempt
			FROM trace ORDER BY seq`)
	})
}
