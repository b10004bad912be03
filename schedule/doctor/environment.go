package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/preflight"
	"sched/schedule/process"
	"sched/schedule/ticknote"
	"sched/schedule/yamldoc"
)

// This file compares the environment that ticks have with the environment of this process.

// unknownYet is the finding of checks that need the note of a tick.
func unknownYet() findings { return fine("not known before a tick has come that nobody typed") }

// checkVariables looks for variables that the schedule names and that ticks lack, and for variables
// of its commands as far as their lines show which they need.
func checkVariables(_ context.Context, s *Subject) (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return unknownYet()
	}
	ours := process.Lookup(s.Environ)
	err := s.LoadWith(func(name string) (string, bool) {
		if _, inTicks := slices.BinarySearch(note.Names, name); !inTicks {
			return "", false
		}
		if value, known := ours(name); known {
			return value, true
		}
		return "unknown", true
	})
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		for _, p := range invalid.Problems {
			hint := "set it in the crontab, or write ${VAR:-default} or ${file:PATH}"
			if p.Variable == yamldoc.CredentialsVariable {
				hint = p.Hint
			}
			if p.Variable != "" {
				found.add(Bad, hint,
					"ticks lack a variable: %s: %s", p.Place.String(), p.Text)
			}
		}
	}
	found = append(found, missingVariables(s, note)...)
	return found.orFine("no variable is missing in ticks, as far as the schedule and the lines of its commands show")
}

// missingVariables finds variables that commands use and that ticks do not give them: variables
// that this shell has, and variables that commands need and nothing sets.
func missingVariables(s *Subject, note ticknote.Note) (found findings) {
	ticks := &preflight.Machine{}
	for _, name := range note.Names {
		ticks.Environ = append(ticks.Environ, name+"=unknown")
	}
	ours := process.Lookup(s.Environ)
	ofShell, ofNobody := map[string][]string{}, map[string][]string{} // tasks, by the variable
	for t := range s.Schedule.ActiveTasks() {
		given, known := ticks.Variables(t)
		if !known {
			continue
		}
		theirs := process.Lookup(given)
		needed := preflight.NeededVariables(t)
		for _, name := range preflight.UsedVariables(t) {
			isParam := func(p schedule.Param) bool { return p.Name == name }
			_, inShell := ours(name)
			_, inTicks := theirs(name)
			switch {
			case inTicks:
			case inShell:
				ofShell[name] = append(ofShell[name], t.Name)
			case slices.Contains(needed, name) && !slices.ContainsFunc(t.Params, isParam):
				ofNobody[name] = append(ofNobody[name], t.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ofShell)) {
		found.add(Bad, "set it in `env:`, if it is a secret in a file of `env_file:`, or in the crontab",
			"your shell has the variable %s, and ticks have not; commands use it: %s",
			name, humanize.Names(ofShell[name], 3))
	}
	for _, name := range slices.Sorted(maps.Keys(ofNobody)) {
		found.add(Warning, "set it in `env:`, or write ${"+name+":-} if it may be empty",
			"nothing sets the variable %s, and commands use it: %s", name, humanize.Names(ofNobody[name], 3))
	}
	return found
}

// checkPath looks for programs of tasks that the PATH of this shell has, and not the PATH of ticks.
func checkPath(_ context.Context, s *Subject) (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return unknownYet()
	}
	ticks, ours := &preflight.Machine{Environ: []string{"PATH=" + note.Path}}, &preflight.Machine{Environ: s.Environ}
	type missing struct{ name, program, path string } // path: the PATH of the ticks
	users := map[missing][]string{}                   // tasks
	for t := range s.Schedule.ActiveTasks() {
		path, known := ticks.Path(t)
		ourPath, _ := ours.Path(t)
		for _, name := range preflight.ProgramNames(t) {
			program := process.FindProgram(name, ourPath, t.Dir)
			if known && program != "" && process.FindProgram(name, path, t.Dir) == "" {
				m := missing{name, program, path}
				users[m] = append(users[m], t.Name)
			}
		}
	}
	byName := func(a, b missing) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.program, b.program), cmp.Compare(a.path, b.path))
	}
	for _, m := range slices.SortedFunc(maps.Keys(users), byName) {
		found.add(Bad, "add to the top of the schedule: env: {PATH: "+filepath.Dir(m.program)+":"+m.path+"}",
			"%s is %s in your shell, and not in the PATH of ticks, %s: %s",
			m.name, m.program, m.path, humanize.Names(users[m], 3))
	}
	return found.orFine("the first program of each task that this shell finds is in the PATH of ticks, too: %s",
		note.Path)
}

