package load

import (
	"fmt"
	"path/filepath"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// Archive is File for an archive (Schedule.Archive). It opens no file. Variables are looked up
// anew.
//
// A text that is no archive is read by Text: old versions kept such texts.
func Archive(text []byte, file string, opts Options) (*schedule.Schedule, error) {
	if !yamldoc.IsArchive(text) {
		return Text(text, file, opts)
	}
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	sources, err := yamldoc.Unpack(text)
	if err != nil {
		return nil, fmt.Errorf("the archive of %s is damaged: %w", file, err)
	}
	l.origin, l.archived = fromArchive, sources[1:]
	return l.read(l.Add(l.schedule.File, sources[0].Data))
}

// nextArchived returns the next source for the value n. If no source is left, it records a problem
// and returns nil.
func (l *loader) nextArchived(n *node) *yamldoc.Source {
	if len(l.archived) == 0 {
		l.Problemf(n, "", "%s: the archive lacks a file", l.Key)
		return nil
	}
	next := l.archived[0]
	l.archived = l.archived[1:]
	path := next.Name
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.folder, path)
	}
	return l.Add(path, next.Data)
}
