package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// A queue makes one statement of the calls that come within a millisecond, or while others are
// executed. So the hundreds of claims of a tick need a few statements, and many servers few
// connections.
type queue struct {
	mu      sync.Mutex
	waiting []*item
	workers int
}

// An item is a row that is to be taken or put.
type item struct {
	statement *string // take or put of the dialect
	kind      string
	name      string
	run       string
	value     []byte
	keep      time.Duration

	ctx   context.Context
	done  chan error
	found []byte // after take: the value that the row has now; nil when it is not known
}

const (
	mostRows  = 500     // of one statement
	mostBytes = 1 << 20 // of its values; servers refuse statements that are much longer
	workers   = 2       // so many statements of the queue at the same time
)

// write executes an item together with others. After an error nobody knows whether it was executed.
func (s *Store) write(ctx context.Context, i *item) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	ctx, cancel := begin(ctx)
	defer cancel()
	i.ctx, i.done = ctx, make(chan error, 1)
	s.queue.mu.Lock()
	s.queue.waiting = append(s.queue.waiting, i)
	if s.queue.workers < workers {
		s.queue.workers++
		go s.work()
	}
	s.queue.mu.Unlock()
	select {
	case err := <-i.done:
		return err
	case <-ctx.Done():
		if err := s.Down(); err != nil {
			return err // what the worker is trying again
		}
		explained, _ := s.target.explain(ctx.Err())
		return explained
	}
}

// work executes what waits until nothing does.
func (s *Store) work() {
	for {
		time.Sleep(time.Millisecond)
		batch := s.queue.next()
		if len(batch) == 0 {
			return
		}
		err := s.do(context.Background(), func(ctx context.Context, c *sql.Conn) error { return s.execute(ctx, c, batch) })
		for _, i := range batch {
			i.done <- err
		}
	}
}

// next takes items for one statement: the first that waits, and others of its kind with other
// names. They are sorted by name: statements of two servers wait for each other then, without a
// deadlock. It is empty when the worker has to end.
func (q *queue) next() (batch []*item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	names, size := map[string]bool{}, 0
	q.waiting = slices.DeleteFunc(q.waiting, func(i *item) bool {
		if i.ctx.Err() != nil {
			return true // its caller is gone
		}
		if len(batch) > 0 && (i.statement != batch[0].statement || i.kind != batch[0].kind ||
			names[i.name] || len(batch) == mostRows || size+len(i.value) > mostBytes) {
			return false
		}
		names[i.name], size, batch = true, size+len(i.value), append(batch, i)
		return true
	})
	if len(batch) == 0 {
		q.workers--
	}
	slices.SortFunc(batch, func(a, b *item) int { return strings.Compare(a.name, b.name) })
	return batch
}

// idle reports whether no statement of the queue is executed and none waits.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.workers == 0
}

// execute runs the statement of a batch. One that takes rows returns what these are then. A
// connection may take long to make: an item whose caller gave up meanwhile is not sent.
func (s *Store) execute(ctx context.Context, c *sql.Conn, batch []*item) error {
	batch = slices.DeleteFunc(slices.Clone(batch), func(i *item) bool { return i.ctx.Err() != nil })
	if len(batch) == 0 {
		return nil
	}
	var args []any
	names := []any{s.config.Namespace, batch[0].kind}
	byName := map[string]*item{}
	for _, i := range batch {
		args = append(args, s.config.Namespace, i.kind, encode(i.name), i.run, i.value, i.keep.Milliseconds())
		names = append(names, encode(i.name))
		byName[encode(i.name)] = i
	}
	if batch[0].statement == &s.target.take {
		args = append(args, names...)
	}
	statement := strings.NewReplacer("{rows}", list(len(batch), "(?, ?, ?, ?, ?, {now} + ?)"), "{names}", list(len(batch), "?")).Replace(*batch[0].statement)
	rows, err := s.query(ctx, c, statement, args...)
	for _, r := range rows {
		byName[r.name].found = r.value
	}
	return err
}

// list returns n times what, with commas between.
func list(n int, what string) string {
	return strings.TrimSuffix(strings.Repeat(what+", ", n), ", ")
}
