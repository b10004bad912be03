// Package tail reads what runs print while they print it, a line at a time, from the files that
// they print to: a slow Follower delays no run and loses nothing.
package tail

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/run/output"
)

// A Line is one line that a run printed.
type Line struct {
	Task, Run string
	Hooks     bool      // a hook printed it, not the command
	Time      time.Time // when it was read
	Text      string    // without its end
}

const lookEvery = 200 * time.Millisecond

// A Follower reads the outputs of runs, and calls Print for each line, from one goroutine. Print
// may take as long as it likes. After an error of Print it prints nothing more.
type Follower struct {
	Print func(Line) error

	mu      sync.Mutex
	added   []*source // since the last look
	sources []*source // those that are read; of the goroutine of Follow alone
	asked   chan catchUp
	once    sync.Once
	failed  bool
	printed int // lines, for who waits at the end
}

// Add follows the output of a run that has begun, and of its hooks. Safe for concurrent use, and
// does not wait.
func (f *Follower) Add(record outcome.Record) {
	f.add(record.Task, record.Run, record.Output, false)
	f.add(record.Task, record.Run, output.HooksPath(record.Output), true)
}

func (f *Follower) add(task, id, path string, hooks bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added = append(f.added, &source{task: task, run: id, path: path, hooks: hooks, found: time.Now()})
}

// A catchUp asks for a look at once. The run has ended.
type catchUp struct {
	run  string
	done chan struct{}
}

// CatchUp waits until all that a run printed, which has ended, was read and printed, for patience
// at most. It reports whether it was.
func (f *Follower) CatchUp(run string, patience time.Duration) bool {
	done := make(chan struct{})
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case f.looks() <- catchUp{run, done}:
	case <-timer.C:
		return false
	}
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func (f *Follower) looks() chan catchUp {
	f.once.Do(func() { f.asked = make(chan catchUp) })
	return f.asked
}

// Follow reads until ctx is done, and then once more to the end. Where discover is not nil it is
// called before each look.
func (f *Follower) Follow(ctx context.Context, discover func(*Follower)) {
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	for {
		var asked catchUp
		over := false
		select {
		case <-ctx.Done():
			over = true
		case <-timer.C:
		case asked = <-f.looks():
		}
		if discover != nil {
			discover(f)
		}
		f.look(asked.run)
		if asked.done != nil {
			close(asked.done)
		}
		if over {
			f.close()
			return
		}
	}
}

// look reads all files to their ends, and lets go of those whose runs have ended, as the one with
// that id has.
func (f *Follower) look(over string) {
	f.mu.Lock()
	f.sources = append(f.sources, f.added...)
	f.added = nil
	f.mu.Unlock()
	kept := f.sources[:0]
	for _, s := range f.sources {
		if f.failed {
			s.close()
			continue
		}
		// The end is looked at first: what was printed before it is then read.
		ended := s.run == over || s.ended()
		s.read(f.print)
		if ended {
			s.rest(f.print)
			s.close()
			continue
		}
		kept = append(kept, s)
	}
	clear(f.sources[len(kept):])
	f.sources = kept
}

func (f *Follower) print(line Line) {
	if f.failed {
		return
	}
	f.failed = f.Print(line) != nil
	f.mu.Lock()
	f.printed++
	f.mu.Unlock()
}

// Printed is how many lines were printed so far. Safe for concurrent use.
func (f *Follower) Printed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.printed
}

// close prints lines without an end, and closes the files of runs that go on.
func (f *Follower) close() {
	for _, s := range f.sources {
		s.rest(f.print)
		s.close()
	}
	f.sources = nil
}

// stateDir is the state folder of an output (output.Path).
func stateDir(output string) string { return filepath.Dir(filepath.Dir(filepath.Dir(output))) }
