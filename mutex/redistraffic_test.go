package mutex_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
)

// Tasks that ended together once released their locks on a connection each, with what every new connection asks for.
func TestWhatOneProcessTakesAndGivesBackGoesOnOneConnection(t *testing.T) {
	s := redistest.Start(t)
	store := dial(t, s.URL)
	const n = 100
	each := func(f func(i int) error) {
		t.Helper()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if err := f(i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	run := func(i int) mutex.Holder { return mutex.Holder{Run: fmt.Sprintf("run-%d", i)} }
	name := func(i int) string { return fmt.Sprintf("task-%d", i) }
	at := time.Now().UTC().Truncate(time.Minute)
	locks := make([]mutex.Lock, n)
	asked := s.TrafficOf(t, func() {
		each(func(i int) error {
			return store.Claim(t.Context(), mutex.SlotKey(name(i), at), at.Add(time.Hour), run(i))
		})
		each(func(i int) (err error) { locks[i], err = store.Acquire(t.Context(), name(i), run(i)); return err })
		each(func(i int) error { return locks[i].Release(t.Context()) })
	})
	t.Logf("%d connections, %d commands: %v", asked.Connections, asked.Sum(), asked.Commands)
	if asked.Connections != 1 {
		t.Errorf("%d connections", asked.Connections)
	}
	if most := 3*n + 10; asked.Sum() > most { // what a connection begins with, and scripts that the server did not know
		t.Errorf("%d commands, and not %d at most", asked.Sum(), most)
	}
	held, err := store.Held(t.Context(), name(0), name(n-1))
	if err != nil || len(held) > 0 {
		t.Errorf("%v, %v", held, err)
	}
}
