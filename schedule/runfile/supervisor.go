package runfile

import (
	"os"
	"path/filepath"
	"time"

	"sched/schedule/statedir"
)

// A supervisor watches the background runs of one tick, and has a file: supervisors/ID in the state folder. The file is locked
// as long as the supervisor or its witness lives. So a run whose supervisor was killed is alive until its witness has taken
// it over: its own file is not locked in between.

func supervisorsDir(dir string) string { return filepath.Join(dir, "supervisors") }

// SupervisorPath returns the path of the file of a supervisor.
func SupervisorPath(dir, id string) string { return filepath.Join(supervisorsDir(dir), id) }

// CreateSupervisor makes the file of a supervisor, locked by the caller. What a supervisor says when it crashes goes there, too.
func CreateSupervisor(dir, id string) (*os.File, error) {
	draft := filepath.Join(supervisorsDir(dir), ".draft-"+id)
	file, err := statedir.Open(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if err = statedir.Lock(file); err == nil {
		err = os.Rename(draft, SupervisorPath(dir, id))
	}
	if err != nil {
		file.Close()
		os.Remove(draft)
		return nil, err
	}
	return file, nil
}

// Supervised reports whether the run was given to a supervisor and is not over for that: it has no result and is not deferred.
func (s State) Supervised() bool {
	return s.Supervisor != "" && s.Result == nil && s.End == nil && !s.Deferred()
}

// supervised reports whether a run without a process that has its file open is alive all the same, since its supervisor, or the
// witness of that, lives.
func (s State) supervised(dir string) bool {
	if !s.Supervised() {
		return false
	}
	file, err := statedir.OpenPlain(SupervisorPath(dir, s.Supervisor), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	return statedir.Held(file)
}

// sweepSupervisors removes the files of supervisors that were killed with their witnesses, and drafts that are a day old.
func sweepSupervisors(dir string, now time.Time) {
	paths, _ := filepath.Glob(SupervisorPath(dir, "*"))
	drafts, _ := filepath.Glob(SupervisorPath(dir, ".draft-*"))
	for _, path := range append(paths, drafts...) {
		info, err := os.Stat(path)
		if err != nil || info.ModTime().After(now.Add(-24*time.Hour)) {
			continue
		}
		if file, err := statedir.OpenLocked(path, os.O_RDONLY); err == nil {
			os.Remove(path)
			file.Close()
		}
	}
}
