package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state/sqltype"
)

// A column is a column of the table run, and the field of Row that it has.
type column struct {
	name   string
	value  func(r *Row) any // what the database gets
	target func(r *Row) any // where Scan puts what the database has
}

// columns are the columns of the table run. docs/internals/state.md says what each means.
var columns = sync.OnceValue(func() []column {
	return []column{
		direct("id", func(r *Row) *string { return &r.ID }),
		direct("task", func(r *Row) *string { return &r.Task }),
		direct("mutex", func(r *Row) *string { return &r.Mutex }),
		direct("pool", func(r *Row) *string { return &r.Pool }),
		direct("background", func(r *Row) *bool { return &r.Background }),
		direct("server", func(r *Row) *string { return &r.Server }),
		{"slot", func(r *Row) any { return r.Slot.UnixMicro() }, func(r *Row) any { return sqltype.Time(&r.Slot) }},
		moment("last_slot", func(r *Row) *time.Time { return &r.LastSlot }),
		{"slots", func(r *Row) any { return max(r.Slots, 1) }, func(r *Row) any { return &r.Slots }},
		moment("previous_slot", func(r *Row) *time.Time { return &r.PreviousSlot }),
		direct("nominal", func(r *Row) *string { return &r.Nominal }),
		direct("moved", func(r *Row) *string { return &r.Moved }),
		moment("repeats", func(r *Row) *time.Time { return &r.Repeats }),
		direct("scheduled", func(r *Row) *bool { return &r.Scheduled }),
		direct("origin", func(r *Row) *string { return &r.Origin }),
		direct("test", func(r *Row) *bool { return &r.Test }),
		direct("no_chain", func(r *Row) *bool { return &r.NoChain }),
		packed("params", func(r *Row) *map[string]string { return &r.Params }),
		ofCause("cause", func(c *outcome.Cause) *string { return &c.Run }),
		ofCause("cause_task", func(c *outcome.Cause) *string { return &c.Task }),
		ofCause("cause_outcome", func(c *outcome.Cause) *outcome.Outcome { return &c.Outcome }),

		direct("phase", func(r *Row) *Phase { return &r.Phase }),
		nullable("owner", func(r *Row) *int64 { return &r.Owner }),
		direct("locked", func(r *Row) *bool { return &r.Locked }),
		direct("seat", func(r *Row) *string { return &r.Seat }),
		packed("stop", func(r *Row) **Stop { return &r.Stop }),
		direct("waits_for", func(r *Row) *WaitsFor { return &r.Wait.For }),
		moment("not_before", func(r *Row) *time.Time { return &r.Wait.NotBefore }),
		moment("until", func(r *Row) *time.Time { return &r.Wait.Until }),
		moment("waiting_since", func(r *Row) *time.Time { return &r.Wait.Since }),
		{"waiting_boot", func(r *Row) any { return sqltype.OrNull(r.Wait.AfterBoot.Microseconds()) },
			func(r *Row) any { return sqltype.Duration(&r.Wait.AfterBoot) }},
		span("waited", func(r *Row) *time.Duration { return &r.Wait.Waited }),

		direct("attempt", func(r *Row) *int { return &r.Attempt.Number }),
		moment("attempt_started", func(r *Row) *time.Time { return &r.Attempt.At }),
		nullable("pid", func(r *Row) *int { return &r.Attempt.PID }),
		direct("boot", func(r *Row) *string { return &r.Attempt.Boot }),
		moment("leased", func(r *Row) *time.Time { return &r.Attempt.Leased }),

		moment("started", func(r *Row) *time.Time { return &r.Started }),
		moment("ended", func(r *Row) *time.Time { return &r.Ended }),
		nullable("outcome", func(r *Row) *outcome.Outcome { return &r.Outcome }),
		direct("kind", func(r *Row) *outcome.Kind { return &r.Kind }),
		direct("reason", func(r *Row) *string { return &r.Reason }),
		direct("exit_code", func(r *Row) **int { return &r.ExitCode }),
		span("user_cpu", func(r *Row) *time.Duration { return &r.UserCPU }),
		span("system_cpu", func(r *Row) *time.Duration { return &r.SystemCPU }),
		direct("peak_memory", func(r *Row) *int64 { return &r.PeakMemory }),
		direct("output", func(r *Row) *string { return &r.Output }), // relative, in the database
		direct("limits", func(r *Row) *string { return &r.Limits }),
		direct("survivors", func(r *Row) *string { return &r.Survivors }),
		packed("notes", func(r *Row) *[]string { return &r.Notes }),
		packed("told", func(r *Row) *[]outcome.Told { return &r.Told }),
		packed("triggered", func(r *Row) *[]outcome.Triggered { return &r.Triggered }),
		direct("unpublished", func(r *Row) *bool { return &r.Unpublished }),
		direct("unreported", func(r *Row) *bool { return &r.Unreported }),
		nullable("definition", func(r *Row) *int64 { return &r.DefinitionID }),
	}
})

