package tick

import (
	"sync"

	"sched/schedule/run"
)

// A runBatch has runs that a supervisor is to begin together. Safe for concurrent use.
type runBatch struct {
	mu   sync.Mutex
	runs []*run.Prepared
}

// maxBatch bounds the runs of a batch: the files of each are open in this process.
const maxBatch = 32

// add adds a run, and returns how many the batch has.
func (b *runBatch) add(prepared *run.Prepared) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs = append(b.runs, prepared)
	return len(b.runs)
}

func (b *runBatch) take() []*run.Prepared {
	b.mu.Lock()
	defer b.mu.Unlock()
	runs := b.runs
	b.runs = nil
	return runs
}
