package mutex_test

import (
	"fmt"
	"testing"
	"time"

	"sched/mutex/redistest"
)

// BenchmarkAcquireRelease takes and frees mutexes on one Redis on this machine, from one process, 8
// at a time.
func BenchmarkAcquireRelease(b *testing.B) {
	r := dial(b, redistest.Start(b).URL)
	b.SetParallelism(8)
	b.RunParallel(func(p *testing.PB) {
		name := fmt.Sprint("task-", time.Now().UnixNano())
		for p.Next() {
			lock, err := r.Acquire(ctx, name, holder("run-1"))
			if err == nil {
				err = lock.Release(ctx)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "locks/s")
}

// BenchmarkHundredClaims claims the slots of a tick with a hundred tasks, at once, with connections
// that have to be made first.
func BenchmarkHundredClaims(b *testing.B) {
	url := redistest.Start(b).URL
	for i := range b.N {
		r := dial(b, url)
		errs := make(chan error, 100)
		for task := range 100 {
			go func() {
				errs <- r.Claim(ctx, fmt.Sprintf("task-%d@%d", task, i), time.Now().Add(time.Hour), holder("run-1"))
			}()
		}
		for range 100 {
			if err := <-errs; err != nil {
				b.Fatal(err)
			}
		}
		r.Close()
	}
}
