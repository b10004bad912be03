package schedule

import (
	"errors"
	"path/filepath"

	"sched/schedule/yamldoc"
)

// Files returns the absolute paths of the schedule's files, the main one first; none for a text.
func (s *Schedule) Files() []string {
	paths := make([]string, len(s.Sources))
	for i, source := range s.Sources {
		if paths[i] = source.Name; !filepath.IsAbs(source.Name) {
			paths[i] = filepath.Join(filepath.Dir(s.File), source.Name)
		}
	}
	return paths
}

// Archive returns the texts of the schedule's files in one, of which load.Archive makes the same
// schedule. Variables stand in it as ${VAR}, so no secret of the environment is in it. The archive
// of one file is that file after a comment.
func (s *Schedule) Archive() ([]byte, error) {
	if len(s.Sources) == 0 {
		return nil, errors.New("the schedule was not made from text")
	}
	return yamldoc.Pack(s.Sources), nil
}
