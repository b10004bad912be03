package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/cmd/terminal"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	captured "sched/schedule/run/output"
	"sched/schedule/state"
)

// This file shows what runs print while they print it, a line at a time, from the files that they
// print to: a slow follower delays no run and loses nothing.

// An outputLine is also what --json prints.
type outputLine struct {
	Task   string    `json:"task"`
	Run    string    `json:"run"`
	Stream string    `json:"stream"` // output of the command, or ofHooks
	Time   time.Time `json:"time"`   // when it was read, in UTC
	Text   string    `json:"text"`   // without its end
}

// The streams of a run.
const (
	ofCommand = "output"
	ofHooks   = "hooks"
)

const lookEvery = 200 * time.Millisecond

// A follower reads the outputs of runs, and calls show for each line, from one goroutine. show may
// take as long as it likes. After an error of show the follower shows nothing more.
type follower struct {
	show  func(outputLine) error
	asked chan catchUp

	mu      sync.Mutex // guards added and printed
	added   []*source  // since the last look
	printed int        // lines, for the caller that waits at the end

	// Only the goroutine of follow uses these:
	sources []*source // the files that are read
	failed  bool      // show returned an error
}

func newFollower(show func(outputLine) error) *follower {
	return &follower{show: show, asked: make(chan catchUp)}
}

// addRun follows the output of a run that has begun, and of its hooks. It is safe for concurrent
// use, and does not wait.
func (f *follower) addRun(row state.Row) {
	f.addFile(row.Task, row.ID, row.Output, ofCommand)
	f.addFile(row.Task, row.ID, captured.HooksPath(row.Output), ofHooks)
}

func (f *follower) addFile(task, id, path, stream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added = append(f.added, &source{
		outputReader: outputReader{path: path},
		task:         task,
		run:          id,
		stream:       stream,
		found:        time.Now(),
	})
}

// A catchUp asks the follower to look at once, because a run has ended.
type catchUp struct {
	run  string
	done chan struct{} // closed after the look
}

// catchUp waits until all output of a run that has ended was read and printed. It reports whether
// that was done within patience.
func (f *follower) catchUp(run string, patience time.Duration) bool {
	done := make(chan struct{})
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case f.asked <- catchUp{run: run, done: done}:
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

// follow reads until ctx is done, and then once more to the end. If discover is not nil, follow
// calls it before each look.
func (f *follower) follow(ctx context.Context, discover func(*follower)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		var asked catchUp
		isLast := false
		select {
		case <-ctx.Done():
			isLast = true
		case <-ticker.C:
		case asked = <-f.asked:
		}
		if discover != nil {
			discover(f)
		}
		f.look(asked.run)
		if asked.done != nil {
			close(asked.done)
		}
		if isLast {
			for _, s := range f.sources {
				s.printRest(f.print)
				s.close()
			}
			f.sources = nil
			return
		}
	}
}

// look reads all files to their ends, and closes the files of ended runs. The caller knows that the
// run endedRun has ended; it is empty if the caller knows of no run.
func (f *follower) look(endedRun string) {
	f.mu.Lock()
	f.sources = append(f.sources, f.added...)
	f.added = nil
	f.mu.Unlock()
	f.sources = slices.DeleteFunc(f.sources, func(s *source) bool {
		// The end of the run is asked for first. Then everything that it printed is there to be
		// read.
		ended := f.failed || s.run == endedRun || s.checkEnded()
		if !f.failed {
			s.printNew(f.print)
		}
		if ended {
			s.printRest(f.print)
			s.close()
		}
		return ended
	})
}

func (f *follower) print(line outputLine) {
	if f.failed {
		return
	}
	f.failed = f.show(line) != nil
	f.mu.Lock()
	f.printed++
	f.mu.Unlock()
}

// linesPrinted returns how many lines were printed so far. It is safe for concurrent use.
func (f *follower) linesPrinted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.printed
}

const longestLine = 16 << 10

// A source is one file that a run prints to.
type source struct {
	outputReader
	task, run, stream string

	line      []byte    // the beginning of a line whose end was not printed yet
	found     time.Time // when the file was found
	nextCheck time.Time // when checkEnded asks the database again
	known     bool      // the database had the run
}

// checkEvery is how often the follower asks the database whether a run has ended.
const checkEvery = time.Second

// unknownFor is how long a run is followed without a row in the database. The output is opened
// before the row is written, and a tick that cannot write never writes the row.
const unknownFor = time.Minute

// checkEnded asks the database whether the run has ended, so that nothing more will be printed. It
// asks once in checkEvery, and otherwise returns false.
func (s *source) checkEnded() bool {
	now := time.Now()
	if now.Before(s.nextCheck) {
		return false
	}
	s.nextCheck = now.Add(checkEvery)
	dir := filepath.Dir(filepath.Dir(filepath.Dir(s.path))) // see captured.Path
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	row, err := db.Runs().Row(context.Background(), s.run)
	if errors.Is(err, state.ErrNotFound) {
		return s.known || time.Since(s.found) > unknownFor
	}
	s.known = s.known || err == nil
	return err == nil && row.Phase == state.Ended
}

// printNew prints the whole lines that were written since the last call.
func (s *source) printNew(print func(outputLine)) {
	buffer := make([]byte, 64<<10)
	for {
		text, cut, err := s.read(buffer)
		if err != nil || len(text) == 0 {
			return
		}
		if cut > 0 {
			s.printRest(print)
			print(s.lineOf(cutText(cut)))
		}
		s.printLines(text, print)
	}
}

