package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"time"

	"sched/schedule/outcome"
)

const columns = columnsAlone + `(SELECT body FROM snapshots WHERE id = snapshot)`

// columnsAlone are columns but the last one, the snapshot, which is in a table of its own.
const columnsAlone = `run, task, mutex, slot, background, server, started, ended, outcome, reason, exit_code,
	attempts, user_cpu, system_cpu, peak_memory, output, notes, until, slots, origin, chain, `

// fewColumns are those of a Short query.
const fewColumns = `run, task, slot, started, ended, outcome, reason, attempts, until, slots, origin`

const selectRuns = `SELECT ` + columns + ` FROM runs WHERE `

// find returns the rows of a query whose result is columns.
func (db *DB) find(ctx context.Context, conn *sql.DB, query string, args ...any) ([]outcome.Record, error) {
	return found(ctx, conn, db.unpack, query, args)
}

// findShort returns the rows of a query whose result is fewColumns.
func findShort(ctx context.Context, conn *sql.DB, query string, args ...any) ([]outcome.Record, error) {
	return found(ctx, conn, unpackShort, query, args)
}

func found(ctx context.Context, conn *sql.DB, unpack func(*sql.Rows) (outcome.Record, error), query string, args []any) ([]outcome.Record, error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var records []outcome.Record
	for rows.Next() {
		r, err := unpack(rows)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

func (db *DB) unpack(rows *sql.Rows) (outcome.Record, error) {
	var (
		r                     outcome.Record
		slot, user, system    int64
		started, ended, until sql.Null[int64]
		exit                  sql.Null[int]
		endedAs               string
		output, notes, shared sql.RawBytes
		chain                 sql.RawBytes
	)
	err := rows.Scan(&r.Run, &r.Task, &r.Mutex, &slot, &r.Background, &r.Server, &started, &ended, &endedAs, &r.Reason,
		&exit, &r.Attempts, &user, &system, &r.PeakMemory, &output, &notes, &until, &r.Slots, &r.Origin, &chain, &shared)
	if err != nil {
		return outcome.Record{}, err
	}
	r.Slot, r.Started, r.Ended = time.UnixMicro(slot).UTC(), unpackTime(started), unpackTime(ended)
	r.Outcome, r.Until = outcome.Outcome(endedAs), unpackTime(until)
	r.UserCPU, r.SystemCPU = time.Duration(user)*time.Microsecond, time.Duration(system)*time.Microsecond
	r.Output = unpackPath(db.dir, string(output))
	if exit.Valid {
		r.ExitCode = &exit.V
	}
	if len(shared) > 0 {
		r.Snapshot = json.RawMessage(string(shared))
	}
	if len(notes) > 0 {
		err = json.Unmarshal(notes, &r.Notes)
	}
	if len(chain) > 0 && err == nil {
		err = unpackChain(chain, &r)
	}
	return r, err
}

// unpackShort is unpack of fewColumns: a picture is made of thousands of them.
func unpackShort(rows *sql.Rows) (outcome.Record, error) {
	var (
		r                     outcome.Record
		endedAs               string
		slot, attempts, slots int64
		started, ended, until sql.Null[int64]
	)
	err := rows.Scan(&r.Run, &r.Task, &slot, &started, &ended, &endedAs, &r.Reason, &attempts, &until, &slots, &r.Origin)
	r.Slot, r.Started, r.Ended, r.Until = time.UnixMicro(slot).UTC(), unpackTime(started), unpackTime(ended), unpackTime(until)
	r.Outcome, r.Attempts, r.Slots = outcome.Outcome(endedAs), int(attempts), int(slots)
	return r, err
}

func unpackTime(t sql.Null[int64]) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return time.UnixMicro(t.V).UTC()
}

func unpackPath(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// rare is the column chain of a run: what came before it, what after, and how long it waited. Few runs have any of it.
type rare struct {
	Cause     *outcome.Cause      `json:"cause,omitempty"`
	Triggered []outcome.Triggered `json:"triggered,omitempty"`
	Waited    time.Duration       `json:"waited,omitempty"`
}

func packChain(r outcome.Record) (any, error) {
	if r.Cause == nil && len(r.Triggered) == 0 && r.Waited == 0 {
		return nil, nil
	}
	b, err := json.Marshal(rare{r.Cause, r.Triggered, r.Waited})
	return string(b), err
}

func unpackChain(text []byte, r *outcome.Record) error {
	var has rare
	err := json.Unmarshal(text, &has)
	r.Cause, r.Triggered, r.Waited = has.Cause, has.Triggered, has.Waited
	return err
}
