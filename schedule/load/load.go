// Package load makes a schedule of schedule.yaml and what it includes.
//
// File and Text return a schedule.Schedule that is valid and complete, or an InvalidError with
// every problem at its place. Archive makes the schedule of the text that Schedule.Archive
// returned. Schema writes the JSON Schema by which editors check such a file.
//
// The package runs no processes, opens no connections and reads no clock. It opens only the files
// that it is named. Options say what it must know of the world.
//
// The reading begins in load.go. keys.go has every key and subkeys.go the keys of mappings; other
// files read values and check them against each other. schedule/yamldoc reads YAML.
//
// A function that takes a yamldoc.Reader reads the value of one key, as far as it depends on no
// other key. It returns false after a wrong value, and records the problem with the Reader.
package load

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// An InvalidError holds every problem: of the main file first, then of its includes, from top to
// bottom.
type InvalidError struct {
	Problems []yamldoc.Problem // at least one
	StateDir string            // of the schedule, as far as the file still says; it may hold the last valid one

	// Rest is the schedule without the tasks that the problems concern. Tasks that only lack a
	// variable or a file stay (schedule.Task.Lacks). Rest is nil if a problem concerns more than
	// its entry of `tasks:`, or if no task is left.
	Rest *schedule.Schedule

	// Lacks says that the text is right: all that is wrong is that variables or files which it
	// names are not there.
	Lacks bool

	cause error // of a file that could not be read, or yamldoc.ErrUntrusted
}

// Error returns the problems, each on lines of its own.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns why a file could not be read, so that errors.Is finds fs.ErrNotExist.
func (e *InvalidError) Unwrap() error { return e.cause }

// Options is what File, Text and Archive need to know of the world around the file.
type Options struct {
	// Getenv looks up the variables that ${VAR} stands for. Nil means that none is set.
	Getenv func(string) (string, bool)

	// Root says that the tasks run as root: a file that another user could write or replace is
	// refused (statedir.CheckAbove), because that user would be root.
	Root bool

	// CheckStore says what is wrong with URLs of a store, without passwords. Nil accepts any.
	CheckStore func(servers []string) (problem, hint string)

	// CheckNotification says what is wrong with an expanded notification, without a secret. Nil
	// accepts any, unexpanded.
	CheckNotification func(schedule.Notification) (problem, hint string)

	// Origins asks for what Task.Settings and Task.PlaceOf return. It makes a map for each task,
	// and ticks do without.
	Origins bool

	// Texts are taken for the files at those absolute paths, after an edit; nil is a missing file.
	Texts map[string][]byte

	// Server returns the name of this machine for `spread` and `servers`, given the one of the file
	// or "". Nil means no name.
	Server func(named string) string

	// Labels returns the labels of this machine, and what is wrong with them. It is called only
	// when a task needs one. Nil means none.
	Labels func() (all []string, wrong string)

	// Home returns the home folder of a user of this machine. Nil knows no users. Crontabs with
	// users need it.
	Home func(user string) (dir string, ok bool)

	// System says that the lines of a crontab have a user, as far as the file does not say it.
	System bool

	// Local is the zone of a schedule that names none. Nil means UTC.
	Local *time.Location
}

// File reads the schedule in file, YAML or a crontab, and what it includes. An invalid schedule is
// an *InvalidError.
func File(file string, opts Options) (*schedule.Schedule, error) {
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	if main := l.Open(l.schedule.File); main != nil {
		return l.read(main)
	}
	return l.result()
}

// read reads the main file, which is YAML or a crontab. A file of another program has one problem.
func (l *loader) read(main *yamldoc.Source) (*schedule.Schedule, error) {
	s, err := l.readAsItIs(main)
	if err == nil && len(s.Tasks) > 0 && len(s.BadLines) == 0 {
		return s, nil
	}
	if problem, hint := Foreign(main.Data); problem != "" {
		at := yamldoc.Problem{Place: yamldoc.Place{File: main.Name}, Text: problem, Hint: hint}
		return nil, &InvalidError{Problems: []yamldoc.Problem{at}, StateDir: invalidStateDir(l)}
	}
	return s, err
}

