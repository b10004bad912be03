package tick

import (
	"context"
	"testing"

	"sched/mutex/pool"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/statedir"
)

// A seat is the same one in each folder: a tick that took seats in a spare folder, since the state folder could not be written, once
// did not see those in the state folder, and more runs went on than the pool has seats. The other way round it is the same.
func TestASeatIsTakenWhateverFolderItIsIn(t *testing.T) {
	places := statedir.SparePlaces
	statedir.SparePlaces = []string{t.TempDir()}
	t.Cleanup(func() { statedir.SparePlaces = places })
	w := newWorld(t, 1, `
  - {name: a, cron: "* * * * *", background: true, pool: db, command: "true"}
  - {name: b, cron: "* * * * *", background: true, pool: db, without_overlapping: true, command: "true"}
pools: {db: 2}
`)
	statedir.MakeDir(w.storage.Dir)
	dir, err := statedir.OpenAnySpare(w.storage.Dir)
	if err != nil {
		t.Fatal(err)
	}
	spare := run.Storage{Dir: dir}
	for _, row := range []struct {
		name        string
		first, then run.Storage
	}{
		{"the state folder cannot be written any more", w.storage, spare},
		{"the state folder can be written again", spare, w.storage},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := w.tick().prepare().locks
			slots := w.schedule.Due(w.tick().Minute)
			take := func(storage run.Storage, i int) (outcome.Record, error) {
				record := w.tick().newRecord(slots[i])
				lock, err := l.claimAndAcquire(storage, &record, slots[i])
				if err == nil {
					t.Cleanup(func() { lock.Release(context.Background()) })
				}
				return record, err
			}
			one, err := take(row.first, 0)
			if err != nil || one.Seat.Name != "db#1" {
				t.Fatalf("%+v, %v", one.Seat, err)
			}
			if two, err := take(row.then, 1); err != nil || two.Seat.Name != "db#2" || two.Seat.Locks != row.then.Locks() {
				t.Errorf("%+v, %v", two.Seat, err)
			}
			_, err = take(row.then, 0)
			if full, ok := err.(*pool.FullError); !ok || len(full.Holders) != 2 || full.Holders[0].Task != "a" {
				t.Errorf("a third run gets %v", err)
			}
		})
	}
}
