package state

import (
	"context"
	"time"

	"sched/schedule/state/sqltype"
)

// Owned changes rows that one owner is responsible for (Begin, Apply). Each method is one small
// transaction, or a part of a Plan. A process that is late, and whose row another process has
// taken, changes nothing: the error is *StaleError or ErrGone.
type Owned struct {
	store store
	ID    int64 // of the owner
}

// Apply makes a step with rows, all or none, and then with these copies of them.
func (o Owned) Apply(ctx context.Context, s Step, rows ...*Row) error {
	err := o.store.write(ctx, func(q querier) error {
		for _, r := range rows {
			if err := s.apply(ctx, q, o.ID, *r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || s.isForOthers {
		return err
	}
	for _, r := range rows {
		s.make(r, o.ID)
	}
	return nil
}

// Begin adds rows, all or none: rows that we are about to start, rows whose first attempt is about
// to begin (as after the step Start), and rows with an outcome, which we are about to finish. Each
// takes the place of a row that waited or was planned under the same id.
// A second run of a slot becomes a row that the schedule did not ask for. A slot that was taken for
// missed has run, after all.
func (o Owned) Begin(ctx context.Context, rows ...Row) error {
	return o.store.write(ctx, func(q querier) error {
		rec, err := newRecorder(ctx, q, rows)
		if err != nil {
			return err
		}
		for _, r := range rows {
			r.Phase, r.Owner = Ready, o.ID
			switch {
			case r.Outcome != "":
				r.Phase = Finishing
			case r.Attempted():
				r.Phase = Running
			}
			begun, err := rec.beginPlanned(r)
			if err == nil && !begun {
				err = rec.record(r)
			}
			if err == nil && !begun {
				err = mustOwn(ctx, q, o.ID, r.ID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Restore adds our row as it is to a database that has lost it (ErrGone). It does nothing when the
// row is there. If a tick has recorded the slot as missed meanwhile, that row is removed.
func (o Owned) Restore(ctx context.Context, r Row, self *Owner) error {
	return o.store.write(ctx, func(q querier) error {
		r.Owner = o.ID
		device, inode := self.fileID()
		q.do(ctx, `INSERT INTO owner (id, kind, pid, since, device, inode, boot)
			VALUES (?1, 'restored', 0, ?1, ?2, ?3, ?4)
			ON CONFLICT DO UPDATE SET device = ?2, inode = ?3, boot = ?4`, o.ID, device, inode, thisBoot())
		rec, err := newRecorder(ctx, q, []Row{r})
		if err != nil {
			return err
		}
		return rec.record(r)
	})
}

// Note adds notes to a row that is ours.
func (o Owned) Note(ctx context.Context, run string, notes ...string) error {
	return o.writeOwned(ctx, run, func(q querier) error { return addNotes(ctx, q, run, notes) })
}

// Rows returns our rows, with their snapshots, the oldest first: only rows that are ready, or all
// rows that have begun.
func (o Owned) Rows(ctx context.Context, ready bool) (rows []Row, err error) {
	phases := "'ready', 'running', 'finishing'"
	if ready {
		phases = "'ready'"
	}
	return Runs{o.store}.listNotEnded(ctx, "phase IN ("+phases+") AND owner = ? ORDER BY slot, id", o.ID)
}

// Stop returns who asked to stop our row; nil when nobody did.
func (o Owned) Stop(ctx context.Context, run string) (stop *Stop, err error) {
	err = o.store.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, "SELECT max(stop) FROM run WHERE id = ?", run).Scan(sqltype.JSON(&stop))
	})
	return stop, err
}

// mustOwn returns a *StaleError or ErrGone unless the row belongs to the owner.
func mustOwn(ctx context.Context, q querier, owner int64, run string) error {
	var ours bool
	err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM run WHERE id = ? AND owner = ?)", run, owner).
		Scan(&ours)
	if err == nil && !ours {
		err = staleError(ctx, q, run)
	}
	return err
}

// HookBegun says that a hook is about to be fired. It must be committed before the hook is fired.
// It returns false for a hook that has ended already, or was fired twice: then the hook must not be
// fired. A hook that has begun and not ended is fired again, because the process that fired it was
// killed.
func (o Owned) HookBegun(ctx context.Context, run, name string, at time.Time) (fire bool, err error) {
	err = o.writeOwned(ctx, run, func(q querier) error {
		n, err := changed(ctx, q, `INSERT INTO hook (run, name, begun) VALUES (?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET begun = ?3, pid = NULL, tries = tries + 1
				WHERE ended IS NULL AND tries < ?4`, run, name, at.UnixMicro(), hookTries)
		fire = n > 0
		return err
	})
	return fire, err
}

// HookForked writes down the process of a hook.
func (o Owned) HookForked(ctx context.Context, run, name string, pid int) error {
	return o.writeOwned(ctx, run, func(q querier) error {
		q.do(ctx, "UPDATE hook SET pid = ? WHERE run = ? AND name = ? AND ended IS NULL",
			pid, run, name)
		return nil
	})
}

// HookEnded says that a hook has ended, and adds a note to the run if the hook failed.
func (o Owned) HookEnded(ctx context.Context, run, name string, at time.Time, note string) error {
	return o.writeOwned(ctx, run, func(q querier) error {
		_, err := q.ExecContext(ctx, `INSERT INTO hook (run, name, begun, ended, note) VALUES (?1, ?2, ?3, ?3, ?4)
			ON CONFLICT DO UPDATE SET ended = ?3, note = ?4`, run, name, at.UnixMicro(), note)
		if err != nil || note == "" || o.ID == nobody {
			return err
		}
		return addNotes(ctx, q, run, []string{note})
	})
}

// writeOwned runs op in a transaction if the row of the run is ours. Otherwise it returns a
// *StaleError or ErrGone. Hooks of nobody belong to no row.
func (o Owned) writeOwned(ctx context.Context, run string, op func(querier) error) error {
	return o.store.write(ctx, func(q querier) error {
		if o.ID != nobody {
			if err := mustOwn(ctx, q, o.ID, run); err != nil {
				return err
			}
		}
		return op(q)
	})
}

// nobody is the owner of hooks that belong to no run.
const nobody = 0

// hookTries bounds how often a hook is fired. A hook that kills its own process would otherwise be
// fired for ever.
const hookTries = 2

// A Hook is a hook that has begun.
type Hook struct {
	Name  string
	Begun time.Time
	Ended time.Time // zero when it has not
	PID   int       // of a command; 0 for others, and before it is known
	Note  string    // how it failed; empty if it did not
}
