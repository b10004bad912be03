package follow

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sched/schedule/run/output"
	"sched/schedule/state"
)

const (
	// lookEvery is how often the follower reads what runs have printed.
	lookEvery = 200 * time.Millisecond

	// checkEvery is how often the follower asks the database which runs have ended.
	checkEvery = time.Second

	// unknownFor is how long a run is followed without a row in the database. The output is opened
	// before the row is written, and a tick that cannot write never writes the row.
	unknownFor = time.Minute
)

// A follower reads the outputs of runs of a state folder, and calls show for each line, from one
// goroutine. show may take as long as it likes. After an error of show the follower shows nothing
// more.
type follower struct {
	stateDir  string
	discovery *discovery // of further runs; may be nil
	show      func(outputLine) error
	requests  chan catchUpRequest
	printed   atomic.Int64 // lines

	mu    sync.Mutex
	added []*followedFile // since the last look

	// Only the goroutine of follow uses these:
	files     []*followedFile
	nextCheck time.Time // when checkEnded asks the database again
	failed    bool      // show returned an error
}

// AddRun follows the output of a run that has begun, and of its hooks. It is safe for concurrent
// use, and does not wait.
func (f *follower) addRun(row state.Row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added = append(f.added,
		newFollowedFile(row.Output, row.Task, row.ID, ofCommand),
		newFollowedFile(output.HooksPath(row.Output), row.Task, row.ID, ofHooks))
}

// CatchUp waits until all output of a run that has ended was read and printed. It reports whether
// that was done within patience.
func (f *follower) catchUp(run string, patience time.Duration) bool {
	done := make(chan struct{})
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case f.requests <- catchUpRequest{run: run, done: done}:
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

// follow reads until ctx is done, and then once more to the end.
func (f *follower) follow(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			f.look(noRun)
			for _, file := range f.files {
				file.end(f.print)
			}
			f.files = nil
			return
		case <-ticker.C:
			f.look(noRun)
		case request := <-f.requests:
			f.look(request.run)
			close(request.done)
		}
	}
}

// look reads all files to their ends, and closes the files of ended runs. endedRun is a run that
// the caller knows to have ended, or noRun.
func (f *follower) look(endedRun string) {
	f.mu.Lock()
	f.files = append(f.files, f.added...)
	f.added = nil
	f.mu.Unlock()
	if f.discovery != nil {
		f.files = append(f.files, f.discovery.newFiles()...)
	}
	// The ends of runs are asked for first. Then everything that these runs printed is there to be
	// read.
	f.checkEnded()
	f.files = slices.DeleteFunc(f.files, func(file *followedFile) bool {
		if !f.failed {
			file.printNew(f.print)
		}
		ended := file.ended || file.run == endedRun || f.failed
		if ended {
			file.end(f.print)
		}
		return ended
	})
}

// checkEnded asks the database which runs have ended, so that nothing more will be printed. It asks
// once in checkEvery.
func (f *follower) checkEnded() {
	now := time.Now()
	if now.Before(f.nextCheck) || len(f.files) == 0 {
		return
	}
	f.nextCheck = now.Add(checkEvery)
	db, err := state.OpenRead(f.stateDir, state.Patience)
	if err != nil {
		return
	}
	defer db.Close()
	for _, file := range f.files {
		row, err := db.Runs().Row(context.Background(), file.run)
		switch {
		case err == nil:
			file.hasRow = true
			file.ended = row.Phase == state.Ended
		case errors.Is(err, state.ErrNotFound):
			file.ended = file.hasRow || now.Sub(file.foundAt) > unknownFor
		}
	}
}

func (f *follower) print(line outputLine) {
	if f.failed {
		return
	}
	f.failed = f.show(line) != nil
	f.printed.Add(1)
}

func newFollower(stateDir string, d *discovery, show func(outputLine) error) *follower {
	return &follower{stateDir: stateDir, discovery: d, show: show, requests: make(chan catchUpRequest)}
}

// A catchUpRequest asks the follower to look at once, because a run has ended.
type catchUpRequest struct {
	run  string
	done chan struct{} // closed after the look
}

const noRun = ""
