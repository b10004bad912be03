package schedule

import "path/filepath"

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
