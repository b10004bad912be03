package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

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

// askRows returns the rows of a query for columns.
func askRows(ctx context.Context, s store, query string, args ...any) ([]Row, error) {
	return ask(ctx, s, func(q querier) ([]Row, error) { return rowsOf(ctx, q, query, args...) })
}
