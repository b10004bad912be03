package state

import (
	"context"
	"errors"
	"os"
	"time"
)

// A Plan is the one transaction in which a tick decides what is to be done. A tick that is killed
// before Commit has changed nothing, and the next tick finds a gap. A tick that is killed after
// Commit leaves rows whose owner is dead, and the next tick finds those rows. There is no third
// case.
//
// Only one process plans at a time; others wait in DB.Plan. Until Commit or Rollback every other
// call of the same DB waits, too. So a plan must read through its own Runs and Values.
//
//	plan := db.Plan(ctx)
//	defer plan.Rollback()
//	plan.Values().Covered(ctx)              // which minutes nobody covered
//	plan.Reclaim(ctx, end)                  // what dead ticks have planned and not begun
//	plan.Runs().Record(ctx, missed, …)
//	ours := plan.Become(ctx, self)
//	plan.Add(ctx, slots)                    // what this tick will come to
//	plan.Values().Cover(ctx, minute)
//	plan.Commit()
type Plan struct {
	file *file // of the database
	tx   transaction
	info os.FileInfo
	over bool
	self *Self // became an owner in this plan; nil: nobody did
}

// Commit makes all changes of the plan visible at once. When the error is Damaged the file has been
// set aside: plan anew.
func (p *Plan) Commit() error {
	p.over = true
	if err := p.tx.tx.Commit(); err != nil {
		return p.failed(err)
	}
	return nil
}

// Rollback undoes the plan. After Commit it does nothing.
func (p *Plan) Rollback() {
	if !p.over {
		p.over = true
		_ = p.tx.tx.Rollback()
		p.self.resign()
	}
}

// failed ends the plan, and sets a damaged file aside.
func (p *Plan) failed(err error) error {
	p.over = true
	_ = p.tx.tx.Rollback()
	p.self.resign()
	if p.file.access == writing && Damaged(err) {
		err = errors.Join(err, p.file.replace(p.info, err))
	}
	return p.file.explain(err)
}

// read and write make a plan a store: both are a part of its transaction.
func (p *Plan) read(_ context.Context, op func(querier) error) error  { return p.apply(op) }
func (p *Plan) write(_ context.Context, op func(querier) error) error { return p.apply(op) }

// apply runs op in the plan's transaction. An error of the database ends the plan.
func (p *Plan) apply(op func(querier) error) error {
	err := p.tx.apply(p.file, op)
	if p.tx.err != nil || primary(err) != 0 {
		return p.failed(err)
	}
	return err
}

// owners are the owners of rows as the plan sees them.
func (p *Plan) owners() Owners { return Owners{p.file, p} }

// Runs answers questions about rows as the plan sees them.
func (p *Plan) Runs() Runs { return Runs{p} }

// Values has the single values as the plan sees them.
func (p *Plan) Values() Values { return Values{p} }

// Become makes a process an owner of rows as a part of the plan.
func (p *Plan) Become(ctx context.Context, self *Self) (Owned, error) {
	self.mu.Lock()
	defer self.mu.Unlock()
	if self.owner == nil {
		owner, err := p.owners().lockNew(self.kind)
		if err != nil {
			return Owned{}, p.file.explain(err)
		}
		if err := owner.Enroll(ctx, p); err != nil {
			return Owned{}, err
		}
		self.owner, p.self = owner, self
	}
	return Owned{p, self.owner.ID}, nil
}

// Add adds rows, and returns the rows that were added. A row of the schedule (Scheduled) is not
// added when its slot has any row already. So neither two ticks of a minute nor a clock that was
// set back can run a slot twice.
func (p *Plan) Add(ctx context.Context, rows []Row) (added []Row, err error) {
	err = p.write(ctx, func(q querier) (err error) {
		added, err = insert(ctx, q, rows)
		return err
	})
	return added, err
}

// Reclaim takes the slots that dead ticks have planned out of the plan, because none of them was
// begun. The minute that is planned now ends at end.
//
//   - A row that waited before waits again.
//   - A row of a slot at or after end stays planned: the clock was set back, and the slot is yet to
//     come.
//   - Any other row is removed.
//
// It returns these rows as they were (left), and the planned rows of living ticks (live), the
// oldest slot first.
func (p *Plan) Reclaim(ctx context.Context, end time.Time) (left, live []Row, err error) {
	err = p.write(ctx, func(q querier) error {
		planned, err := RowsOf(ctx, q, SelectRows()+`INDEXED BY run_live
			WHERE `+notEnded+` AND phase = 'planned' ORDER BY slot, id`)
		if err != nil {
			return err
		}
		alive := p.owners().aliveOnce()
		for _, r := range planned {
			if alive(r.Owner) {
				live = append(live, r)
				continue
			}
			left = append(left, r)
			if r.Scheduled && r.Wait.For == ForNothing && !r.Slot.Before(end) {
				continue
			}
			if r.Wait.For == ForNothing {
				q.do(ctx, "DELETE FROM run WHERE id = ? AND phase = 'planned'", r.ID)
			} else if err := putBack().apply(ctx, q, r.Owner, r); err != nil {
				return err
			}
		}
		return nil
	})
	return left, live, err
}