// direct is a column that the driver reads and writes as it is.
func direct[T any](name string, field func(*Row) *T) column {
	return column{name, func(r *Row) any { return *field(r) }, func(r *Row) any { return field(r) }}
}

// nullable is a column that is NULL for the zero value.
func nullable[T comparable](name string, field func(*Row) *T) column {
	return column{name, func(r *Row) any { return sqltype.OrNull(*field(r)) },
		func(r *Row) any { return sqltype.OrZero(field(r)) }}
}

// moment is a column of microseconds since 1970; NULL for the zero time.
func moment(name string, field func(*Row) *time.Time) column {
	return column{name, func(r *Row) any { return sqltype.PackTime(*field(r)) },
		func(r *Row) any { return sqltype.Time(field(r)) }}
}

// span is a column of microseconds.
func span(name string, field func(*Row) *time.Duration) column {
	return column{name, func(r *Row) any { return field(r).Microseconds() },
		func(r *Row) any { return sqltype.Duration(field(r)) }}
}

// packed is a column of JSON; NULL for a value that is nil or empty.
func packed[T any](name string, field func(*Row) *T) column {
	return column{name, func(r *Row) any { return sqltype.PackJSON(*field(r)) },
		func(r *Row) any { return sqltype.JSON(field(r)) }}
}

// ofCause is a column of the cause of a run; NULL for a run without a cause.
func ofCause[T ~string](name string, field func(*outcome.Cause) *T) column {
	return column{name, func(r *Row) any {
		if r.Cause == nil {
			return nil
		}
		return sqltype.OrNull(*field(r.Cause))
	}, func(r *Row) any {
		return sqltype.Target(func(value any) error {
			var text sql.NullString
			err := text.Scan(value)
			if text.Valid && r.Cause == nil {
				r.Cause = &outcome.Cause{}
			}
			if text.Valid {
				*field(r.Cause) = T(text.String)
			}
			return err
		})
	}}
}

// columnOf returns the columns by their names.
var columnOf = sync.OnceValue(func() map[string]column {
	all := map[string]column{}
	for _, c := range columns() {
		all[c.name] = c
	}
	return all
})

// columnNames returns the names of the columns, each behind a prefix such as "run.".
func columnNames(prefix string) string {
	names := make([]string, len(columns()))
	for i, c := range columns() {
		names[i] = prefix + c.name
	}
	return strings.Join(names, ", ")
}

// SelectRows begins a query for rows. Conditions follow.
var SelectRows = sync.OnceValue(func() string { return "SELECT " + columnNames("") + " FROM run " })

// RowsOf asks a query for rows: the columns of the table in their order.
func RowsOf(ctx context.Context, q Querier, query string, args ...any) (all []Row, err error) {
	var r Row
	var targets []any
	err = Each(ctx, q, func(rows *sql.Rows) error {
		if r = (Row{}); targets == nil { // most queries of an idle tick find nothing
			for _, c := range columns() {
				targets = append(targets, c.target(&r))
			}
		}
		err := rows.Scan(targets...)
		// A before-hook that failed the run left its note when the reason was not yet written.
		r.Notes = slices.DeleteFunc(r.Notes, func(note string) bool { return note == r.Reason })
		r.Output = q.absolute(r.Output)
		r.SayCount()
		all = append(all, r)
		return err
	}, query, args...)
	return all, err
}

// wholeRows asks a query for rows, with their snapshots and the values that they reported.
func wholeRows(ctx context.Context, q querier, query string, args ...any) ([]Row, error) {
	rows, err := RowsOf(ctx, q, query, args...)
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
		if r.Attempted() {
			if rows[i].Values, err = reportedBy(ctx, q, r.ID, r.Attempt.Number); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// askRows returns the rows of a query for columns.
func askRows(ctx context.Context, s store, query string, args ...any) ([]Row, error) {
	return ask(ctx, s, func(q querier) ([]Row, error) { return RowsOf(ctx, q, query, args...) })
}
