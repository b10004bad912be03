package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"time"
)

// A Plan is the one transaction in which a tick decides what is to be done. A tick that is killed
// before Commit has changed nothing, and the next tick finds a gap. One that is killed afterwards
// leaves rows with an owner that is dead, and the next tick finds those. There is no third case.
//
// Only one process plans at a time; others wait in DB.Plan. Until Commit or Rollback every other
// call of the same DB waits, too: what a plan wants to know it asks its own Runs and Pauses.
//
//	plan := db.Plan(ctx)
//	defer plan.Rollback()
//	ours := plan.Enroll(ctx, owner)
//	plan.Values().Covered(ctx)              // which minutes nobody covered
//	plan.Add(ctx, slots)                    // this minute's, ready; those of the gap, missed or ready
//	plan.Due(ctx, now); plan.Orphans(ctx)   // what may go on, and what lost its owner
//	ours.Take(…), ours.Finish(…), …         // as Next says
//	plan.Cover(ctx, minute)
//	plan.Commit()
type Plan struct {
	db   *DB
	tx   *sql.Tx
	info os.FileInfo
	over bool
	dead []int64 // owners, found by Orphans; their files go after the commit
}

// Plan begins a plan. It waits for other writers.
func (db *DB) Plan(ctx context.Context) (*Plan, error) {
	var plan *Plan
	err := db.file.do(func(conn *sql.DB) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err == nil {
			plan = &Plan{db: db, tx: tx, info: db.file.info}
		}
		return err
	})
	return plan, err
}

// Commit makes everything that the plan has done true at once. When the error is Damaged the file
// has been set aside: plan anew.
func (p *Plan) Commit() error {
	p.over = true
	if err := p.tx.Commit(); err != nil {
		return p.failed(err)
	}
	for _, id := range p.dead {
		if p.db.file.access == writing {
			os.Remove(p.db.Owners().path(id))
		}
	}
	return nil
}

// Rollback undoes the plan. After Commit it does nothing.
func (p *Plan) Rollback() {
	if !p.over {
		p.over = true
		_ = p.tx.Rollback()
	}
}

// failed ends the plan, and sets a damaged file aside.
func (p *Plan) failed(err error) error {
	p.Rollback()
	if p.db.file.access == writing && Damaged(err) {
		err = errors.Join(err, p.db.file.replace(p.info, err))
	}
	return p.db.file.explain(err)
}

// read and write run op in the plan's transaction. An error of the database ends the plan.
func (p *Plan) read(ctx context.Context, op func(querier) error) error { return p.write(ctx, op) }

func (p *Plan) write(_ context.Context, op func(querier) error) error {
	err := op(p.tx)
	if primary(err) != 0 {
		return p.failed(err)
	}
	return err
}

// Runs answers questions about rows as the plan sees them.
func (p *Plan) Runs() Runs { return Runs{p} }

// Pauses says what is paused as the plan sees it.
func (p *Plan) Pauses(of string) Pauses { return Pauses{p, of} }

// Values has the single values as the plan sees them.
func (p *Plan) Values() Values { return Values{p} }

// Enroll writes down an owner, and returns what it may do with its rows until the plan is over.
// Afterwards use Owners.Owned.
func (p *Plan) Enroll(ctx context.Context, o *Owner) (Owned, error) { return enroll(ctx, p, o) }

// Cover says that this tick accounts for all minutes up to this one. It replaces a later minute,
// too: that one was written with a wrong clock, and the caller has decided so.
func (p *Plan) Cover(ctx context.Context, minute time.Time) error {
	return p.write(ctx, func(q querier) error { return setValue(ctx, q, keyCovered, minute.UnixMicro()) })
}

// Add adds rows, and returns those that were added. A row of the schedule (Scheduled) is not added
// when its slot has a row already, whatever became of that: two ticks of a minute, and a clock that
// was set back, cannot run a slot twice.
func (p *Plan) Add(ctx context.Context, rows []Row) (added []Row, err error) {
	err = p.write(ctx, func(q querier) (err error) {
		added, err = insert(ctx, q, rows)
		return err
	})
	return added, err
}

// Due returns the waiting rows that may go on now, or whose time is over, with their snapshots.
// What has waited longest comes first.
func (p *Plan) Due(ctx context.Context, now time.Time) (due []Row, err error) {
	err = p.write(ctx, func(q querier) (err error) {
		due, err = rowsOf(ctx, q, `SELECT `+columns+` FROM run INDEXED BY run_live WHERE phase = 'waiting' AND phase <> 'ended'
			AND (coalesce(not_before, 0) <= ?1 OR until < ?1 OR stop IS NOT NULL)`+longestFirst, now.UnixMicro())
		return errors.Join(err, addSnapshots(ctx, q, due))
	})
	return due, err
}

// longestFirst orders rows that wait: by when each began to wait for what others have, else by when
// it was due.
const longestFirst = ` ORDER BY coalesce(waiting_since, not_before, slot), slot, id`

// Orphans returns the rows whose owner is dead, with their snapshots, the oldest first. It forgets
// dead owners that have no rows.
func (p *Plan) Orphans(ctx context.Context) (orphans []Row, err error) {
	err = p.write(ctx, func(q querier) error {
		dead, err := p.db.Owners().dead(ctx, q)
		if err != nil || len(dead) == 0 {
			return err
		}
		list, err := json.Marshal(dead)
		if err != nil {
			return err
		}
		orphans, err = rowsOf(ctx, q, `SELECT `+columns+` FROM run INDEXED BY run_live WHERE phase IN ('ready', 'running', 'finishing') AND phase <> 'ended'
			AND owner IN (SELECT value FROM json_each(?)) ORDER BY slot, id`, string(list))
		if err != nil {
			return err
		}
		if err := addSnapshots(ctx, q, orphans); err != nil {
			return err
		}
		p.dead, err = forgetOwners(ctx, q, string(list))
		return err
	})
	return orphans, err
}

// forgetOwners removes the owners of the list (JSON) that have no rows.
func forgetOwners(ctx context.Context, q querier, list string) (forgotten []int64, err error) {
	rows, err := q.QueryContext(ctx, `DELETE FROM owner WHERE id IN (SELECT value FROM json_each(?))
		AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_live WHERE phase <> 'ended' AND run.owner = owner.id) RETURNING id`, list)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		forgotten = append(forgotten, id)
	}
	return forgotten, rows.Err()
}

// addSnapshots fills in the snapshots of rows.
func addSnapshots(ctx context.Context, q querier, rows []Row) error {
	bodies := map[int64]json.RawMessage{}
	for i, r := range rows {
		if r.DefinitionID == 0 {
			continue
		}
		if _, known := bodies[r.DefinitionID]; !known {
			var body string
			if err := q.QueryRowContext(ctx, "SELECT body FROM definition WHERE id = ?", r.DefinitionID).Scan(&body); err != nil {
				return err
			}
			bodies[r.DefinitionID] = json.RawMessage(body)
		}
		rows[i].Snapshot = bodies[r.DefinitionID]
	}
	return nil
}
