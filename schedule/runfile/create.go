package runfile

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// Create makes the file of a run that is about to start, locked by the caller. Other processes see it
// only locked and complete.
func Create(dir string, r outcome.Record) (*File, error) {
	draft := filepath.Join(runsDir(dir), ".draft-"+r.Run)
	file, err := openDraft(draft)
	if err != nil {
		return nil, err
	}
	run := &File{Record: r, file: file}
	err = run.Append(Event{Begin: &r})
	if err == nil {
		err = run.reserve()
	}
	if err == nil {
		err = os.Rename(draft, Path(dir, r.Run))
	}
	if err != nil {
		file.Close()
		os.Remove(draft)
		return nil, err
	}
	return run, nil
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
		err = os.Rename(draft, Path(dir, begin.Run))
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

// SweepDrafts removes what a kill left in the moment in which the file of a run or a supervisor was made, and the
// files of supervisors that were killed.
func SweepDrafts(dir string, now time.Time) {
	sweepSupervisors(dir, now)
	drafts, _ := filepath.Glob(filepath.Join(runsDir(dir), ".draft-*"))
	for _, file := range drafts {
		if info, err := os.Stat(file); err == nil && info.ModTime().Before(now.Add(-24*time.Hour)) {
			os.Remove(file)
		}
	}
}
