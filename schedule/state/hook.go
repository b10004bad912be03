package state

import (
	"context"
	"database/sql"
	"time"
)

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

// hookTries bounds how often a hook is fired. A hook that kills its own process would otherwise be
// fired for ever.
const hookTries = 2

// HookForked writes down the process of a hook.
func (o Owned) HookForked(ctx context.Context, run, name string, pid int) error {
	return o.writeOwned(ctx, run, func(q querier) error {
		_, err := q.ExecContext(ctx, "UPDATE hook SET pid = ? WHERE run = ? AND name = ? AND ended IS NULL",
			pid, run, name)
		return err
	})
}

// HookEnded says that a hook has ended, and adds a note to the run if the hook failed.
func (o Owned) HookEnded(ctx context.Context, run, name string, at time.Time, note string) error {
	return o.writeOwned(ctx, run, func(q querier) error {
		_, err := q.ExecContext(ctx, "UPDATE hook SET ended = ?, note = ? WHERE run = ? AND name = ?",
			at.UnixMicro(), note, run, name)
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

// Hooks returns which hooks of a run have begun, and which of them have ended.
func (o Owned) Hooks(ctx context.Context, run string) ([]Hook, error) {
	return ask(ctx, o.store, func(q querier) ([]Hook, error) { return hooksOf(ctx, q, run) })
}

// Hooks returns the hooks of a run that is finishing, as far as they have begun.
func (db *DB) Hooks(ctx context.Context, run string) ([]Hook, error) {
	return ask(ctx, db, func(q querier) ([]Hook, error) { return hooksOf(ctx, q, run) })
}

// A Hook is a hook that has begun.
type Hook struct {
	Name  string
	Begun time.Time
	Ended time.Time // zero when it has not
	PID   int       // of a command; 0 for others, and before it is known
	Note  string    // how it failed; empty if it did not
}

func hooksOf(ctx context.Context, q querier, run string) ([]Hook, error) {
	scan := func(rows *sql.Rows) (h Hook, err error) {
		err = rows.Scan(&h.Name, asTime(&h.Begun), asTime(&h.Ended), orZero(&h.PID), &h.Note)
		return h, err
	}
	return listed(ctx, q, scan, `SELECT name, begun, ended, pid, note FROM hook
		WHERE run = ? ORDER BY begun, name`, run)
}

// nobody is the owner of hooks that belong to no run.
const nobody = 0

// Unowned notes hooks that belong to no run of ours, such as the hooks of an incident. ForgetHooks
// removes them.
func (db *DB) Unowned() Owned { return Owned{db, nobody} }

// ForgetHooks removes the notes about the hooks of an incident.
func (db *DB) ForgetHooks(ctx context.Context, incident string) error {
	return execute(ctx, db, "DELETE FROM hook WHERE run = ?", incident)
}
