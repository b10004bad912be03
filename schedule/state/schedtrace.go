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
// triggers and in the transaction of the change. The programs in spec compare that with the models.
// No release is built so: another sched cannot open such a database.

func init() {
	sqlite.MustRegisterScalarFunction("monotonic", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		var now unix.Timespec
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
		return now.Nano(), err
	})
	migrations = append(migrations, traced)
}

const traced = `
CREATE TABLE trace (
	seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, run TEXT NOT NULL, task TEXT NOT NULL, slot INTEGER NOT NULL, one INTEGER NOT NULL,
	was TEXT, phase TEXT, had INTEGER, owner INTEGER, kind TEXT, outcome TEXT, attempt INTEGER NOT NULL
);
CREATE TRIGGER trace_added AFTER INSERT ON run BEGIN
	INSERT INTO trace (at, run, task, slot, one, phase, owner, kind, outcome, attempt) VALUES
		(monotonic(), NEW.id, NEW.task, NEW.slot, NEW.scheduled AND NEW.last_slot IS NULL, NEW.phase, NEW.owner, (SELECT kind FROM owner WHERE id = NEW.owner), NEW.outcome, NEW.attempt);
END;
CREATE TRIGGER trace_changed AFTER UPDATE OF phase, owner, outcome, attempt ON run
	WHEN OLD.phase <> NEW.phase OR OLD.owner IS NOT NEW.owner OR OLD.outcome IS NOT NEW.outcome OR OLD.attempt <> NEW.attempt BEGIN
	INSERT INTO trace (at, run, task, slot, one, was, phase, had, owner, kind, outcome, attempt) VALUES
		(monotonic(), NEW.id, NEW.task, NEW.slot, NEW.scheduled AND NEW.last_slot IS NULL, OLD.phase, NEW.phase, OLD.owner, NEW.owner, (SELECT kind FROM owner WHERE id = NEW.owner), NEW.outcome, NEW.attempt);
END;
CREATE TRIGGER trace_removed AFTER DELETE ON run BEGIN
	INSERT INTO trace (at, run, task, slot, one, was, had, outcome, attempt) VALUES
		(monotonic(), OLD.id, OLD.task, OLD.slot, OLD.scheduled AND OLD.last_slot IS NULL, OLD.phase, OLD.owner, OLD.outcome, OLD.attempt);
END;
`

// A Traced is one change of a row. Was and Had are empty for a row that is new, Phase and Owner for
// one that is removed.
type Traced struct {
	At         int64  `json:"at"` // nanoseconds by the monotonic clock of the machine
	Run        string `json:"run"`
	Task       string `json:"task"`
	Slot       int64  `json:"slot"`
	One        bool   `json:"one"` // the row of one slot of the schedule
	Was        string `json:"was,omitempty"`
	Phase      string `json:"phase,omitempty"`
	Had, Owner int64
	Kind       string `json:"kind,omitempty"` // of the owner
	Outcome    string `json:"outcome,omitempty"`
	Attempt    int    `json:"attempt"`
}

// Traces returns all changes in their order.
func Traces(ctx context.Context, db *DB) ([]Traced, error) {
	scan := func(rows *sql.Rows) (t Traced, err error) {
		err = rows.Scan(&t.At, &t.Run, &t.Task, &t.Slot, &t.One, &t.Was, &t.Phase, &t.Had, &t.Owner, &t.Kind, &t.Outcome, &t.Attempt)
		return t, err
	}
	return ask(ctx, db, func(q querier) ([]Traced, error) {
		return listed(ctx, q, scan, `SELECT at, run, task, slot, one, coalesce(was, ''), coalesce(phase, ''), coalesce(had, 0),
			coalesce(owner, 0), coalesce(kind, ''), coalesce(outcome, ''), attempt FROM trace ORDER BY seq`)
	})
}
