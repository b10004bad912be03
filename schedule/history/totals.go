package history

import (
	"context"
	"database/sql"
	"time"

	"sched/schedule/outcome"
)

// A Total is what a task has of one outcome, with the records that Prune has removed: so Slots
// never goes down, unless the whole history is lost, or it turns out that a missed slot ran.
type Total struct {
	Task    string
	Outcome outcome.Outcome
	Slots   int64 // how many

	// Of the newest record, which Prune may have removed, too.
	Run                  string
	Slot, Started, Ended time.Time
	ExitCode             *int
}

// LastRan returns a task's newest total that is neither skipped nor missed; nil for none.
func LastRan(totals []Total) (last *Total) {
	for i, t := range totals {
		if t.Outcome != outcome.Skipped && t.Outcome != outcome.Missed && (last == nil || t.Run > last.Run) {
			last = &totals[i]
		}
	}
	return last
}

// Totals returns the totals of every task; its cost does not depend on the number of records.
func (db *DB) Totals(ctx context.Context) (map[string][]Total, error) {
	totals := map[string][]Total{}
	err := db.file.Do(func(conn *sql.DB) error {
		clear(totals)
		rows, err := conn.QueryContext(ctx, "SELECT task, outcome, slots, run, slot, started, ended, exit_code FROM totals")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var t Total
			var slot int64
			var started, ended sql.Null[int64]
			var exit sql.Null[int]
			if err := rows.Scan(&t.Task, &t.Outcome, &t.Slots, &t.Run, &slot, &started, &ended, &exit); err != nil {
				return err
			}
			t.Slot, t.Started, t.Ended = time.UnixMicro(slot).UTC(), unpackTime(started), unpackTime(ended)
			if exit.Valid {
				t.ExitCode = &exit.V
			}
			totals[t.Task] = append(totals[t.Task], t)
		}
		return rows.Err()
	})
	return totals, err
}

// A tally gathers what a transaction adds to the totals: a thousand rows of a task are one of them.
type tally map[tallied]Total

type tallied struct {
	task    string
	outcome outcome.Outcome
}

func (all tally) count(r outcome.Record) {
	key := tallied{r.Task, r.Outcome}
	t := all[key]
	slots := t.Slots + int64(max(r.Slots, 1))
	if r.Run > t.Run {
		t = Total{Run: r.Run, Slot: r.Slot, Started: r.Started, Ended: r.Ended, ExitCode: r.ExitCode}
	}
	t.Slots = slots
	all[key] = t
}

// take takes slots from a total, whose newest record stays.
func (all tally) take(key tallied, slots int64) {
	t := all[key]
	t.Slots -= slots
	all[key] = t
}

// write adds the tally to the table. A row keeps its newest record in whatever order records come.
func (all tally) write(ctx context.Context, tx *sql.Tx) error {
	update, err := tx.PrepareContext(ctx, `INSERT INTO totals (task, outcome, slots, run, slot, started, ended, exit_code)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET slots = slots + excluded.slots, run = max(run, excluded.run),
			slot      = iif(excluded.run > run, excluded.slot, slot),
			started   = iif(excluded.run > run, excluded.started, started),
			ended     = iif(excluded.run > run, excluded.ended, ended),
			exit_code = iif(excluded.run > run, excluded.exit_code, exit_code)`)
	if err != nil {
		return err
	}
	defer update.Close()
	for key, t := range all {
		_, err := update.ExecContext(ctx, key.task, string(key.outcome), t.Slots, t.Run, t.Slot.UnixMicro(),
			packTime(t.Started), packTime(t.Ended), t.ExitCode)
		if err != nil {
			return err
		}
	}
	return nil
}
