package schedule

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gopkg.in/yaml.v3"
)

// LoadOptions is what Load knows of the world around the file.
type LoadOptions struct {
	// Getenv looks up the variables that ${VAR} stands for. Nil means that none is set.
	Getenv func(string) (string, bool)

	// UID is the effective user. With 0 (root), a file that group or others can write, or that
	// belongs to another user, is refused, as cron refuses such crontabs: whoever can write the
	// file would be root.
	UID int

	// CheckStore says what is wrong with the URLs of a store, without a password in it, and what to do.
	// Nil means that any will do.
	CheckStore func(servers []string) (problem, hint string)

	// CheckNotification says what is wrong with whom an expanded notification is to be sent to, without a secret in it,
	// and what to do. Nil means that nobody looks: whatever is wrong is found when it is sent.
	CheckNotification func(Notification) (problem, hint string)

	// Local is the zone of a schedule that names none. Nil means UTC.
	Local *time.Location
}

// Load reads the schedule in file and what it includes.
// When anything in it is wrong the error is an *InvalidError, which holds every problem.
func Load(file string, opts LoadOptions) (*Schedule, error) {
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	if main := l.read(l.file); main != nil {
		l.main(main)
	}
	return l.result()
}

// Parse is Load for text that is at hand: data is read as if file held it. It opens no file, so
// include is a problem here; the text of Schedule.Merged has none.
func Parse(data []byte, file string, opts LoadOptions) (*Schedule, error) {
	l, err := newLoader(file, opts)
	if err != nil {
		return nil, err
	}
	l.onlyText = true
	l.main(l.source(l.file, data))
	return l.result()
}

// A loader turns one schedule.yaml into a Schedule. It notes a problem and goes on, so that every
// problem is found at once; what it has built counts only when there was none.
type loader struct {
	opts     LoadOptions
	file     string // absolute
	dir      string // of the file
	onlyText bool   // of Parse

	problems []Problem
	warnings []Problem
	unshown  int // problems past the most that are kept
	cause    error

	// Where the loader is, for the messages.
	at    string // the file, as it is shown
	task  string
	part  string   // `defaults: `, `group "x": ` or nothing
	meant []string // the known keys that were probably meant by unknown ones of this task
	key   string   // the key whose value is being read, with those above it: retry.delay

	schedule *Schedule
	mail     mail
	env      map[string]string // of the file
	names    map[string]Place  // of the tasks
	zones    map[string]*time.Location
}

// A source is one file of a schedule.
type source struct {
	path  string // absolute
	shown string // relative to the folder of the main file
	data  []byte
	root  *yaml.Node // without aliases and merge keys
	tasks *yaml.Node
}

func newLoader(file string, opts LoadOptions) (*loader, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("%s: the working directory is unknown: %w", file, err)
	}
	if opts.Local == nil {
		opts.Local = time.UTC
	}
	return &loader{
		opts: opts, file: path, dir: filepath.Dir(path), at: filepath.Base(path),
		schedule: &Schedule{File: path},
		names:    map[string]Place{},
		zones:    map[string]*time.Location{},
	}, nil
}

// source takes data as the text of the file at path, the next one of the schedule.
func (l *loader) source(path string, data []byte) *source {
	src := &source{path: path, shown: l.shown(path), data: data}
	l.schedule.sources = append(l.schedule.sources, src)
	return src
}

// main reads the main file: its settings first, since the tasks depend on them wherever they stand.
func (l *loader) main(src *source) {
	l.at = src.shown
	if src.root = l.parse(src.data); src.root == nil {
		return
	}
	if src.root.Kind == yaml.SequenceNode {
		l.bad(src.root, "put the list under `tasks:`", "the file must be a mapping of keys and values, not a list")
		return
	}
	if !l.isMapping(src.root, "the file") {
		return
	}
	top := l.settings(src.root)
	base := l.defaults(top.defaults)
	src.tasks = top.tasks
	l.entries(top.tasks, base)
	l.includes(top.include, base)
	if len(l.schedule.Tasks) == 0 && len(l.problems) == 0 {
		l.warn(src.root, "nothing will ever run", "the schedule has no tasks")
	}
}

// result returns the schedule, or all that is wrong with it in the order of the files.
func (l *loader) result() (*Schedule, error) {
	if len(l.problems) > 0 {
		l.inOrder(l.problems)
		if l.unshown > 0 {
			l.problems = append(l.problems, Problem{
				Place: Place{File: l.shown(l.file)},
				Text:  fmt.Sprintf("%d more problems are not shown", l.unshown),
			})
		}
		return nil, &InvalidError{Problems: l.problems, StateDir: l.stateDir(), cause: l.cause}
	}
	l.inOrder(l.warnings)
	l.schedule.Warnings = l.warnings
	l.schedule.Digest = digest(l.schedule.sources)
	return l.schedule, nil
}

// stateDir returns the state folder of a schedule that is invalid. Where the file is no YAML at all,
// it looks for the two lines that decide it.
func (l *loader) stateDir() string {
	if l.schedule.StateDir != "" || l.onlyText || len(l.schedule.sources) == 0 {
		return l.schedule.StateDir
	}
	var lines []byte
	for line := range bytes.Lines(l.schedule.sources[0].data) {
		if bytes.HasPrefix(line, []byte("state_dir:")) || bytes.HasPrefix(line, []byte("name:")) {
			lines = append(lines, line...)
		}
	}
	lines = append(lines, "\ntasks: []\n"...)
	if guess, err := Parse(lines, l.file, l.opts); err == nil {
		return guess.StateDir
	}
	return ""
}

func (l *loader) inOrder(problems []Problem) {
	order := make(map[string]int)
	for i, src := range l.schedule.sources {
		order[src.shown] = i
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.Place.File != b.Place.File {
			return order[a.Place.File] - order[b.Place.File]
		}
		if a.Place.Line != b.Place.Line {
			return a.Place.Line - b.Place.Line
		}
		return a.Place.Column - b.Place.Column
	})
}

func (l *loader) place(n *yaml.Node) Place { return Place{File: l.at, Line: n.Line, Column: n.Column} }

// bad notes that something is wrong at n. The hint may be empty.
func (l *loader) bad(n *yaml.Node, hint, format string, args ...any) {
	l.badAt(l.place(n), hint, format, args...)
}

// mostProblems bounds what cron may have to mail every minute.
const mostProblems = 1000

func (l *loader) badAt(at Place, hint, format string, args ...any) {
	if len(l.problems) == mostProblems {
		l.unshown++
		return
	}
	text := l.part + fmt.Sprintf(format, args...)
	l.problems = append(l.problems, Problem{Place: at, Task: l.task, Text: text, Hint: hint})
}

func (l *loader) warn(n *yaml.Node, hint, format string, args ...any) {
	text := l.part + fmt.Sprintf(format, args...)
	l.warnings = append(l.warnings, Problem{Place: l.place(n), Task: l.task, Text: text, Hint: hint})
}
