package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"sched/schedule/outcome"
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

// PruneDue reports whether no pass ended yet on the day (UTC) of now; false if it cannot be read.
func (db *DB) PruneDue(ctx context.Context, now time.Time) bool {
	due := false
	_ = db.file.Do(func(conn *sql.DB) error {
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

// Prune removes records older than keep and, of each task, runs beyond its newest perTask and as
// many skipped or missed slots. A bound that is not positive does not count. The newest record that
// tells how a run went stays, so that a yearly task has a last outcome, and so does the newest
// record of a shared history (see metaPublished). Runs that wait to be published count against keep
// alone.
//
// A call is a small step: it ends after 25 ms or 500 records, but removes at least least records
// (docs/decisions.md#a-step-of-pruning-ends-by-the-clock). The file does not shrink.
func (db *DB) Prune(ctx context.Context, now time.Time, keep time.Duration, perTask, least int) (Pruned, error) {
	return db.prune(ctx, small, now, keep, perTask, least)
}

// Pruned is what one call of Prune did.
type Pruned struct {
	Removed     []outcome.Record // of each its Run, Task and Output; the caller removes the files
	Unpublished int              // runs it removed before they were published
	More        bool             // it ended before the pass did
}

func (db *DB) prune(ctx context.Context, s stride, now time.Time, keep time.Duration, perTask, least int) (Pruned, error) {
	var did Pruned
	err := db.file.Write(ctx, func(tx *sql.Tx) error {
		p := &pruning{ctx: ctx, tx: tx, stride: s, least: least, begun: time.Now()}
		if err := p.readPublished(); err != nil {
			return err
		}
		err := p.step(now, keep, perTask)
		did = p.did
		return err
	})
	if err != nil {
		return Pruned{}, err
	}
	for i, r := range did.Removed {
		did.Removed[i].Output = unpackPath(db.dir, r.Output)
	}
	return did, nil
}

type pruning struct {
	ctx context.Context
	tx  *sql.Tx
	stride
	published Cursor // what is behind it waits to be published
	newest    Cursor // the row that stays; -1 for none
	least     int
	begun     time.Time
	removed   int
	did       Pruned
}

// readPublished reads what a shared history must not lose.
func (p *pruning) readPublished() error {
	from, shared, err := published(p.ctx, p.tx)
	if err != nil || !shared {
		p.published, p.newest = math.MaxInt64, -1
		return err
	}
	p.published = from
	return p.tx.QueryRowContext(p.ctx, newestRow).Scan(&p.newest)
}

func (p *pruning) spent() bool {
	return p.removed >= max(p.most, p.least) || p.removed >= p.least && time.Since(p.begun) >= p.time
}

// step removes first what is old, and then what is too much. Each call removes something, however late it is.
func (p *pruning) step(now time.Time, keep time.Duration, perTask int) error {
	p.did.More = true
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
	p.did.More = false
	return p.setMeta(metaPruned, now.UnixMicro())
}

// old removes what ended before that time, oldest first.
func (p *pruning) old(before time.Time) (done bool, err error) {
	return p.removeAll(`SELECT rowid FROM runs AS old WHERE slot < ?1 AND coalesce(ended, slot) < ?1
		AND (outcome IN ('skipped', 'missed') OR EXISTS
			(SELECT 1 FROM runs WHERE task = old.task AND `+ran+` AND run > old.run))
		AND rowid <> ?3 ORDER BY slot LIMIT ?2`, before.UnixMicro(), p.newest)
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

// surplusOf removes what a task has too many: of runs in the order of runs_ran, so that those which stay cost a step in
// the index each, and of slots without a run, whose rows are read only where there are too many.
func (p *pruning) surplusOf(task string, perTask int) (done bool, err error) {
	done, err = p.removeAll(`SELECT id FROM
		(SELECT rowid AS id FROM runs WHERE task = ?1 AND `+ran+` ORDER BY run DESC LIMIT -1 OFFSET max(?3, 1))
		WHERE id <> ?4 AND id <= ?5 LIMIT ?2`, task, perTask, p.newest, p.published)
	if err != nil || !done {
		return done, err
	}
	var others int
	err = p.tx.QueryRowContext(p.ctx, `SELECT (SELECT count(*) FROM runs WHERE task = ?1) - (SELECT count(*) FROM runs WHERE task = ?1 AND `+ran+`)`,
		task).Scan(&others)
	if err != nil || others <= perTask {
		return true, err
	}
	return p.removeAll(`SELECT rowid FROM runs WHERE task = ?1 AND outcome IN ('skipped', 'missed') AND rowid <> ?4
		ORDER BY slot DESC, rowid DESC LIMIT ?2 OFFSET ?3`, task, perTask, p.newest)
}

// removeAll removes what which selects, in chunks (?2), until none is left (done) or spent.
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

// remove deletes and counts the rows that which selects, with snapshots that only they used.
func (p *pruning) remove(which string, args ...any) (removed int, err error) {
	rows, err := p.tx.QueryContext(p.ctx, fmt.Sprintf("DELETE FROM runs WHERE rowid IN (%s) "+
		"RETURNING run, output, task, snapshot, slot, rowid > %d AND %s", which, p.published, ran), args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	used := map[int64]string{} // snapshots, with their task
	var perHour hourTally
	for rows.Next() {
		var r outcome.Record
		var snapshot sql.Null[int64]
		var slot int64
		var unpublished bool
		if err := rows.Scan(&r.Run, &r.Output, &r.Task, &snapshot, &slot, &unpublished); err != nil {
			return removed, err
		}
		removed++
		perHour.remove(r.Task, time.UnixMicro(slot))
		p.did.Removed = append(p.did.Removed, r)
		if unpublished {
			p.did.Unpublished++
		}
		if snapshot.Valid {
			used[snapshot.V] = r.Task
		}
	}
	return removed, errors.Join(rows.Err(), rows.Close(), p.forget(used), perHour.prune(p.ctx, p.tx))
}

// forget deletes those of the snapshots that no row uses any more. It searches the rows of the task from the oldest
// on: what was removed was old, so a snapshot that is still used is found at once.
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
