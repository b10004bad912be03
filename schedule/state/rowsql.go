package state

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
)

// This file moves rows between Go and the table run.

// columns are the columns of a row. The lists in values and scan have the same order and the same
// lines.
const columns = `id, task, mutex, pool, background, server,
	slot, last_slot, slots, previous_slot, repeats,
	scheduled, origin, test, no_chain, params,
	cause, cause_task, cause_outcome,
	phase, owner, locked, seat, stop,
	waits_for, not_before, until,
	waiting_since, waiting_boot, waited,
	attempt, attempt_started, pid, boot, leased,
	started, ended, outcome, kind, reason, exit_code,
	user_cpu, system_cpu, peak_memory, output, limits, survivors,
	notes, triggered, unpublished, unreported, definition`

// selectRows begins a query for rows. Conditions follow.
const selectRows = "SELECT " + columns + " FROM run "

// values returns the values of columns.
func (r Row) values(q querier) ([]any, error) {
	cause := outcome.Cause{}
	if r.Cause != nil {
		cause = *r.Cause
	}
	params, paramsErr := packJSON(r.Params)
	stop, stopErr := packJSON(r.Stop)
	notes, notesErr := packJSON(r.Notes)
	triggered, triggeredErr := packJSON(r.Triggered)
	if err := errors.Join(paramsErr, stopErr, notesErr, triggeredErr); err != nil {
		return nil, err
	}
	wait, waited, attempt := r.Wait, r.Wait.Waited.Microseconds(), r.Attempt
	return []any{
		r.ID, r.Task, r.Mutex, r.Pool, r.Background, r.Server,
		r.Slot.UnixMicro(), packTime(r.LastSlot), max(r.Slots, 1), packTime(r.PreviousSlot), packTime(r.Repeats),
		r.Scheduled, r.Origin, r.Test, r.NoChain, params,
		orNull(cause.Run), orNull(cause.Task), orNull(string(cause.Outcome)),
		string(r.Phase), orNull(r.Owner), r.Locked, r.Seat, stop,
		string(wait.For), packTime(wait.NotBefore), packTime(wait.Until),
		packTime(wait.Since), orNull(wait.AfterBoot.Microseconds()), waited,
		attempt.Number, packTime(attempt.At), orNull(attempt.PID), attempt.Boot, packTime(attempt.Leased),
		packTime(r.Started), packTime(r.Ended), orNull(string(r.Outcome)), string(r.Kind), r.Reason, r.ExitCode,
		r.UserCPU.Microseconds(), r.SystemCPU.Microseconds(), r.PeakMemory, q.relative(r.Output), r.Limits, r.Survivors,
		notes, triggered, r.Unpublished, r.Unreported, orNull(r.DefinitionID),
	}, nil
}

// scan reads the columns of one row.
func scan(rows *sql.Rows) (r Row, err error) {
	var cause outcome.Cause
	wait := &r.Wait
	err = rows.Scan(
		&r.ID, &r.Task, &r.Mutex, &r.Pool, &r.Background, &r.Server,
		asTime(&r.Slot), asTime(&r.LastSlot), &r.Slots, asTime(&r.PreviousSlot), asTime(&r.Repeats),
		&r.Scheduled, &r.Origin, &r.Test, &r.NoChain, asJSON(&r.Params),
		orZero(&cause.Run), orZero(&cause.Task), orZero(&cause.Outcome),
		&r.Phase, orZero(&r.Owner), &r.Locked, &r.Seat, asJSON(&r.Stop),
		&wait.For, asTime(&wait.NotBefore), asTime(&wait.Until),
		asTime(&wait.Since), asDuration(&wait.AfterBoot), asDuration(&wait.Waited),
		&r.Attempt.Number, asTime(&r.Attempt.At), orZero(&r.Attempt.PID), &r.Attempt.Boot, asTime(&r.Attempt.Leased),
		asTime(&r.Started), asTime(&r.Ended), orZero(&r.Outcome), &r.Kind, &r.Reason, &r.ExitCode,
		asDuration(&r.UserCPU), asDuration(&r.SystemCPU), &r.PeakMemory, &r.Output, &r.Limits, &r.Survivors,
		asJSON(&r.Notes), asJSON(&r.Triggered), &r.Unpublished, &r.Unreported, orZero(&r.DefinitionID),
	)
	if cause.Run != "" {
		r.Cause = &cause
	}
	// A before-hook that failed the run left its note when the reason was not yet written.
	r.Notes = slices.DeleteFunc(r.Notes, func(note string) bool { return note == r.Reason })
	return r, err
}

// rowsOf asks a query for rows.
func rowsOf(ctx context.Context, q querier, query string, args ...any) (all []Row, err error) {
	all, err = listed(ctx, q, scan, query, args...)
	for i := range all {
		all[i].Output = q.absolute(all[i].Output)
	}
	return all, err
}

