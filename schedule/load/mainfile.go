package load

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// readMain reads the main file.
func readMain(l *loader, text []byte) {
	if root := l.Parse(text); root != nil {
		readRoot(l, root)
		warnOfSecrets(l) // of a crontab the reader of its lines says it
	}
}

// readRoot reads the settings first because the tasks depend on them, wherever they stand.
func readRoot(l *loader, root *node) {
	hint := "a schedule starts with `tasks:`"
	if root.IsList() {
		hint = "put the list under `tasks:`"
	}
	if !l.RequireMapping(root, "the file", hint) {
		return
	}
	top := readSettings(l, root)
	l.hasStore = root.Has("store")
	base := readDefaults(l, root.Lookup("defaults"), top.env)
	if defaults := root.Lookup("defaults"); defaults != nil && defaults.IsMapping() {
		warnOfOneServerAlone(l, defaults)
	}
	if base.Lacks = l.lackOf(0, root, root.Lookup("defaults")); base.Lacks != "" {
		l.addWrong(0, nil)
	}
	readEntries(l, root.Lookup("tasks"), base)
	readIncludes(l, root.Lookup("include"), base)
	findMachine(l)
	checkChains(l)
	warnOfUnusedPools(l, top.poolNames)
	warnOfUnusedCalendars(l, top.calendarNames)
	setMayQueue(l)
	settlePauses(l, top.pauseEntries)
	if len(l.schedule.Tasks) == 0 && l.ProblemCount() == 0 {
		l.Warnf(root, "nothing will ever run", "the schedule has no tasks")
	}
}

// readSettings reads the top-level keys into the schedule. It returns the schedule with the values
// that are read later.
func readSettings(l *loader, root *node) settings {
	s := l.schedule
	s.Location = l.options.Local
	s.Environment = "production"
	s.Store = schedule.Store{Lease: defaultLease}
	s.History = schedule.History{Keep: 30 * 24 * time.Hour, RunsPerTask: 1000}
	top := settings{Schedule: s}
	topKeys.Decode(l, &top, root, 0)
	checkStore(l, top, root)
	s.Name = top.ownName
	if s.Name == "" {
		s.Name = nameOf(filepath.Base(l.folder))
	}
	s.StateDir = top.ownStateDir
	if s.StateDir == "" {
		s.StateDir = defaultStateDir(s.File, s.Name, top.ownName != "")
	}
	return top
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

// result returns the schedule, or an *InvalidError if there are problems.
func result(l *loader) (*schedule.Schedule, error) {
	if l.ProblemCount() > 0 {
		problems, cause := l.Problems()
		isRight := !slices.ContainsFunc(problems, func(p yamldoc.Problem) bool { return p.Lacks == "" })
		return nil, &InvalidError{
			Problems: problems,
			StateDir: invalidStateDir(l),
			Rest:     rest(l, isRight),
			Lacks:    isRight,
			cause:    cause,
		}
	}
	return finished(l), nil
}

// finished completes the schedule with what is known at the end of the reading.
func finished(l *loader) *schedule.Schedule {
	s := l.schedule
	s.Warnings, s.Sources = l.Warnings(), l.Sources()
	s.Digest = yamldoc.Digest(s.Sources)
	return s
}

// rest returns the schedule for InvalidError.Rest, or nil. isRight is InvalidError.Lacks.
func rest(l *loader, isRight bool) *schedule.Schedule {
	if l.ProblemCount() > l.wrong.problems {
		return nil
	}
	s := finished(l)
	staysByName := map[string]bool{}
	for _, t := range s.Tasks { // two entries may have one name
		staysByName[t.Name] = staysByName[t.Name] || !l.wrong.tasks[t]
	}
	s.Without = []string{}
	s.Tasks = slices.DeleteFunc(s.Tasks, func(t *schedule.Task) bool {
		if l.wrong.tasks[t] && !staysByName[t.Name] || t.Lacks != "" {
			name := cmp.Or(t.Name, fmt.Sprintf("the entry of line %d", t.Place.Line))
			if !slices.Contains(s.Without, name) {
				s.Without = append(s.Without, name)
			}
		}
		return l.wrong.tasks[t]
	})
	s.Lacking = isRight && slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Lacks != "" })
	if len(s.Tasks) == 0 {
		return nil
	}
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
	guess, err := newLoader(l.schedule.File, l.options)
	if err != nil {
		return ""
	}
	guess.medium = inText
	guess.Add(l.schedule.File, lines)
	if readMain(guess, lines); guess.ProblemCount() > 0 {
		return ""
	}
	return guess.schedule.StateDir
}
