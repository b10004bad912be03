package schedule

import (
	"errors"
	"path/filepath"

	"sched/schedule/document"
)

// Files returns the files that the schedule was read from, absolute: the main one first. A schedule from a text has none that can be
// read again.
func (s *Schedule) Files() []string {
	paths := make([]string, len(s.Sources))
	for i, source := range s.Sources {
		if paths[i] = source.Name; !filepath.IsAbs(source.Name) {
			paths[i] = filepath.Join(filepath.Dir(s.File), source.Name)
		}
	}
	return paths
}

// Archive returns the text of the schedule file and of all the files that it names, in one: load.Archive makes the same
// schedule of it when they are gone. Variables stand in it as in the files, as ${VAR}, so no secret of the environment
// is in it.
//
// The archive of a schedule that names no other files is that file after a comment, and so YAML that people can read.
func (s *Schedule) Archive() ([]byte, error) {
	if len(s.Sources) == 0 {
		return nil, errors.New("the schedule was not made from text")
	}
	return document.Pack(s.Sources), nil
}
