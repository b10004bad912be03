package state

import (
	"context"
	"database/sql"
	"time"
)

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

// forgetHooks removes the hooks of a run, or of an incident.
func forgetHooks(ctx context.Context, q querier, run string) error {
	_, err := q.ExecContext(ctx, "DELETE FROM hook WHERE run = ?", run)
	return err
}