// readAsItIs reads the main file in the format that its name and its text say.
func (l *loader) readAsItIs(main *yamldoc.Source) (*schedule.Schedule, error) {
	l.File = main.Name
	format, problem, hint := crontab.FormatOf(l.schedule.File, string(main.Data), l.options.System, l.isUser)
	switch format {
	case crontab.NotCrontab:
		l.readMain(main.Data)
	case crontab.Unclear:
		l.ProblemAt(yamldoc.Place{File: main.Name}, hint, "%s", problem)
	default:
		return l.readCrontab(main, format == crontab.System)
	}
	return l.result()
}

// Text is File for data, read as if file held it. It opens no file, so include is a problem.
func Text(data []byte, file string, opts Options) (*schedule.Schedule, error) {
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	l.medium = inText
	l.Add(l.schedule.File, data)
	l.readMain(data)
	return l.result()
}

// A loader turns one schedule.yaml into a Schedule. The Schedule is used only if there are no
// problems.
type loader struct {
	*yamldoc.Reader
	options  Options
	folder   string // of the main file, absolute
	medium   medium
	archived []*yamldoc.Source // the sources of an archive that are still to be read

	schedule *schedule.Schedule
	mail     mailSettings
	names    map[string]yamldoc.Place // the places of the names of tasks
	wrong    wrongEntries
	bare     *taskDraft // a task that sets and inherits nothing; nil while the top of the file is read
	hasStore bool       // the file has the key store, even if its value is empty
	chains   chains
	zones    map[string]*time.Location
}

// A medium is where the text of a schedule comes from, and of the files that it names.
type medium int

const (
	inFiles   medium = iota
	inText           // no files: to name a file is a problem
	inArchive        // each file is the next of loader.archived
)

func newLoader(file string, opts Options) (*loader, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("%s: the working directory is unknown: %w", file, err)
	}
	if opts.Local == nil {
		opts.Local = time.UTC
	}
	folder := filepath.Dir(path)
	l := &loader{
		Reader: yamldoc.NewReader(yamldoc.Options{
			Folder:   folder,
			Getenv:   opts.Getenv,
			Root:     opts.Root,
			Texts:    opts.Texts,
			Synonyms: synonyms,
		}),
		options:  opts,
		folder:   folder,
		schedule: &schedule.Schedule{File: path},
		names:    map[string]yamldoc.Place{},
		zones:    map[string]*time.Location{},
	}
	l.File = filepath.Base(path)
	if opts.Origins {
		l.Origins = yamldoc.Origins{}
	}
	return l, nil
}

// readMain reads the main file. It reads the settings first because the tasks depend on them,
// wherever they stand.
func (l *loader) readMain(text []byte) {
	root := l.Parse(text)
	if root == nil {
		return
	}
	hint := "a schedule starts with `tasks:`"
	if root.IsList() {
		hint = "put the list under `tasks:`"
	}
	if !l.RequireMapping(root, "the file", hint) {
		return
	}
	top := l.readSettings(root)
	l.hasStore = root.Has("store")
	base := l.readDefaults(root.Lookup("defaults"), top.env)
	if base.Lacks = l.lackOf(0, root, root.Lookup("defaults")); base.Lacks != "" {
		l.addWrong(0, nil)
	}
	l.readEntries(root.Lookup("tasks"), base)
	l.readIncludes(root.Lookup("include"), base)
	findMachine(l)
	checkChains(l)
	warnOfUnusedPools(l, top.poolNames)
	setMayQueue(l)
	settlePauses(l, top.pauseEntries)
	if len(l.schedule.Tasks) == 0 && l.ProblemCount() == 0 {
		l.Warnf(root, "nothing will ever run", "the schedule has no tasks")
	}
}

// findMachine looks up the name and the labels of this machine, but only if a task asks for them.
func findMachine(l *loader) {
	var asksName, asksLabels bool
	for _, t := range l.schedule.Tasks {
		asksName = asksName || len(t.Servers) > 0
		asksLabels = asksLabels || slices.ContainsFunc(t.Servers, placement.IsLabel)
	}
	machine := &l.schedule.Machine
	if asksName && l.options.Server != nil {
		machine.Name = l.options.Server(l.schedule.Server)
	}
	if asksLabels && l.options.Labels != nil {
		machine.Labels, machine.Wrong = l.options.Labels()
	}
}

