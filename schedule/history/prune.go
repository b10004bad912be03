package history

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// A stride bounds one step of pruning.
type stride struct {
	rows  int // removed
	tasks int // looked at for a surplus
}

// small is what a tick can spare, some 30 ms on a history of a million runs.
var small = stride{rows: 2000, tasks: 200}

// Names in the table meta.
const (
	metaPruned = "pruned" // when the last pass ended, in microseconds
	metaCursor = "cursor" // the last task that a pass has done; "" or absent at its start
)

// PruneDue reports whether no pass of Prune has ended yet on the day (in UTC) of now. It costs one look-up;
// what it cannot read is not due.
func (db *DB) PruneDue(ctx context.Context, now time.Time) bool {
	due := false
	_ = db.do(func(conn *sql.DB) error {
		var pruned int64
		err := conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", metaPruned).Scan(&pruned)
		if errors.Is(err, sql.ErrNoRows) {
			due = true
			return nil
		}
		due = err == nil && day(time.UnixMicro(pruned)) != day(now)
		return err
	})
	return due
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Prune forgets records that are older than keep, and of each task those beyond its newest perTask; a
// bound that is not positive does not count. The newest record of a task that tells how its command
// went always stays, so that a yearly task has a last outcome, and its recovery is noticed.
//
// One call is a small step, so that it is in nobody's way: at most 2,000 records, and more says that
// the pass goes on. It returns the output files of the records it removed; the caller removes them. The
// room is used again by later records; the file does not shrink.
func (db *DB) Prune(ctx context.Context, now time.Time, keep time.Duration, perTask int) (outputs []string, more bool, err error) {
	return db.prune(ctx, small, now, keep, perTask)
}

func (db *DB) prune(ctx context.Context, s stride, now time.Time, keep time.Duration, perTask int) (outputs []string, more bool, err error) {
	err = db.do(func(conn *sql.DB) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		p := &pruning{ctx: ctx, tx: tx, budget: s.rows, tasks: s.tasks}
		if err := p.step(now, keep, perTask); err != nil {
			return err
		}
		outputs, more = p.outputs, p.more
		return tx.Commit()
	})
	if err != nil {
		return nil, false, err
	}
	for i, output := range outputs {
		outputs[i] = unpackPath(db.dir, output)
	}
	return outputs, more, nil
}

// A pruning is one step.
type pruning struct {
	ctx     context.Context
	tx      *sql.Tx
	budget  int // rows it may still remove
	tasks   int // that it may look at
	outputs []string
	more    bool
}

func (p *pruning) step(now time.Time, keep time.Duration, perTask int) error {
	if keep > 0 {
		if err := p.old(now.Add(-keep)); err != nil {
			return err
		}
	}
	if perTask > 0 && p.budget > 0 {
		if err := p.surplus(perTask); err != nil {
			return err
		}
	}
	if p.more = p.more || p.budget == 0; p.more {
		return nil
	}
	return p.setMeta(metaPruned, now.UnixMicro())
}

// old removes what ended before the time, oldest first.
func (p *pruning) old(before time.Time) error {
	return p.remove(`SELECT rowid FROM runs AS old WHERE slot < ?1 AND coalesce(ended, slot) < ?1
		AND (outcome IN ('skipped', 'missed') OR EXISTS
			(SELECT 1 FROM runs WHERE task = old.task AND `+ran+` AND run > old.run))
		ORDER BY slot LIMIT ?2`, before.UnixMicro(), p.budget)
}

// surplus goes through the tasks from where the last step stopped.
func (p *pruning) surplus(perTask int) error {
	done, err := p.cursor()
	if err != nil {
		return err
	}
	for range p.tasks {
		next, err := texts(p.ctx, p.tx, "SELECT task FROM runs WHERE task > ? ORDER BY task LIMIT 1", done)
		if err != nil || len(next) == 0 {
			return errors.Join(err, p.setMeta(metaCursor, ""))
		}
		if err := p.surplusOf(next[0], perTask); err != nil {
			return err
		}
		if p.budget == 0 {
			break
		}
		done = next[0]
	}
	p.more = true
	return p.setMeta(metaCursor, done)
}

func (p *pruning) surplusOf(task string, perTask int) error {
	return p.remove(`SELECT id FROM
		(SELECT rowid AS id, run FROM runs WHERE task = ?1 ORDER BY slot DESC, rowid DESC LIMIT -1 OFFSET ?2)
		WHERE run IS NOT (SELECT max(run) FROM runs WHERE task = ?1 AND `+ran+`) LIMIT ?3`, task, perTask, p.budget)
}

// remove deletes the rows that which selects, counts them, and forgets the snapshots they were the last
// to use.
func (p *pruning) remove(which string, args ...any) error {
	rows, err := p.tx.QueryContext(p.ctx,
		"DELETE FROM runs WHERE rowid IN ("+which+") RETURNING output, task, snapshot", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	used := map[int64]string{} // snapshots, with their task
	for rows.Next() {
		var output, task string
		var snapshot sql.Null[int64]
		if err := rows.Scan(&output, &task, &snapshot); err != nil {
			return err
		}
		p.budget--
		if output != "" {
			p.outputs = append(p.outputs, output)
		}
		if snapshot.Valid {
			used[snapshot.V] = task
		}
	}
	return errors.Join(rows.Err(), rows.Close(), p.forget(used))
}

// forget looks for another use among the rows of the task, the oldest first: what was removed was old, so
// a snapshot that is still needed is found at once.
func (p *pruning) forget(used map[int64]string) error {
	for snapshot, task := range used {
		_, err := p.tx.ExecContext(p.ctx, `DELETE FROM snapshots WHERE id = ?1 AND NOT EXISTS
			(SELECT 1 FROM runs INDEXED BY runs_task WHERE task = ?2 AND snapshot = ?1)`, snapshot, task)
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pruning) cursor() (string, error) {
	var task string
	err := p.tx.QueryRowContext(p.ctx, "SELECT value FROM meta WHERE key = ?", metaCursor).Scan(&task)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return task, err
}

func (p *pruning) setMeta(key string, value any) error {
	_, err := p.tx.ExecContext(p.ctx, "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2", key, value)
	return err
}
