package state

import (
	"context"
	"database/sql"
	"sync"
)

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
		one.err = transact(f, func(tx *sql.Tx) error { return one.op(querierOf(f, tx)) })
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
	w.err = w.op(querierOf(f, tx))
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
