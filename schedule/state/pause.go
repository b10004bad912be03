package state

import (
	"context"
	"database/sql"
	"time"
)

// Pauses are the last pause of each task that ever had one, by its name, and of Everything.
type Pauses struct{ store store }

// Pauses returns the pauses of the database.
func (db *DB) Pauses() Pauses { return Pauses{db} }

// Everything stands for all tasks where the name of a task could be.
const Everything = ""

// A Pause keeps tasks from starting.
type Pause struct {
	By      string
	Server  string
	Reason  string
	Since   time.Time
	Until   time.Time // zero: until somebody ends it
	Ended   time.Time // when somebody ended it; zero when nobody has
	Version int64     // of two copies of the pauses of a task the larger version counts, whatever the clocks say
}

// InEffect reports whether the pause keeps tasks from starting at that time.
func (p Pause) InEffect(at time.Time) bool {
	return p.By != "" && p.Ended.IsZero() && (p.Until.IsZero() || at.Before(p.Until))
}

// Covers reports whether the pause was, or is, in effect at a time of the past.
func (p Pause) Covers(at time.Time) bool {
	over := !p.Ended.IsZero() && !at.Before(p.Ended) || !p.Until.IsZero() && !at.Before(p.Until)
	return p.By != "" && !at.Before(p.Since) && !over
}

// All returns the last pause of each task, also one that is over: it says what was paused when.
func (p Pauses) All(ctx context.Context) (all map[string]Pause, err error) {
	all = map[string]Pause{}
	err = p.store.read(ctx, func(q querier) error {
		clear(all)
		rows, err := q.QueryContext(ctx, "SELECT task, by, server, reason, since, until, ended, version FROM pause")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var task string
			var one Pause
			var since int64
			var until, ended sql.NullInt64
			if err := rows.Scan(&task, &one.By, &one.Server, &one.Reason, &since, &until, &ended, &one.Version); err != nil {
				return err
			}
			one.Since, one.Until, one.Ended = time.UnixMicro(since).UTC(), unpackTime(until), unpackTime(ended)
			all[task] = one
		}
		return rows.Err()
	})
	return all, err
}

// Set replaces the pause of a task. With Version 0 it is a new one, and replaces what is there; a
// copy with a version, as from a store, replaces an older version alone. It reports whether it did.
func (p Pauses) Set(ctx context.Context, task string, to Pause) (changed bool, err error) {
	return p.change(ctx, `INSERT INTO pause (task, by, server, reason, since, until, ended, version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, max(?8, 1))
		ON CONFLICT DO UPDATE SET by = ?2, server = ?3, reason = ?4, since = ?5, until = ?6, ended = ?7, version = iif(?8 = 0, version + 1, ?8)
		WHERE ?8 = 0 OR ?8 > version`,
		task, to.By, to.Server, to.Reason, to.Since.UnixMicro(), packTime(to.Until), packTime(to.Ended), to.Version)
}

// Resume ends the pause of a task. It reports whether one was in effect.
func (p Pauses) Resume(ctx context.Context, task string, at time.Time) (changed bool, err error) {
	return p.change(ctx, `UPDATE pause SET ended = ?2, version = version + 1 WHERE task = ?1 AND ended IS NULL AND (until IS NULL OR until > ?2)`,
		task, at.UnixMicro())
}

func (p Pauses) change(ctx context.Context, text string, args ...any) (changed bool, err error) {
	err = p.store.write(ctx, func(q querier) error {
		did, err := q.ExecContext(ctx, text, args...)
		if err != nil {
			return err
		}
		n, err := did.RowsAffected()
		changed = n > 0
		return err
	})
	return changed, err
}
