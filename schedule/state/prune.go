package state

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// A Keep says how much of the past is kept.
type Keep struct {
	For         time.Duration // rows that ended longer ago are removed; 0: never
	RunsPerTask int           // runs kept for each task, and as many slots that did not run; 0: all
	Failures    time.Duration // longer than For: failures stay so long, counted apart from successes; 0: no longer
}

// A Budget bounds one step of pruning.
type Budget struct {
	Rows    int           // the step removes at most so many rows, or MinRows if those are more
	Time    time.Duration // the step ends after so long
	MinRows int           // the step removes so many rows before it ends, however long that takes
}

// SmallStep is the budget that a tick can spare.
var SmallStep = Budget{Rows: 500, Time: 25 * time.Millisecond}

// Pruned is the result of one step of pruning.
type Pruned struct {
	Rows        int
	Removed     []Row // with their ID, Task and Output alone: the caller removes the files
	Unpublished int   // runs that were removed before other servers knew of them
	More        bool  // the step ended before everything was done
}

const (
	keyPruned = "pruned"       // when the last pass ended
	keyCursor = "prune_cursor" // the last task that the pass has done; missing at its start
	chunk     = 50             // rows that are removed between two looks at the clock
)

// A pruning is one step of pruning.
type pruning struct {
	ctx    context.Context
	q      querier
	budget Budget
	begun  time.Time
	result Pruned
}

// step removes rows that are too old, then rows beyond the number kept, then messages that no limit
// counts any more.
func (p *pruning) step(now time.Time, keep Keep) error {
	p.result.More = true
	if keep.For > 0 {
		if done, err := p.removeOld(now.Add(-keep.For), now.Add(-max(keep.For, keep.Failures))); err != nil || !done {
			return err
		}
	}
	if keep.RunsPerTask > 0 {
		if done, err := p.removeSurplus(keep); err != nil || !done {
			return err
		}
	}
	if err := forgetReported(p.ctx, p.q, now); err != nil {
		return err
	}
	p.q.do(p.ctx, `DELETE FROM message WHERE status = 'sent' AND sent + per < ?1
		OR status = 'held' AND reported = 1 AND created + per < ?1`, now.UnixMicro())
	p.result.More = false
	writeValue(p.ctx, p.q, keyPruned, now.UnixMicro())
	return nil
}

// failure is the condition of rows that are failures.
const failure = Ran + " AND outcome <> 'succeeded'"

// removeOld removes rows that ended before a time, and failures that ended before another time, the
// oldest slot first.
func (p *pruning) removeOld(before, failures time.Time) (done bool, err error) {
	return p.removeAll(`SELECT rowid FROM run AS old INDEXED BY run_slot
		WHERE slot < :before AND phase = 'ended' AND coalesce(ended, slot) < :before
		AND (coalesce(ended, slot) < :failures OR NOT (`+failure+`))
		AND (outcome IN ('skipped', 'missed') OR test = 1
			OR EXISTS (SELECT 1 FROM run WHERE task = old.task AND `+Ran+` AND id > old.id))
		ORDER BY slot LIMIT :limit`, named{"before": before.UnixMicro(), "failures": failures.UnixMicro()})
}

