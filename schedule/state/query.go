package state

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
)

// A Querier asks questions about the database as it is at one moment.
type Querier interface {
	reader
	absolute(path string) string
}

type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// A querier is a connection or a transaction.
type querier struct {
	connection
	outputs string // the folder of the outputs, with a slash behind it; empty in memory
}

func querierOf(f *file, c connection) querier {
	if f.access == memory {
		return querier{connection: c}
	}
	return querier{c, filepath.Join(f.dir, "output") + string(filepath.Separator)}
}

type connection interface {
	reader
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// do executes a statement of a transaction. After an error the transaction does nothing more, and
// ends with it (transaction.apply): the caller need not look.
func (q querier) do(ctx context.Context, statement string, args ...any) {
	_, _ = q.ExecContext(ctx, statement, args...)
}

// A transaction executes nothing after its first error. SQLite may have undone all of it by then,
// as on a full disk, and would commit each later statement by itself
// (https://www.sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction).
type transaction struct {
	tx  *sql.Tx
	err error // the first one
}

// apply runs op in the transaction. The error is the first one of the database, if there was one,
// also if op went on after it.
func (t *transaction) apply(f *file, op func(querier) error) error {
	err := op(querierOf(f, t))
	if t.err != nil && !errors.Is(err, t.err) {
		return t.err
	}
	return err
}

func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (did sql.Result, err error) {
	if t.err == nil {
		did, t.err = t.tx.ExecContext(ctx, query, args...)
	}
	return did, t.err
}

func (t *transaction) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	if t.err == nil {
		rows, t.err = t.tx.QueryContext(ctx, query, args...)
	}
	return rows, t.err
}

func (t *transaction) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if t.err != nil { // no other package can make a sql.Row that has an error
		over, end := context.WithCancel(ctx)
		end()
		return t.tx.QueryRowContext(over, query, args...)
	}
	row := t.tx.QueryRowContext(ctx, query, args...)
	t.err = row.Err()
	return row
}

// A store runs the reads and writes of a subject. A DB runs each in a transaction of its own; a
// Plan runs them all in the plan's transaction.
type store interface {
	read(ctx context.Context, op func(querier) error) error
	write(ctx context.Context, op func(querier) error) error
}

// ask returns the answer to questions about the database as it is at one moment.
func ask[T any](ctx context.Context, s store, questions func(querier) (T, error)) (answer T, err error) {
	err = s.read(ctx, func(q querier) (err error) {
		answer, err = questions(q)
		return err
	})
	return answer, err
}

// askOne returns the one value of a query that has one row.
func askOne[T any](ctx context.Context, s store, query string, args ...any) (value T, err error) {
	return ask(ctx, s, func(q querier) (value T, err error) {
		err = q.QueryRowContext(ctx, query, args...).Scan(&value)
		return value, err
	})
}

// execute runs a statement in a transaction of its own, or of the plan.
func execute(ctx context.Context, s store, statement string, args ...any) error {
	return s.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, statement, args...)
		return err
	})
}

// Each calls scan for each row of a query.
func Each(ctx context.Context, q Querier, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// listed returns what scan makes of each row of a query.
func listed[T any](
	ctx context.Context, q Querier, scan func(*sql.Rows) (T, error), query string, args ...any,
) (all []T, err error) {
	err = Each(ctx, q, func(rows *sql.Rows) error {
		value, err := scan(rows)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}

// Only returns the only column of a query.
func Only[T any](ctx context.Context, q Querier, query string, args ...any) ([]T, error) {
	return listed(ctx, q, func(rows *sql.Rows) (value T, err error) {
		err = rows.Scan(&value)
		return value, err
	}, query, args...)
}

// changed runs a statement, and returns how many rows it has changed.
func changed(ctx context.Context, q querier, statement string, args ...any) (rows int64, err error) {
	did, err := q.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return did.RowsAffected()
}

// writes are the writes of one process. Writes that come while a transaction is under way share the
// next transaction, because a commit costs more than the change of a row. When a hundred runs start
// at once, each has a few writes. Safe for concurrent use.
type writes struct {
	mu      sync.Mutex
	waiting []*pendingWrite
	busy    bool // a goroutine commits
}

// A pendingWrite waits for a transaction.
type pendingWrite struct {
	op   func(querier) error
	turn chan bool // true: commit the waiting writes; false: it is done
	err  error
}

// do runs op in a transaction, and returns when the transaction is over.
func (w *writes) do(f *file, op func(querier) error) error {
	ours := &pendingWrite{op: op, turn: make(chan bool, 1)}
	w.mu.Lock()
	w.waiting = append(w.waiting, ours)
	first := !w.busy
	w.busy = true
	w.mu.Unlock()
	if !first && !<-ours.turn {
		return ours.err
	}
	w.mu.Lock()
	together := w.waiting
	w.waiting = nil
	w.mu.Unlock()

	commit(f, together)

	for _, other := range together {
		if other != ours {
			other.turn <- false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = len(w.waiting) > 0
	if w.busy {
		w.waiting[0].turn <- true
	}
	return ours.err
}

// commit runs writes in one transaction, each as if it were alone: a write that fails changes
// nothing and does not disturb the others.
func commit(f *file, together []*pendingWrite) {
	if len(together) == 1 {
		one := together[0]
		one.err = transact(f, func(tx *sql.Tx) error { return (&transaction{tx: tx}).apply(f, one.op) })
		return
	}
	err := transact(f, func(tx *sql.Tx) error {
		for _, w := range together {
			if err := w.inSavepoint(f, tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range together {
		switch {
		case err == nil:
		case Unwritable(err):
			w.err = err
		default: // SQLite gave the whole transaction up for one of them
			commit(f, []*pendingWrite{w})
		}
	}
}

// inSavepoint runs one of several writes in a transaction. The error is an error of the
// transaction.
func (w *pendingWrite) inSavepoint(f *file, tx *sql.Tx) error {
	if _, err := tx.Exec("SAVEPOINT apart"); err != nil {
		return err
	}
	w.err = (&transaction{tx: tx}).apply(f, w.op)
	if Damaged(w.err) || Unwritable(w.err) {
		return w.err
	}
	if w.err != nil {
		if _, err := tx.Exec("ROLLBACK TO apart"); err != nil {
			return err
		}
	}
	_, err := tx.Exec("RELEASE apart")
	return err
}

// transact runs ops in one transaction. An error means that nothing was committed.
func transact(f *file, ops func(*sql.Tx) error) error {
	return f.do(func(conn *sql.DB) error {
		tx, err := conn.BeginTx(context.Background(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := ops(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// relative returns the path of an output as the database has it: relative to the folder output/. So
// the state folder can be moved.
func (q querier) relative(path string) string { return strings.TrimPrefix(path, q.outputs) }

// absolute undoes relative.
func (q querier) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return q.outputs + path
}

// named are the parameters of a statement, by their names.
type named map[string]any

// args returns the parameters as database/sql takes them.
func (n named) args() (args []any) {
	for name, value := range n {
		args = append(args, sql.Named(name, value))
	}
	return args
}
