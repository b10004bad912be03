// Package load makes a schedule of schedule.yaml and what it includes.
//
// File and Text return a schedule.Schedule that is valid and complete, or an InvalidError with
// every problem at its place. Archive makes the schedule of the text that Schedule.Archive
// returned. Schema writes the JSON Schema by which editors check such a file.
//
// The package runs no processes, opens no connections and reads no clock. It opens only the files
// that it is named. Options say what it must know of the world.
//
// The reading begins in load.go. The files below it, from the top: crontab.go and mainfile.go read
// the two formats, files.go what is included, and tasks.go entries. keys.go has the keys of the
// file and of tasks. Other files have the tables of mappings, read values and check them against
// each other. loader.go has what is known while a file is read. schedule/yamldoc reads YAML.
//
// A function that takes a yamldoc.Reader reads the value of one key, as far as it depends on no
// other key. It returns false after a wrong value, and records the problem with the Reader.
package load

import (
	"fmt"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/yamldoc"
)

// File reads the schedule in file, YAML or a crontab, and what it includes. An invalid schedule is
// an *InvalidError.
func File(file string, opts Options) (*schedule.Schedule, error) {
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	if main := l.Open(l.schedule.File); main != nil {
		return read(l, main)
	}
	return result(l)
}

// read reads the main file, which is YAML or a crontab. A file of another program has one problem.
func read(l *loader, main *yamldoc.Source) (*schedule.Schedule, error) {
	s, err := readAsItIs(l, main)
	if err == nil && len(s.Tasks) > 0 && len(s.BadLines) == 0 {
		return s, nil
	}
	problem, hint := Foreign(main.Data)
	if err != nil && problem == "" {
		problem, hint = crontabAsYAML(main.Name, main.Data)
	}
	if problem != "" {
		at := yamldoc.Problem{Place: yamldoc.Place{File: main.Name}, Text: problem, Hint: hint}
		return nil, &InvalidError{Problems: []yamldoc.Problem{at}, StateDir: invalidStateDir(l)}
	}
	return s, err
}

// readAsItIs reads the main file in the format that its name and its text say.
func readAsItIs(l *loader, main *yamldoc.Source) (*schedule.Schedule, error) {
	l.File = main.Name
	format, problem, hint := crontab.FormatOf(l.schedule.File, string(main.Data), l.options.System,
		func(name string) bool { return isUser(l, name) })
	switch format {
	case crontab.NotCrontab:
		readMain(l, main.Data)
	case crontab.Unclear:
		l.ProblemAt(yamldoc.Place{File: main.Name}, hint, "%s", problem)
	default:
		return readCrontab(l, main, format == crontab.System)
	}
	return result(l)
}

// Text is File for data, read as if file held it. It opens no file, so include is a problem.
func Text(data []byte, file string, opts Options) (*schedule.Schedule, error) {
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	l.medium = inText
	l.Add(l.schedule.File, data)
	readMain(l, data)
	return result(l)
}

// Archive is File for an archive (Schedule.Archive). It opens no file. Variables are looked up
// anew.
func Archive(text []byte, file string, opts Options) (*schedule.Schedule, error) {
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	sources, err := yamldoc.Unpack(text)
	if err != nil {
		return nil, fmt.Errorf("the archive of %s is damaged: %w", file, err)
	}
	l.medium, l.archived = inArchive, sources[1:]
	return read(l, l.Add(l.schedule.File, sources[0].Data))
}
