package runfile

import (
	"errors"
	"os"
	"path/filepath"

	"sched/schedule/statedir"
)

// A trigger is the request of a hook. It is left exactly once, whatever is killed and also if that is the machine: it is
// written as a draft; then its run notes that the hook fired; then the draft gets its name as a request. A process that
// goes on after a kill finds the note, and makes a request of the draft that may be there still; or it finds no note, and
// begins again. The id of the request is the same each time.

// triggerPrefix begins the name of such a draft. It is none of those that SweepDrafts removes after a day: the machine may
// have been off for longer.
const triggerPrefix = ".trigger-"

func triggerDraft(dir, id string) string { return filepath.Join(waitingDir(dir), triggerPrefix+id) }

// AddTrigger leaves the request of a hook, which mark notes to have fired; what mark notes must survive a power cut.
func AddTrigger(dir string, r Request, mark func() error) error {
	if err := r.write(triggerDraft(dir, r.Run)); err != nil {
		return err
	}
	if err := mark(); err != nil {
		os.Remove(triggerDraft(dir, r.Run))
		return err
	}
	return ResumeTrigger(dir, r.Run)
}

// ResumeTrigger is AddTrigger for a hook that is noted to have fired. Where there is no draft the request was left.
func ResumeTrigger(dir, id string) error {
	err := os.Rename(triggerDraft(dir, id), requestPath(dir, id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		statedir.SyncDir(waitingDir(dir))
	}
	return err
}
