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
	slot, last_slot, slots, previous_slot,
	scheduled, origin, test, no_chain, params,
	cause, cause_task, cause_outcome,
	phase, owner, locked, seat, stop,
	waits_for, not_before, until, waiting_since, waited,
	attempt, attempt_started, pid, boot,
	started, ended, outcome, kind, reason, exit_code,
	user_cpu, system_cpu, peak_memory, output, limits,
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
		r.Slot.UnixMicro(), packTime(r.LastSlot), max(r.Slots, 1), packTime(r.PreviousSlot),
		r.Scheduled, r.Origin, r.Test, r.NoChain, params,
		orNull(cause.Run), orNull(cause.Task), orNull(string(cause.Outcome)),
		string(r.Phase), orNull(r.Owner), r.Locked, r.Seat, stop,
		string(wait.For), packTime(wait.NotBefore), packTime(wait.Until), packTime(wait.Since), waited,
		attempt.Number, packTime(attempt.At), orNull(attempt.PID), attempt.Boot,
		packTime(r.Started), packTime(r.Ended), orNull(string(r.Outcome)), string(r.Kind), r.Reason, r.ExitCode,
		r.UserCPU.Microseconds(), r.SystemCPU.Microseconds(), r.PeakMemory, q.relative(r.Output), r.Limits,
		notes, triggered, r.Unpublished, r.Unreported, orNull(r.DefinitionID),
	}, nil
}

// scan reads the columns of one row.
func scan(rows *sql.Rows) (r Row, err error) {
	var slot, waited, userCPU, systemCPU int64
	var lastSlot, previousSlot, owner, notBefore, until, waitingSince sql.NullInt64
	var attemptStarted, pid, started, ended, definition sql.NullInt64
	var params, cause, causeTask, causeOutcome, stop, became, notes, triggered sql.NullString
	var exitCode sql.Null[int]
	err = rows.Scan(
		&r.ID, &r.Task, &r.Mutex, &r.Pool, &r.Background, &r.Server,
		&slot, &lastSlot, &r.Slots, &previousSlot,
		&r.Scheduled, &r.Origin, &r.Test, &r.NoChain, &params,
		&cause, &causeTask, &causeOutcome,
		&r.Phase, &owner, &r.Locked, &r.Seat, &stop,
		&r.Wait.For, &notBefore, &until, &waitingSince, &waited,
		&r.Attempt.Number, &attemptStarted, &pid, &r.Attempt.Boot,
		&started, &ended, &became, &r.Kind, &r.Reason, &exitCode,
		&userCPU, &systemCPU, &r.PeakMemory, &r.Output, &r.Limits,
		&notes, &triggered, &r.Unpublished, &r.Unreported, &definition,
	)
	if err != nil {
		return r, err
	}
	r.Slot, r.LastSlot, r.PreviousSlot = time.UnixMicro(slot).UTC(), unpackTime(lastSlot), unpackTime(previousSlot)
	if cause.Valid {
		r.Cause = &outcome.Cause{
			Run:     cause.String,
			Task:    causeTask.String,
			Outcome: outcome.Outcome(causeOutcome.String),
		}
	}
	r.Owner, r.DefinitionID = owner.Int64, definition.Int64
	r.Wait.NotBefore, r.Wait.Until, r.Wait.Since = unpackTime(notBefore), unpackTime(until), unpackTime(waitingSince)
	r.Wait.Waited, r.UserCPU, r.SystemCPU = micros(waited), micros(userCPU), micros(systemCPU)
	r.Attempt.At, r.Attempt.PID = unpackTime(attemptStarted), int(pid.Int64)
	r.Started, r.Ended, r.Outcome = unpackTime(started), unpackTime(ended), outcome.Outcome(became.String)
	if exitCode.Valid {
		r.ExitCode = &exitCode.V
	}
	return r, errors.Join(
		unpackJSON(params, &r.Params),
		unpackJSON(stop, &r.Stop),
		unpackJSON(notes, &r.Notes),
		unpackJSON(triggered, &r.Triggered),
	)
}

// rowsOf asks a query for rows.
func rowsOf(ctx context.Context, q querier, query string, args ...any) (all []Row, err error) {
	all, err = listed(ctx, q, scan, query, args...)
	for i := range all {
		all[i].Output = q.absolute(all[i].Output)
	}
	return all, err
}

// packTime returns the microseconds of a time, and NULL for the zero time.
func packTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func unpackTime(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

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

func unpackJSON(text sql.NullString, value any) error {
	if !text.Valid {
		return nil
	}
	return json.Unmarshal([]byte(text.String), value)
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
	ranges, err := rangesFrom(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	inserter, err := newInserter(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Scheduled && !r.IsRange() && slices.ContainsFunc(ranges, func(s slotRange) bool { return s.has(r) }) {
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
			ranges = append(ranges, slotRange{r.Task, r.Slot.UnixMicro(), r.LastSlot.UnixMicro()})
		}
	}
	return added, nil
}

// An inserter adds rows in one transaction, with which its statements end.
type inserter struct {
	ctx       context.Context
	q         querier
	row       *sql.Stmt
	knownBody *sql.Stmt
}

func newInserter(ctx context.Context, q querier) (*inserter, error) {
	row, err := q.PrepareContext(ctx, insertRow)
	if err != nil {
		return nil, err
	}
	knownBody, err := q.PrepareContext(ctx, "SELECT id FROM definition WHERE digest = ?")
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

// A slotRange says for which slots a row of several slots stands (IsRange).
type slotRange struct {
	task        string
	first, last int64 // microseconds since 1970
}

func (s slotRange) has(r Row) bool {
	slot := r.Slot.UnixMicro()
	return s.task == r.Task && s.first <= slot && slot <= s.last
}

// rangesFrom returns the ranges that reach the oldest of the new rows. There is hardly ever such a
// range.
func rangesFrom(ctx context.Context, q querier, news []Row) (ranges []slotRange, err error) {
	oldest := news[0].Slot
	for _, r := range news {
		if r.Slot.Before(oldest) {
			oldest = r.Slot
		}
	}
	return listed(ctx, q, func(rows *sql.Rows) (s slotRange, err error) {
		err = rows.Scan(&s.task, &s.first, &s.last)
		return s, err
	}, "SELECT task, slot, last_slot FROM run INDEXED BY run_range WHERE last_slot >= ?", oldest.UnixMicro())
}

// define returns the id of a snapshot, and adds the snapshot when it is not known. It returns 0 for
// an empty snapshot.
func define(ctx context.Context, q querier, known *sql.Stmt, snapshot json.RawMessage) (id int64, err error) {
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
