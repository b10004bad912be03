package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/process"
)

// unknownYet is the finding of checks that need the note of a tick.
func unknownYet() findings { return fine("not known before a tick has come that nobody typed") }

func checkVariables(_ context.Context, s *Subject) (found findings) {
	note, ok := s.Tick()
	if !ok {
		return unknownYet()
	}
	ours := process.Lookup(s.Environ)
	err := s.LoadWith(func(name string) (string, bool) {
		if _, there := slices.BinarySearch(note.Names, name); !there {
			return "", false
		}
		if value, known := ours(name); known {
			return value, true
		}
		return "unknown", true
	})
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		for _, p := range invalid.Problems {
			if strings.Contains(p.Text, "is not set") {
				found.add(Problem, "set it in the crontab, or write ${VAR:-default} or ${file:PATH}",
					"ticks lack a variable: %s: %s", p.Place.String(), p.Text)
			}
		}
	}
	found = append(found, s.missingVariables(note)...)
	return found.orFine("ticks have all variables that the schedule and its commands name")
}

// missingVariables finds variables of this shell that commands use and that ticks do not give them.
func (s *Subject) missingVariables(note Note) (found findings) {
	ticks := &Machine{}
	for _, name := range note.Names {
		ticks.Environ = append(ticks.Environ, name+"=unknown")
	}
	ours := process.Lookup(s.Environ)
	uses := map[string][]string{} // tasks, by the variable
	for t := range s.Schedule.ActiveTasks() {
		given, known := ticks.Variables(t)
		theirs := process.Lookup(given)
		for _, name := range usedVariables(t) {
			_, isHere := ours(name)
			if _, there := theirs(name); known && isHere && !there {
				uses[name] = append(uses[name], t.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		found.add(Problem, "set it in `env:`, if it is a secret in a file of `env_file:`, or in the crontab",
			"your shell has the variable %s, and ticks have not; commands use it: %s",
			name, humanize.Names(uses[name], 3))
	}
	return found
}

func checkPath(_ context.Context, s *Subject) (found findings) {
	note, ok := s.Tick()
	if !ok {
		return unknownYet()
	}
	ticks, ours := &Machine{Environ: []string{"PATH=" + note.Path}}, &Machine{Environ: s.Environ}
	needs := map[string][]string{} // tasks, by what is said of a program
	folders := map[string]string{}
	for t := range s.Schedule.ActiveTasks() {
		path, known := ticks.Path(t)
		ourPath, _ := ours.Path(t)
		for _, name := range programNames(t) {
			program := process.Find(name, ourPath, t.Dir)
			if known && program != "" && process.Find(name, path, t.Dir) == "" {
				text := fmt.Sprintf("%s is %s in your shell, and not in the PATH of ticks, %s", name, program, path)
				needs[text] = append(needs[text], t.Name)
				folders[text] = filepath.Dir(program) + ":" + path
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(needs)) {
		found.add(Problem, "add to the top of the schedule: env: {PATH: "+folders[text]+"}",
			"%s: %s", text, humanize.Names(needs[text], 3))
	}
	return found.orFine("the programs of all tasks are in the PATH of ticks, %s", note.Path)
}

// checkZone compares the machine's zone in ticks and here, unless the schedule names its own.
func checkZone(_ context.Context, s *Subject) findings {
	note, ok := s.Tick()
	zone := s.Schedule.Location.String()
	if ok && note.Zone != s.Zone && zone == s.Zone {
		return finding(Problem, "name one in the schedule: timezone: "+zone,
			"ticks take the machine to be in %s, and your shell in %s (TZ)", note.Zone, s.Zone)
	}
	return fine("the schedule is in %s", zone)
}

// leastFiles is how many files a process should be able to open: a lower limit is too low for many
// programs.
const leastFiles = 256

func checkLimits(_ context.Context, s *Subject) (found findings) {
	note, ok := s.Tick()
	if !ok {
		return unknownYet()
	}
	ours := Here(s.Environ, s.Zone)
	for _, name := range slices.Sorted(maps.Keys(note.Limits)) {
		theirs := note.Limits[name]
		our, limited := ours.Limits[name]
		switch {
		case name == "open files" && theirs < leastFiles:
			found.add(Warning, "raise it in limits.conf, or with LimitNOFILE=",
				"commands of ticks may open %d files at once", theirs)
		case name != "open files" && (!limited || theirs < our/2):
			found.add(Warning, "see limits.conf(5)",
				"ticks have a limit for %s, %d, that your shell has not", name, theirs)
		}
	}
	if note.UID == ours.UID && note.Umask != ours.Umask {
		found.add(Warning, "set `umask:` where it matters",
			"files of ticks get the umask %s, yours %s", note.Umask, ours.Umask)
	}
	files := "any number of"
	if most, limited := note.Limits["open files"]; limited {
		files = fmt.Sprintf("up to %d", most)
	}
	return found.orFine("commands of ticks may open %s files, with umask %s", files, note.Umask)
}

var machineVariables = []string{"SCHED_LABELS", "SCHED_SERVER"}

func checkServers(_ context.Context, s *Subject) (found findings) {
	asks := func(t *schedule.Task) bool { return len(t.Servers) > 0 }
	if !slices.ContainsFunc(s.Schedule.Tasks, asks) {
		return nil
	}
	if problem := s.Schedule.Machine.Wrong; problem != "" {
		found.add(Problem, "tasks that ask for labels in `servers` do not run here until it is mended", "%s", problem)
	}
	found = append(found, s.otherVariables()...)
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
func (s *Subject) otherVariables() (found findings) {
	note, ok := s.Tick()
	if !ok {
		return nil
	}
	ours := process.Lookup(s.Environ)
	for _, name := range machineVariables {
		_, ticks := slices.BinarySearch(note.Names, name)
		if _, isHere := ours(name); isHere != ticks {
			who := "ticks have $" + name + ", and this shell has not"
			if isHere {
				who = "this shell has $" + name + ", and ticks have not"
			}
			found.add(Warning, "set it in both, or let the file /etc/sched/labels and the host name say it",
				"%s: commands here take other tasks for the tasks of this server", who)
		}
	}
	return found
}
