package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Writes of several goroutines share transactions. Each counts as if it had a transaction of its
// own: a write that fails changes nothing, fails alone, and gets its own error.
func TestWritesThatComeTogetherDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	ctx := context.Background()
	refused := errors.New("refused")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			key := fmt.Sprint("value ", i)
			set := func(ctx context.Context, after error) error {
				return db.write(ctx, func(q querier) error {
					writeValue(ctx, q, key, i)
					return after
				})
			}
			switch i % 4 {
			case 1:
				if err := set(ctx, refused); !errors.Is(err, refused) {
					t.Errorf("%d: %v", i, err)
				}
			case 2:
				if err := set(ended, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("%d: %v", i, err)
				}
			case 3: // a statement that the database refuses
				err := db.write(ctx, func(q querier) error {
					_, err := q.ExecContext(ctx, "INSERT INTO run (id) VALUES (1)")
					writeValue(ctx, q, key, i)
					return err
				})
				if primary(err) == 0 {
					t.Errorf("%d: %v", i, err)
				}
			default:
				if err := set(ctx, nil); err != nil {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	for i := range 200 {
		var got int
		err := db.read(ctx, func(q querier) error { return readValue(ctx, q, fmt.Sprint("value ", i), &got) })
		if want := i%4 == 0; err != nil || want && got != i || !want && got != 0 {
			t.Errorf("%d: %d, %v", i, got, err)
		}
	}
}

// Runs begin together, or no run of them begins.
func TestRunsBeginAllOrNone(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	ours, others := owned(t, db), owned(t, db)
	ctx := context.Background()
	rows := []Row{due("a", noon, 0), due("b", noon, 0)}
	if err := others.Begin(ctx, rows[1]); err != nil {
		t.Fatal(err)
	}
	var stale *StaleError
	if err := ours.Begin(ctx, rows...); !errors.As(err, &stale) || stale.Run != rows[1].ID {
		t.Errorf("another process has one of them: %v", err)
	}
	if _, err := db.Runs().Row(ctx, rows[0].ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("the other one began: %v", err)
	}
}

// A full disk ends a transaction, also for a write that goes on after the error. SQLite committed
// each later statement by itself.
func TestNothingIsCommittedAfterTheFirstErrorOfATransaction(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"a write", "writes together", "a plan"} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			db := open(t, folder(t))
			must(t, request(db))
			db.file.conn.SetMaxOpenConns(1) // the limit is one of the connection
			var pages int
			must(t, db.file.conn.QueryRow("PRAGMA page_count").Scan(&pages))
			if _, err := db.file.conn.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
				t.Fatal(err)
			}
			const set = "INSERT INTO meta (key, value) VALUES (?, ?)"
			op := func(q querier) error {
				_, full := q.ExecContext(ctx, set, "large", strings.Repeat("x", 1<<20))
				if !Unwritable(full) {
					t.Errorf("the disk is not full: %v", full)
				}
				_, _ = q.ExecContext(ctx, set, "small", 1)
				var n int
				_ = q.QueryRowContext(ctx, set+" RETURNING 1", "asked", 1).Scan(&n)
				return nil
			}
			var err error
			switch through {
			case "a write":
				err = db.write(ctx, op)
			case "writes together":
				both := []*pendingWrite{{op: op}, {op: op}}
				commit(db.file, both)
				err = errors.Join(both[0].err, both[1].err)
			case "a plan":
				plan, begun := db.Plan(ctx)
				must(t, begun)
				err = plan.write(ctx, op)
				if plan.Commit() == nil {
					t.Error("the plan was committed")
				}
			}
			if !Unwritable(err) {
				t.Errorf("the error is %v", err)
			}
			var committed int
			must(t, db.file.conn.QueryRow("SELECT count(*) FROM meta WHERE key IN ('large', 'small', 'asked')").
				Scan(&committed))
			if committed > 0 {
				t.Errorf("%d values were committed", committed)
			}
		})
	}
}
