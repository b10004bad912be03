package runfile

import (
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
	draft := filepath.Join(runsDir(dir), ".draft-"+r.Run)
	file, err := openDraft(dir, r.Task, draft)
	if err != nil {
		return nil, err
	}
	run := &File{Record: r, file: file}
	err = run.Append(Event{Begin: &r})
	if err == nil {
		err = statedir.Rename(draft, Path(dir, r.Run))
	}
	if err != nil {
		file.Close()
		os.Remove(draft)
		return nil, err
	}
	return run, nil
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

// openDraft returns a locked file to begin a run in: the one that Recycle left for the task, or a new
// one.
func openDraft(dir, task, draft string) (*os.File, error) {
	if statedir.Rename(sparePath(dir, task), draft) == nil {
		file, err := statedir.OpenPlain(draft, os.O_RDWR|os.O_APPEND)
		if err == nil && statedir.Lock(file) == nil {
			return file, nil
		}
		file.Close()
		os.Remove(draft) // another process reads it at this moment
	}
	file, err := statedir.Open(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	return file, statedir.Lock(file)
}

// Recycle forgets the file of a run that is in the history, and leaves it for the next run of the task
// (docs/decisions.md#files-are-used-again): ext4 avoids the inodes of files that were removed in the last minutes, so
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
