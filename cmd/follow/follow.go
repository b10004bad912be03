// Package follow shows what runs print while they print it, from the files that they print to: a
// slow follower delays no run and loses nothing.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sched/cmd/console"
	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/output"
	"sched/schedule/redact"
	"sched/schedule/state"
)

// A Stream prints what runs print, for --logs. It writes in a goroutine of its own: a reader
// that hangs stops this goroutine and nothing else. For nil its methods do nothing.
type Stream struct {
	follower *follower
	cancel   context.CancelFunc
	ended    chan struct{}
	slow     bool // its reader took longer than WriteWait
}

// NewStream prints the runs of a state folder that are added, and the runs that the discovery
// finds, if it is not nil. Names of tasks take width columns. IsForeign tells of which tasks the
// output must not reach a terminal as it is.
func NewStream(
	c *console.Console, stateDir string, environ []string, width int, asJSON bool, d *discovery,
	isForeign func(task string) bool,
) *Stream {
	out := c.Unqueued() // text that cannot be written yet stays in the files of its runs
	ctx, cancel := context.WithCancel(context.Background())
	l := &Stream{cancel: cancel, ended: make(chan struct{})}
	l.follower = newFollower(stateDir, environ, d, func(line outputLine) error {
		if asJSON {
			return console.PrintJSONLine(out, line)
		}
		if c.Stdout().IsTerminal() && isForeign(line.Task) {
			line.Text = Shown(line.Text)
		}
		return printPlainLog(out, c.Stdout(), width, line)
	})
	go func() {
		defer close(l.ended)
		l.follower.follow(ctx)
	}()
	return l
}

// AddRun prints what the run prints from now on. It is safe for concurrent use.
func (l *Stream) AddRun(row state.Row) {
	if l != nil {
		l.follower.addRun(row)
	}
}

// CatchUp lets the output of an ended run come before its outcome, unless the reader is slow. Only
// one goroutine may call it.
func (l *Stream) CatchUp(run string) {
	if l != nil && !l.slow {
		l.slow = !l.follower.catchUp(run, console.WriteWait)
	}
}

// Close prints what is left. It gives up when the reader took no line during DrainWait.
func (l *Stream) Close() {
	if l == nil {
		return
	}
	l.cancel()
	for printed := int64(-1); printed != l.follower.printed.Load(); {
		printed = l.follower.printed.Load()
		select {
		case <-l.ended:
			return
		case <-time.After(console.DrainWait):
		}
	}
}

// printPlainLog prints "task | text", and "task ! text" for the output of hooks.
func printPlainLog(out io.Writer, style terminal.Stream, width int, line outputLine) error {
	mark, tone := "|", terminal.Active
	if line.Stream == ofHooks {
		mark, tone = "!", terminal.Faint
	}
	head := fmt.Sprintf("%-*s %s", width, line.Task, mark)
	_, err := fmt.Fprintf(out, "%s %s\n", style.Paint(tone, head), line.Text)
	return err
}

// Shown is a line of a log without colours. If a program drew over the line, as for a progress
// bar, it has all versions.
func Shown(line string) string {
	return humanize.Line(strings.TrimRight(humanize.Plain(line), "\n"))
}

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
	environ   []string
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

func newFollower(stateDir string, environ []string, d *discovery, show func(outputLine) error) *follower {
	return &follower{
		stateDir: stateDir, environ: environ, discovery: d, show: show, requests: make(chan catchUpRequest)}
}

// AddRun follows the output of a run that has begun, and of its hooks. It is safe for concurrent
// use, and does not wait.
func (f *follower) addRun(row state.Row) {
	secrets := func() (*mask.Set, error) { return redact.Of(row.WithoutOutcome(), f.environ, true) }
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added = append(f.added,
		newFollowedFile(row.Output, row.Task, row.ID, ofCommand, secrets),
		newFollowedFile(output.HooksPath(row.Output), row.Task, row.ID, ofHooks, secrets))
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

// A catchUpRequest asks the follower to look at once, because a run has ended.
type catchUpRequest struct {
	run  string
	done chan struct{} // closed after the look
}

const noRun = ""
