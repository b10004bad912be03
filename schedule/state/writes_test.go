package state

import (
	"context"
	"errors"
	"fmt"
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
				return db.write(ctx, func(q querier) error { return errors.Join(writeValue(ctx, q, key, i), after) })
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
					return errors.Join(writeValue(ctx, q, key, i), err)
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
