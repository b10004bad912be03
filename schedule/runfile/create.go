package runfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// Create makes the file of a run that is about to start, locked by the caller. Other processes see it
// only locked and complete.
func Create(dir string, r outcome.Record) (*File, error) {
	if run := reuse(dir, r); run != nil {
		return run, nil
	}
	return createNew(dir, r)
}

// createNew is Create with a file of its own.
func createNew(dir string, r outcome.Record) (*File, error) {
	draft := filepath.Join(runsDir(dir), ".draft-"+r.Run)
	file, err := openDraft(draft)
	if err != nil {
		return nil, err
	}
	run := &File{Record: r, file: file}
	if err := run.beginAs(draft, Path(dir, r.Run)); err != nil {
		file.Close()
		os.Remove(draft)
		return nil, err
	}
	return run, nil
}

// reuse is Create with the file that Recycle left for the task; nil where there is none to be had. The run begins in it before it has
// the name of the run. A kill in between leaves a beginning under a name that nobody reads, and the next run begins after it.
func reuse(dir string, r outcome.Record) *File {
	spare, path := sparePath(dir, r.Task), Path(dir, r.Run)
	file, err := statedir.OpenPlain(spare, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil
	}
	run := &File{Record: r, file: file}
	switch {
	case statedir.Lock(file) != nil: // another process reads it, or begins a run in it, and will find it gone
		os.Remove(spare)
	case !statedir.IsAt(file, spare): // another one has begun a run in it
	case run.beginAs(spare, path) != nil: // it is gone, or the disk is full
		os.Remove(spare)
	case statedir.IsAt(file, path): // else Recycle has put another one in its place meanwhile
		return run
	}
	file.Close()
	return nil
}

// beginAs writes the beginning of the run, and renames its file.
func (f *File) beginAs(from, to string) error {
	if info, err := f.file.Stat(); err == nil {
		f.hasLooked(info.Size())
	}
	err := f.Append(Event{Begin: &f.Record})
	if err == nil {
		err = f.reserve()
	}
	if err == nil {
		err = statedir.Rename(from, to)
	}
	return err
}

// room is how much of the disk the file of a background run has for the events to come, in bytes: those of some attempts with their
// hooks.
const room = 8 << 10

// reserve gives a background run that has begun room for what follows. Were the disk full when its command starts, nobody would
// know of that, and who goes on for a killed supervisor would start it once more.
func (f *File) reserve() error {
	if !f.Record.Background {
		return nil
	}
	return statedir.Reserve(f.file, room)
}

// CreateEnded makes the file of a run that has ended where its own cannot be written. Other processes see it only
// complete.
func CreateEnded(dir string, begin, end outcome.Record) error {
	draft := filepath.Join(runsDir(dir), ".draft-"+begin.Run)
	file, err := statedir.Open(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND)
	if err != nil {
		return err
	}
	defer file.Close()
	run := &File{Record: begin, file: file}
	if err = run.Append(Event{Begin: &begin}); err == nil {
		err = run.Append(Event{End: &end})
	}
	if err == nil {
		err = statedir.Rename(draft, Path(dir, begin.Run))
	}
	if err != nil {
		os.Remove(draft)
	}
	return err
}

// openDraft returns a new, locked file to begin a run in.
func openDraft(draft string) (*os.File, error) {
	const fresh = os.O_RDWR | os.O_CREATE | os.O_EXCL | os.O_APPEND
	file, err := statedir.Open(draft, fresh)
	if errors.Is(err, os.ErrExist) { // of a tick that was killed when it had claimed the slot for this run, which begins now
		os.Remove(draft)
		file, err = statedir.Open(draft, fresh)
	}
	if err != nil {
		return nil, err
	}
	return file, statedir.Lock(file)
}

// Recycle forgets the file of a run that is in the history, and leaves it for the next run of the task
// (docs/decisions.md#files-are-used-again): an ext4 without a journal avoids the inodes of files that were removed in the last minutes, so
// removing and making a file for every run costs more than all the rest of it. Nor is it truncated, which makes ext4
// write it to disk when it is closed. The error is os.ErrNotExist when another process was first.
func Recycle(dir, id, task string) error {
	if info, err := os.Stat(Path(dir, id)); err == nil && info.Size() > largestReused {
		return os.Remove(Path(dir, id))
	}
	return statedir.Rename(Path(dir, id), sparePath(dir, task))
}

// largestReused is how large a file may grow with the events of many runs, in bytes.
const largestReused = 64 << 10

func sparePath(dir, task string) string {
	return filepath.Join(runsDir(dir), ".spare-"+strings.ReplaceAll(task, "/", "+"))
}

// SweepDrafts removes what a kill left in the moment in which the file of a run, a request or a supervisor was made, the
// files of supervisors that were killed, and the spare files of tasks that have not run for a day.
func SweepDrafts(dir string, now time.Time) {
	sweepSupervisors(dir, now)
	drafts, _ := filepath.Glob(filepath.Join(runsDir(dir), ".draft-*"))
	requests, _ := filepath.Glob(filepath.Join(waitingDir(dir), ".draft-*"))
	spares, _ := filepath.Glob(filepath.Join(runsDir(dir), ".spare-*"))
	for _, file := range slices.Concat(drafts, requests, spares) {
		if info, err := os.Stat(file); err == nil && info.ModTime().Before(now.Add(-24*time.Hour)) {
			os.Remove(file)
		}
	}
}