// checkZone compares the machine's zone in ticks and here, unless the schedule names its own.
func checkZone(_ context.Context, s *Subject) findings {
	note, ok := s.tickNote()
	zone := s.Schedule.Location.String()
	if ok && note.Zone != s.Zone && zone == s.Zone {
		return finding(Bad, "name one in the schedule: timezone: "+zone,
			"ticks take the machine to be in %s, and your shell in %s (TZ)", note.Zone, s.Zone)
	}
	return fine("the schedule is in %s", zone)
}

// minOpenFiles is how many files a process should be able to open: a lower limit is too low for
// many programs.
const minOpenFiles = 256

// checkLimits looks for a limit of ticks that is less than half of the limit of this shell, for too
// few open files, and for another umask.
func checkLimits(_ context.Context, s *Subject) (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return unknownYet()
	}
	ours := ticknote.Here(s.Environ, s.Zone)
	for _, name := range slices.Sorted(maps.Keys(note.Limits)) {
		theirs := note.Limits[name]
		our, limited := ours.Limits[name]
		switch {
		case name == ticknote.OpenFiles && theirs < minOpenFiles:
			found.add(Warning, "raise it in limits.conf, or with LimitNOFILE=",
				"commands of ticks may open %d files at once", theirs)
		case name != ticknote.OpenFiles && (!limited || theirs < our/2):
			found.add(Warning, "see limits.conf(5)",
				"ticks have a limit for %s, %d, that your shell has not", name, theirs)
		}
	}
	if note.UID == ours.UID && note.Umask != ours.Umask {
		found.add(Warning, "set `umask:` where it matters",
			"files of ticks get the umask %s, yours %s", note.Umask, ours.Umask)
	}
	files := "any number of"
	if limit, limited := note.Limits[ticknote.OpenFiles]; limited {
		files = fmt.Sprintf("up to %d", limit)
	}
	return found.orFine("commands of ticks may open %s files, with umask %s", files, note.Umask)
}

// serverVariables say for which server a machine takes itself.
var serverVariables = []string{"SCHED_LABELS", "SCHED_SERVER"}

// checkServers says for which server this machine takes itself, and which tasks it leaves to
// others.
func checkServers(_ context.Context, s *Subject) (found findings) {
	asks := func(t *schedule.Task) bool { return len(t.Servers) > 0 }
	if !slices.ContainsFunc(s.Schedule.Tasks, asks) {
		return nil
	}
	if problem := s.Schedule.Machine.Wrong; problem != "" {
		found.add(Bad, "tasks that ask for labels in `servers` do not run here until it is mended", "%s", problem)
	}
	found = append(found, otherVariables(s)...)
	var elsewhere []string
	for _, t := range s.Schedule.Tasks {
		if s.Schedule.InUse(t) && !s.Schedule.Here(t) {
			elsewhere = append(elsewhere, t.Name)
		}
	}
	if len(elsewhere) == 0 {
		return found.orFine("all tasks are for this server: %s", s.Schedule.Machine)
	}
	return found.orFine("this is %s; of %s these do not run here: %s",
		s.Schedule.Machine, humanize.Count(len(s.Schedule.Tasks), "task"), humanize.Names(elsewhere, 5))
}

// otherVariables names variables that make ticks take this machine for another one than this
// process does.
func otherVariables(s *Subject) (found findings) {
	note, ok := s.tickNote()
	if !ok {
		return nil
	}
	ours := process.Lookup(s.Environ)
	for _, name := range serverVariables {
		_, inTicks := slices.BinarySearch(note.Names, name)
		if _, inShell := ours(name); inShell != inTicks {
			who := "ticks have $" + name + ", and this shell has not"
			if inShell {
				who = "this shell has $" + name + ", and ticks have not"
			}
			found.add(Warning, "set it in both, or let the file /etc/sched/labels and the host name say it",
				"%s: commands here take other tasks for the tasks of this server", who)
		}
	}
	return found
}
