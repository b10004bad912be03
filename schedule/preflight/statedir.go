package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/statedir"
)

// StateDir returns why the state folder of the schedule cannot be used by this user; nil where it can, or could be made.
func StateDir(s *schedule.Schedule) *schedule.Problem {
	problem := &schedule.Problem{Place: schedule.Place{File: filepath.Base(s.File)}}
	if err := statedir.Check(s.StateDir); err != nil {
		problem.Text, problem.Hint = err.Error(), "give it back, or set state_dir to a folder of your own"
		return problem
	}
	there := s.StateDir
	info, err := os.Stat(there)
	for errors.Is(err, fs.ErrNotExist) && there != "/" {
		there = filepath.Dir(there)
		info, err = os.Stat(there)
	}
	switch {
	case err == nil && !info.IsDir():
		problem.Text = fmt.Sprintf("the state folder %s cannot be made: %s is not a folder", s.StateDir, there)
	case unix.Access(there, unix.W_OK|unix.X_OK) != nil:
		problem.Text = fmt.Sprintf("the state folder %s cannot be written: this user may not write in %s", s.StateDir, there)
	default:
		return nil
	}
	problem.Hint = "set state_dir, or ticks go on in a folder that a reboot may empty"
	return problem
}
