package runfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// A File is the file of one run: runs/ID.json in the state folder, one JSON event a line, the
// first of them the record with which the run began. Events are only ever appended, each with one
// write(2), so a process that is killed leaves at most one torn line, which is ignored.
//
// The file is locked (flock(2)) by the processes that watch the run: its witness and its
// supervisor, or the tick for a foreground run. A run is alive while one of them holds the lock; a process that
// takes a free lock may finish the run. There are no pid files, and no pid is ever mistaken for another
// (docs/internals/decisions.md#proof-of-life).
type File struct {
	Record outcome.Record
	file   *os.File
}

func runsDir(dir string) string { return filepath.Join(dir, "runs") }

// Path returns the path of the file of a run.
func Path(dir, id string) string { return filepath.Join(runsDir(dir), id+".json") }

// Exists reports whether a run has a file.
func Exists(dir, id string) bool {
	_, err := os.Lstat(Path(dir, id))
	return err == nil
}

// Descriptor returns the locked file itself, for the processes that are to watch the run: they inherit it.
func (f *File) Descriptor() *os.File { return f.file }

// Append adds one event. The line begins with a line break, so that it stands alone even after a torn line.
func (f *File) Append(e Event) error { return statedir.AppendLine(f.file, e) }

// Sync makes what was appended survive a power cut.
func (f *File) Sync() error { return f.file.Sync() }

// Close stops watching the run. The lock is gone with the last process that has the descriptor.
func (f *File) Close() error { return f.file.Close() }

// StopRequested returns the request to stop the run that RequestStop wrote into its file, if there is one.
func (f *File) StopRequested() (StopRequest, bool) {
	text, err := statedir.ReadAll(f.file)
	start := []byte("\n{\"stop\":")
	if err != nil || !bytes.Contains(text, start) {
		return StopRequest{}, false
	}
	row, _, _ := bytes.Cut(text[bytes.LastIndex(text, start)+1:], []byte{'\n'})
	var e Event
	if json.Unmarshal(row, &e) != nil || e.Stop == nil {
		return StopRequest{}, false
	}
	return *e.Stop, true
}
