package state

import (
	"context"
	"database/sql"
	"time"

	"sched/schedule/state/sqltype"
)

// Audit is the log of what people changed by commands, through the API and on the pages. It keeps
// the newest auditRows changes.
type Audit struct{ store store }

// auditRows bounds the log, so that nobody fills the disk with it.
const auditRows = 20_000

// A Change is what somebody changed, or tried to change.
type Change struct {
	ID     int64 // given by Add
	At     time.Time
	Who    string
	From   string // how it was asked: command, socket, or an address
	Action string // trigger, retry, stop, pause, resume, …
	Target string // the task or the run
	Reason string
	Error  string // why it was not done; empty when it was
}

// Add writes a change down, and returns its number. When it has returned, the change survives a
// power cut.
func (a Audit) Add(ctx context.Context, c Change) (id int64, err error) {
	err = a.store.read(ctx, func(q querier) error {
		// Of this, the only connection, from now on. A transaction, as of write, could not change
		// it.
		_, err := q.ExecContext(ctx, "PRAGMA synchronous = FULL")
		return err
	})
	if err != nil {
		return 0, err
	}
	err = a.store.write(ctx, func(q querier) error {
		err := q.QueryRowContext(ctx, `INSERT INTO audit (at, who, origin, action, target, reason, error)
			VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			c.At.UnixMicro(), c.Who, c.From, c.Action, c.Target, c.Reason, c.Error).Scan(&id)
		if err == nil {
			_, err = q.ExecContext(ctx, "DELETE FROM audit WHERE id <= ?", id-auditRows)
		}
		return err
	})
	return id, err
}

// Failed adds to a change the reason why it was not done.
func (a Audit) Failed(ctx context.Context, id int64, why string) error {
	return execute(ctx, a.store, "UPDATE audit SET error = ? WHERE id = ?", why, id)
}

// Newest returns the newest changes below a number (0: all), at most n, the newest first.
func (a Audit) Newest(ctx context.Context, below int64, n int) ([]Change, error) {
	scan := func(rows *sql.Rows) (c Change, err error) {
		err = rows.Scan(&c.ID, sqltype.Time(&c.At), &c.Who, &c.From, &c.Action, &c.Target, &c.Reason, &c.Error)
		return c, err
	}
	return ask(ctx, a.store, func(q querier) ([]Change, error) {
		return listed(ctx, q, scan, `SELECT id, at, who, origin, action, target, reason, error FROM audit
			WHERE ?1 = 0 OR id < ?1 ORDER BY id DESC LIMIT ?2`, below, n)
	})
}
