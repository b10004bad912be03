package history

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// A stride bounds one step of pruning: it ends when most rows are removed, or when it has taken so long.
type stride struct {
	most  int
	chunk int // rows that are removed between two looks at the clock
	time  time.Duration
}

// small is what a tick can spare: some 50 ms with its transaction, on a history of a million runs.
var small = stride{most: 500, chunk: 50, time: 25 * time.Millisecond}

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
// One call is a small step, so that it is in nobody's way: it ends after 25 ms or 500 records, and more says that the
// pass goes on. But it removes least records even when that takes longer, if there are so many: who adds
// a thousand in a minute must be able to forget as many. It returns the output files of the
// records it removed; the caller removes them. The room is used again by later records; the file
// does not shrink.
func (db *DB) Prune(ctx context.Context, now time.Time, keep time.Duration, perTask, least int) (outputs []string, more bool, err error) {
	return db.prune(ctx, small, now, keep, perTask, least)
}

func (db *DB) prune(ctx context.Context, s stride, now time.Time, keep time.Duration, perTask, least int) (outputs []string, more bool, err error) {
	err = db.do(func(conn *sql.DB) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		p := &pruning{ctx: ctx, tx: tx, stride: s, least: least, begun: time.Now()}
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
	ctx context.Context
	tx  *sql.Tx
	stride
	least   int
	begun   time.Time
	removed int
	outputs []string
	more    bool // it ended before the pass did
}

// spent reports whether the step has to end.
func (p *pruning) spent() bool {
	return p.removed >= max(p.most, p.least) || p.removed >= p.least && time.Since(p.begun) >= p.time
}

// step does first what is old, and then what is too much. Each call gets on, be it late already.
func (p *pruning) step(now time.Time, keep time.Duration, perTask int) error {
	p.more = true
	if keep > 0 {
		if done, err := p.old(now.Add(-keep)); err != nil || !done {
			return err
		}
	}
	if perTask > 0 {
		if done, err := p.surplus(perTask); err != nil || !done {
			return err
		}
	}
	p.more = false
	return p.setMeta(metaPruned, now.UnixMicro())
}

// old removes what ended before the time, oldest first.
func (p *pruning) old(before time.Time) (done bool, err error) {
	return p.removeAll(`SELECT rowid FROM runs AS old WHERE slot < ?1 AND coalesce(ended, slot) < ?1
		AND (outcome IN ('skipped', 'missed') OR EXISTS
			(SELECT 1 FROM runs WHERE task = old.task AND `+ran+` AND run > old.run))
		ORDER BY slot LIMIT ?2`, before.UnixMicro())
}

// surplus goes through the tasks from where the last step stopped.
func (p *pruning) surplus(perTask int) (done bool, err error) {
	past, err := p.cursor()
	if err != nil {
		return false, err
	}
	for {
		next, err := texts(p.ctx, p.tx, "SELECT task FROM runs WHERE task > ? ORDER BY task LIMIT 1", past)
		if err != nil || len(next) == 0 {
			return true, errors.Join(err, p.setMeta(metaCursor, ""))
		}
		done, err := p.surplusOf(next[0], perTask)
		if err != nil {
			return false, err
		}
		if done {
			past = next[0]
		}
		if !done || p.spent() {
			return false, p.setMeta(metaCursor, past)
		}
	}
}

// surplusOf removes what a task has too many. Its order is that of runs_task, so that the rows which stay cost
// a step in the index each, and nothing is sorted.
func (p *pruning) surplusOf(task string, perTask int) (done bool, err error) {
	return p.removeAll(`SELECT id FROM
		(SELECT rowid AS id FROM runs WHERE task = ?1 ORDER BY slot DESC, snapshot DESC, rowid DESC LIMIT -1 OFFSET ?3)
		WHERE id IS NOT (SELECT rowid FROM runs WHERE task = ?1 AND `+ran+` ORDER BY run DESC LIMIT 1) LIMIT ?2`, task, perTask)
}

// removeAll removes the rows that which selects, a chunk (?2) at a time, until there are none, which is done,
// or the step has to end.
func (p *pruning) removeAll(which string, first any, others ...any) (done bool, err error) {
	for {
		chunk := min(p.chunk, max(p.most, p.least)-p.removed)
		removed, err := p.remove(which, append([]any{first, chunk}, others...)...)
		if p.removed += removed; err != nil || removed < chunk {
			return true, err
		}
		if p.spent() {
			return false, nil
		}
	}
}

// remove deletes the rows that which selects, counts them, and forgets the snapshots they were the last
// to use.
func (p *pruning) remove(which string, args ...any) (removed int, err error) {
	rows, err := p.tx.QueryContext(p.ctx,
		"DELETE FROM runs WHERE rowid IN ("+which+") RETURNING output, task, snapshot", args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	used := map[int64]string{} // snapshots, with their task
	for rows.Next() {
		var output, task string
		var snapshot sql.Null[int64]
		if err := rows.Scan(&output, &task, &snapshot); err != nil {
			return removed, err
		}
		removed++
		if output != "" {
			p.outputs = append(p.outputs, output)
		}
		if snapshot.Valid {
			used[snapshot.V] = task
		}
	}
	return removed, errors.Join(rows.Err(), rows.Close(), p.forget(used))
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