// printLines prints the whole lines among the bytes, and keeps the beginning of the last line.
func (s *source) printLines(bytesRead []byte, print func(outputLine)) {
	for {
		i := bytes.IndexByte(bytesRead, '\n')
		if i < 0 {
			break
		}
		print(s.lineOf(string(s.line) + string(bytesRead[:i])))
		s.line, bytesRead = s.line[:0], bytesRead[i+1:]
	}
	s.line = append(s.line, bytesRead...)
	for len(s.line) > longestLine {
		print(s.lineOf(string(s.line[:longestLine])))
		s.line = append(s.line[:0], s.line[longestLine:]...)
	}
}

// printRest prints the beginning of a line that has no end.
func (s *source) printRest(print func(outputLine)) {
	if len(s.line) > 0 {
		print(s.lineOf(string(s.line)))
		s.line = s.line[:0]
	}
}

func (s *source) lineOf(text string) outputLine {
	return outputLine{Task: s.task, Run: s.run, Stream: s.stream, Time: clock.Now().UTC(), Text: text}
}

// A discovery finds the outputs of all runs of a state folder that begin after it was made.
type discovery struct {
	dir     string
	since   string // the ids of runs sort by the time they were made
	folders map[string]*folder
}

// A folder has the outputs of the runs of a task.
type folder struct {
	changed time.Time       // its time at the last look
	names   map[string]bool // of its files at the last look
}

func discoverOutputs(dir string) *discovery {
	return &discovery{dir: filepath.Join(dir, "output"), since: outcome.NewID(), folders: map[string]*folder{}}
}

// addNewTo adds new outputs to the follower. It reads a folder again if the folder's time has
// changed or is less than a second old: files may come within one tick of the file system's clock.
func (d *discovery) addNewTo(f *follower) {
	tasks, err := os.ReadDir(d.dir)
	if err != nil {
		return
	}
	for _, task := range tasks {
		path := filepath.Join(d.dir, task.Name())
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		taskFolder := d.folders[task.Name()]
		if taskFolder == nil {
			taskFolder = &folder{}
			d.folders[task.Name()] = taskFolder
		}
		changed := info.ModTime()
		if !changed.Equal(taskFolder.changed) || time.Since(changed).Abs() < time.Second {
			taskFolder.changed = changed
			taskFolder.addNew(f, path, strings.ReplaceAll(task.Name(), "+", "/"), d.since)
		}
	}
}

// addNew adds the outputs to the follower that came since the last look. The ids of their runs come
// after since.
func (d *folder) addNew(f *follower, path, task, since string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	// ID.log comes before ID.hooks.log, because most hooks come after the command.
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		return strings.Compare(strings.TrimSuffix(a.Name(), ".log"), strings.TrimSuffix(b.Name(), ".log"))
	})
	names := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		id, isLog := strings.CutSuffix(name, ".log")
		stream := ofCommand
		if run, ok := strings.CutSuffix(id, ".hooks"); ok {
			id, stream = run, ofHooks
		}
		if !isLog || id < since {
			continue
		}
		names[name] = true
		if !d.names[name] {
			f.addFile(task, id, filepath.Join(path, name), stream)
		}
	}
	d.names = names
}

// A logStream prints what runs print, for --logs. It writes in a goroutine of its own: a reader
// that hangs stops it alone.
type logStream struct {
	follower *follower
	end      context.CancelFunc
	ended    chan struct{}
	slow     bool // its reader took longer than writeWait
}

// newLogStream prints the runs that are added, and the runs that discover finds, if it is not nil.
func (c *console) newLogStream(width int, asJSON bool, discover func(*follower)) *logStream {
	out := c.out
	if printing, ok := out.(printerStream); ok {
		out = printing.to // text that cannot be written yet stays in the files of its runs
	}
	ctx, end := context.WithCancel(context.Background())
	l := &logStream{end: end, ended: make(chan struct{})}
	l.follower = newFollower(func(line outputLine) error {
		if asJSON {
			return printJSONLine(out, line)
		}
		return printPlainLog(out, c.stdout(), width, line)
	})
	go func() {
		defer close(l.ended)
		l.follower.follow(ctx, discover)
	}()
	return l
}

// printPlainLog prints "task | text", and "task ! text" for the output of hooks.
func printPlainLog(out io.Writer, shown terminal.Stream, width int, line outputLine) error {
	mark, tone := "|", terminal.Active
	if line.Stream == ofHooks {
		mark, tone = "!", terminal.Faint
	}
	head := fmt.Sprintf("%-*s %s", width, line.Task, mark)
	_, err := fmt.Fprintf(out, "%s %s\n", shown.Paint(tone, head), line.Text)
	return err
}

// catchUp lets the output of an ended run come before its outcome, unless the reader is slow.
func (l *logStream) catchUp(run string) {
	if l != nil && !l.slow {
		l.slow = !l.follower.catchUp(run, writeWait)
	}
}

// close prints what is left, as long as the reader takes any of it.
func (l *logStream) close() {
	if l == nil {
		return
	}
	l.end()
	for printed := -1; printed != l.follower.linesPrinted(); {
		printed = l.follower.linesPrinted()
		select {
		case <-l.ended:
			return
		case <-time.After(drainWait):
		}
	}
}