// removeSurplus removes the rows of each task beyond the number kept. It begins after the last task
// that an earlier step has done.
func (p *pruning) removeSurplus(keep Keep) (done bool, err error) {
	var last sql.NullString // the last task that is done
	if err := readValue(p.ctx, p.q, keyCursor, &last); err != nil {
		return false, err
	}
	for {
		var task string
		err := p.q.QueryRowContext(p.ctx, `SELECT task FROM run INDEXED BY run_task
			WHERE task > ? ORDER BY task LIMIT 1`, last.String).Scan(&task)
		if errors.Is(err, sql.ErrNoRows) {
			p.q.do(p.ctx, "DELETE FROM meta WHERE key = ?", keyCursor)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		done, err := p.removeSurplusOf(task, keep)
		if err != nil {
			return false, err
		}
		if done {
			last.String = task
		}
		if !done || p.isSpent() {
			writeValue(p.ctx, p.q, keyCursor, last.String)
			return false, nil
		}
	}
}

// removeSurplusOf removes the rows of a task beyond the number kept. The query steps over each
// run that stays, in an index alone. The rows of other slots are read only when there are too many.
func (p *pruning) removeSurplusOf(task string, keep Keep) (done bool, err error) {
	countedApart := []string{Ran} // conditions of rows
	if keep.Failures > 0 {
		countedApart = []string{Ran + " AND outcome = 'succeeded'", failure}
	}
	values := named{"task": task, "kept": keep.RunsPerTask}
	for _, condition := range countedApart {
		done, err = p.removeAll(`SELECT rowid FROM run WHERE phase = 'ended' AND unpublished = 0 AND rowid IN
			(SELECT rowid FROM run INDEXED BY run_ran WHERE task = :task AND `+condition+`
				ORDER BY id DESC LIMIT -1 OFFSET :kept) LIMIT :limit`, values)
		if err != nil || !done {
			return done, err
		}
	}
	var others int
	err = p.q.QueryRowContext(p.ctx, `SELECT (SELECT count(*) FROM run INDEXED BY run_task WHERE task = ?1)
		- (SELECT count(*) FROM run INDEXED BY run_ran WHERE task = ?1 AND `+Ran+`)`, task).Scan(&others)
	if err != nil || others <= keep.RunsPerTask {
		return true, err
	}
	return p.removeAll(`SELECT rowid FROM run INDEXED BY run_task
		WHERE task = :task AND phase = 'ended' AND NOT (`+Ran+`)
		ORDER BY slot DESC, rowid DESC LIMIT :limit OFFSET :kept`, values)
}

// isSpent reports whether the step has to end.
func (p *pruning) isSpent() bool {
	return p.result.Rows >= p.maxRows() || p.result.Rows >= p.budget.MinRows && time.Since(p.begun) >= p.budget.Time
}

// maxRows returns how many rows the step may remove.
func (p *pruning) maxRows() int { return max(p.budget.Rows, p.budget.MinRows) }

// removeAll removes the rows that the selection with its values selects, a chunk at a time: it sets
// :limit in values. It ends when no such rows are left (done), the step has to end, or it fails.
func (p *pruning) removeAll(selection string, values named) (done bool, err error) {
	for {
		limit := max(1, min(chunk, p.maxRows()-p.result.Rows))
		values["limit"] = limit
		removed, err := p.remove(selection, values)
		p.result.Rows += removed
		if err != nil || removed < limit {
			return err == nil, err
		}
		if p.isSpent() {
			return false, nil
		}
	}
}

// remove removes the rows that are selected, and the definitions that only they used.
func (p *pruning) remove(selection string, values named) (removed int, err error) {
	definitions := map[int64]string{} // with their task
	err = Each(p.ctx, p.q, func(rows *sql.Rows) error {
		var r Row
		var definition sql.NullInt64
		var unpublished int
		if err := rows.Scan(&r.ID, &r.Task, &r.Output, &definition, &unpublished); err != nil {
			return err
		}
		removed++
		p.result.Unpublished += unpublished
		r.Output = p.q.absolute(r.Output)
		p.result.Removed = append(p.result.Removed, r)
		if definition.Valid {
			definitions[definition.Int64] = r.Task
		}
		return nil
	}, "DELETE FROM run WHERE rowid IN ("+selection+") RETURNING id, task, output, definition, unpublished",
		values.args()...)
	p.removeDefinitions(definitions)
	return removed, err
}

// removeDefinitions removes the definitions that no row uses any more. It searches the rows of the
// task from the oldest on. The removed rows were old, so it finds a definition that is still used
// at once.
func (p *pruning) removeDefinitions(definitions map[int64]string) {
	for definition, task := range definitions {
		p.q.do(p.ctx, `DELETE FROM definition WHERE id = ?1 AND NOT EXISTS
			(SELECT 1 FROM run INDEXED BY run_task WHERE task = ?2 AND definition = ?1)`, definition, task)
	}
}