// result returns the schedule, or an *InvalidError if there are problems.
func (l *loader) result() (*schedule.Schedule, error) {
	if l.ProblemCount() > 0 {
		problems, cause := l.Problems()
		return nil, &InvalidError{
			Problems: problems,
			StateDir: invalidStateDir(l),
			Rest:     l.rest(),
			Lacks:    !slices.ContainsFunc(problems, func(p yamldoc.Problem) bool { return p.Lacks == "" }),
			cause:    cause,
		}
	}
	return l.finished(), nil
}

// finished completes the schedule with what is known at the end of the reading.
func (l *loader) finished() *schedule.Schedule {
	s := l.schedule
	s.Warnings, s.Sources = l.Warnings(), l.Sources()
	s.Digest = yamldoc.Digest(s.Sources)
	return s
}

// invalidStateDir returns the state folder of an invalid schedule. If the folder was not read, it
// looks only at the lines `state_dir:` and `name:`.
func invalidStateDir(l *loader) string {
	if l.schedule.StateDir != "" || l.medium != inFiles {
		return l.schedule.StateDir
	}
	var lines []byte
	for line := range bytes.Lines(l.Sources()[0].Data) {
		if bytes.HasPrefix(line, []byte("state_dir:")) || bytes.HasPrefix(line, []byte("name:")) {
			lines = append(lines, line...)
		}
	}
	lines = append(lines, "\ntasks: []\n"...)
	if guess, err := Text(lines, l.schedule.File, l.options); err == nil {
		return guess.StateDir
	}
	return ""
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

// wrongEntries are the entries of `tasks:` that have problems, while a schedule is read.
type wrongEntries struct {
	problems int // of these entries and of assertions; a file with more problems has other problems, too
	tasks    map[*schedule.Task]bool
}

// addWrong notes that the problems after the first `before` ones concern the task alone. The task
// is nil if the entry is no task.
func (l *loader) addWrong(before int, t *schedule.Task) {
	if l.ProblemCount() == before {
		return
	}
	l.wrong.problems += l.ProblemCount() - before
	if l.wrong.tasks == nil {
		l.wrong.tasks = map[*schedule.Task]bool{}
	}
	l.wrong.tasks[t] = true
}

// lackOf returns what the entries lack if each problem after the first `before` ones is a variable
// or a file that is not there, and says where: the first of them. It returns "" for any other
// problem, and if the entries' times or the place of their history depend on it.
func (l *loader) lackOf(before int, entries ...*node) string {
	problems, ok := l.ProblemsFrom(before)
	if !ok {
		return ""
	}
	for _, p := range problems {
		isKnown := func(key string) bool {
			return !slices.ContainsFunc(entries, func(n *node) bool {
				return n != nil && n.Lookup(key) != nil && l.PlaceOf(n.Lookup(key)) == p.Place
			})
		}
		if p.Lacks == "" || !isKnown("timezone") || !isKnown("name") || !isKnown("state_dir") {
			return ""
		}
	}
	return problems[0].Place.String() + ": " + problems[0].Lacks
}

// rest returns the schedule for InvalidError.Rest, or nil.
func (l *loader) rest() *schedule.Schedule {
	if l.ProblemCount() > l.wrong.problems {
		return nil
	}
	s := l.finished()
	staysByName := map[string]bool{"": true} // an entry without a name cannot be listed
	for _, t := range s.Tasks {              // two entries may have one name
		staysByName[t.Name] = staysByName[t.Name] || !l.wrong.tasks[t]
	}
	s.Without = []string{}
	s.Tasks = slices.DeleteFunc(s.Tasks, func(t *schedule.Task) bool {
		if l.wrong.tasks[t] && !staysByName[t.Name] || t.Lacks != "" {
			s.Without = append(s.Without, t.Name)
		}
		return l.wrong.tasks[t]
	})
	s.Lacking = slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Lacks != "" })
	if len(s.Tasks) == 0 {
		return nil
	}
	return s
}