// wholeRows asks a query for rows, with their snapshots.
func wholeRows(ctx context.Context, q querier, query string, args ...any) ([]Row, error) {
	rows, err := rowsOf(ctx, q, query, args...)
	if err != nil {
		return nil, err
	}
	bodies := map[int64]json.RawMessage{}
	for i, r := range rows {
		if _, known := bodies[r.DefinitionID]; !known && r.DefinitionID != 0 {
			var body string
			err := q.QueryRowContext(ctx, "SELECT body FROM definition WHERE id = ?", r.DefinitionID).Scan(&body)
			if err != nil {
				return nil, err
			}
			bodies[r.DefinitionID] = json.RawMessage(body)
		}
		rows[i].Snapshot = bodies[r.DefinitionID]
	}
	return rows, nil
}

// packTime returns the microseconds of a time, and NULL for the zero time.
func packTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// orNull returns a value, and NULL for the zero value.
func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// packJSON returns the JSON of a value, and NULL for a value that is nil or empty.
func packJSON(value any) (any, error) {
	text, err := json.Marshal(value)
	switch string(text) {
	case "null", "[]", "{}":
		return nil, err
	}
	return string(text), err
}

// A target says where sql.Rows.Scan puts a column whose Go type is not its type in SQL.
type target func(column any) error

// Scan makes a target a sql.Scanner.
func (t target) Scan(column any) error { return t(column) }

// asTime reads microseconds since 1970, and NULL as the zero time.
func asTime(t *time.Time) target {
	return func(column any) error {
		var n sql.NullInt64
		err := n.Scan(column)
		*t = time.Time{}
		if n.Valid {
			*t = time.UnixMicro(n.Int64).UTC()
		}
		return err
	}
}

// asDuration reads microseconds.
func asDuration(d *time.Duration) target {
	return func(column any) error {
		var n sql.NullInt64
		err := n.Scan(column)
		*d = micros(n.Int64)
		return err
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// asJSON reads JSON into the value behind a pointer, and leaves that value as it is for NULL.
func asJSON(value any) target {
	return func(column any) error {
		var text sql.NullString
		if err := text.Scan(column); err != nil || !text.Valid {
			return err
		}
		return json.Unmarshal([]byte(text.String), value)
	}
}

// orZero reads a column that may be NULL, which is the zero value.
func orZero[T any](value *T) target {
	return func(column any) error {
		var v sql.Null[T]
		err := v.Scan(column)
		*value = v.V
		return err
	}
}

// relative returns the path of an output as the database has it: relative to the folder output/. So
// the state folder can be moved.
func (q querier) relative(path string) string { return strings.TrimPrefix(path, q.outputs) }

// absolute undoes relative.
func (q querier) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return q.outputs + path
}

// insertRow adds a row, unless its id, or its slot of the schedule, has a row already.
var insertRow = "INSERT INTO run (" + columns + ") VALUES (" +
	strings.Repeat("?, ", strings.Count(columns, ",")) + "?) ON CONFLICT DO NOTHING"

// insert adds rows, and returns the rows that were added. If a row of several slots stands for a
// slot of the schedule, the slot has a row and is not added.
func insert(ctx context.Context, q querier, rows []Row) (added []Row, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ranges, err := rangesOver(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	inserter, err := newInserter(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		hasSlot := func(several rangeRow) bool { return several.has(r) }
		if r.Scheduled && !r.IsRange() && slices.ContainsFunc(ranges, hasSlot) {
			continue
		}
		did, err := inserter.insert(r)
		if err != nil {
			return nil, err
		}
		if did {
			added = append(added, r)
		}
		if r.IsRange() {
			ranges = append(ranges, rangeRow{task: r.Task, first: r.Slot, last: r.LastSlot})
		}
	}
	return added, nil
}

// An inserter adds rows in one transaction, with which its statements end.
type inserter struct {
	ctx       context.Context
	q         querier
	row       *statement
	knownBody *statement
}

func newInserter(ctx context.Context, q querier) (*inserter, error) {
	row, err := q.prepare(ctx, insertRow)
	if err != nil {
		return nil, err
	}
	knownBody, err := q.prepare(ctx, "SELECT id FROM definition WHERE digest = ?")
	return &inserter{ctx, q, row, knownBody}, err
}

// insert reports false when the row is there already.
func (i *inserter) insert(r Row) (added bool, err error) {
	if r.DefinitionID, err = define(i.ctx, i.q, i.knownBody, r.Snapshot); err != nil {
		return false, err
	}
	values, err := r.values(i.q)
	if err != nil {
		return false, err
	}
	did, err := i.row.ExecContext(i.ctx, values...)
	if err != nil {
		return false, err
	}
	n, err := did.RowsAffected()
	return n > 0, err
}

// define returns the id of a snapshot, and adds the snapshot when it is not known. It returns 0 for
// an empty snapshot.
func define(ctx context.Context, q querier, known *statement, snapshot json.RawMessage) (id int64, err error) {
	if len(snapshot) == 0 {
		return 0, nil
	}
	digest := sha256.Sum256(snapshot)
	err = known.QueryRowContext(ctx, digest[:]).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	err = q.QueryRowContext(ctx, "INSERT INTO definition (digest, body) VALUES (?, ?) RETURNING id",
		digest[:], string(snapshot)).Scan(&id)
	return id, err
}
