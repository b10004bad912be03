package runfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// A File is the file of one run: runs/ID.json in the state folder, one JSON event a line, the
// first of them the record with which the run began. Events are only ever appended, each with one
// write(2), so a process that is killed leaves at most one torn line, which is ignored. A file may hold
// the events of earlier runs of its task, which are over (Recycle); what counts is the last beginning.
//
// The file is locked (flock(2)) by the processes that watch the run: its witness and its
// supervisor, or the tick for a foreground run. A run is alive while one of them holds the lock; a process that
// takes a free lock may finish the run. There are no pid files, and no pid is ever mistaken for another
// (docs/decisions.md#proof-of-life).
type File struct {
	Record outcome.Record
	file   *os.File
	looked atomic.Int64 // nothing before this offset asks to stop the run

	mu   sync.Mutex
	size int64 // of the file as far as it is this process's own: while it is no larger, no other one has written anything
}

func runsDir(dir string) string { return filepath.Join(dir, "runs") }

// Path returns the path of the file of a run.
func Path(dir, id string) string { return filepath.Join(runsDir(dir), id+".json") }

// Descriptor returns the locked file itself, for the processes that are to watch the run: they inherit it.
func (f *File) Descriptor() *os.File { return f.file }

// Append adds one event. The line begins with a line break, so that it stands alone even after a torn line.
func (f *File) Append(e Event) error {
	line, err := statedir.Line(e)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.file.Write(line)
	f.size += int64(n)
	return err
}

// Sync makes what was appended survive a power cut.
func (f *File) Sync() error { return f.file.Sync() }

// Close stops watching the run. The lock is gone with the last process that has the descriptor.
func (f *File) Close() error { return f.file.Close() }

// StopRequested returns the request to stop the run that RequestStop wrote into its file, if there is one. It is called
// twice for every attempt, so it searches for that line alone, in what is new since it looked last, and not at all where only this
// process has written since: the file may have the events of fifty runs before.
func (f *File) StopRequested() (StopRequest, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if info, err := f.file.Stat(); err == nil && info.Size() == f.size {
		f.hasLooked(f.size)
		return StopRequest{}, false
	}
	from := f.looked.Load()
	text, err := statedir.ReadFrom(f.file, from)
	start := []byte("\n{\"stop\":")
	if err != nil {
		return StopRequest{}, false
	}
	if !bytes.Contains(text, start) { // which is much faster than to look for the last
		f.hasLooked(from + int64(len(text)))
		return StopRequest{}, false
	}
	row, _, _ := bytes.Cut(text[bytes.LastIndex(text, start)+1:], []byte{'\n'})
	var e Event
	if json.Unmarshal(row, &e) != nil || e.Stop == nil || e.Stop.Run != f.Record.Run {
		return StopRequest{}, false
	}
	return *e.Stop, true
}

// hasLooked notes that there is no request to stop the run before the offset, where the file ends.
func (f *File) hasLooked(before int64) {
	const written = 4 << 10 // as much of the end may be of a line that is being written
	f.size = before
	f.looked.Store(max(0, before-written))
}
