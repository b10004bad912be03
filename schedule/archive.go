package schedule

import (
	"errors"
	"fmt"
	"path/filepath"

	"sched/schedule/document"
)

// Archive returns the text of the schedule file and of all the files that it names, in one: LoadArchive makes the same
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

// LoadArchive is Load for the archive of the schedule in file. It opens no file: those that the schedule names are in
// the archive, each with the places it had. Variables are looked up anew.
//
// A text that is no archive is read by Parse: before there were archives, a text with all includes merged was kept.
func LoadArchive(text []byte, file string, opts LoadOptions) (*Schedule, error) {
	if !document.IsArchive(text) {
		return Parse(text, file, opts)
	}
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	sources, err := document.Unpack(text)
	if err != nil {
		return nil, fmt.Errorf("the archive of %s is damaged: %w", file, err)
	}
	l.origin, l.archived = fromArchive, sources[1:]
	l.readMain(l.Add(l.schedule.File, sources[0].Data))
	return l.result()
}

// nextArchived returns the file that the value n of the current key stands for, as the next source. It returns nil when
// the archive has no more; that is a problem then.
func (l *loader) nextArchived(n *node) *document.Source {
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
