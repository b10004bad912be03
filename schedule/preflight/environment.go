package preflight

import (
	"bytes"
	"strings"

	"sched/schedule"
	"sched/schedule/envfile"
	"sched/schedule/humanize"
	"sched/schedule/process"
)

// byDefault finds the environment of a file that is a variable with a default.
var byDefault = humanize.Pattern(`(?m)^environment:[ \t]*["']?\$\{(\w+):?-[^}]*\}`)

// environmentElsewhere warns if the environment of the schedule is the default of a variable that
// is not set, while an env_file sets it to something else. Such a file is read for commands alone:
// a staging server with APP_ENV=staging in its .env would do the work of production.
func environmentElsewhere(s *schedule.Schedule, environ []string) []schedule.Problem {
	if len(s.Sources) == 0 {
		return nil
	}
	text := s.Sources[0].Data
	found := byDefault().FindSubmatchIndex(text)
	if found == nil {
		return nil
	}
	name := string(text[found[2]:found[3]])
	if value, _ := process.Lookup(environ)(name); value != "" {
		return nil
	}
	for _, t := range s.Tasks {
		file, value := setIn(t.EnvFiles, name, process.Lookup(environ))
		if value == "" || value == s.Environment {
			continue
		}
		line := 1 + bytes.Count(text[:found[0]], []byte("\n"))
		return []schedule.Problem{{
			Place: schedule.Place{File: s.Sources[0].Name, Line: line, Column: 1},
			Text: "environment: " + name + " is not set, so this is " + s.Environment + ", but " +
				file + " sets " + name + " to something else",
			Hint: "an env_file is for commands: set " + name + " above the line of the crontab, too",
		}}
	}
	return nil
}

// setIn returns the last of the files that sets a variable, and its value. Files that cannot be
// read are left out: others report them.
func setIn(files []string, name string, lookup func(string) (string, bool)) (file, value string) {
	for _, path := range files {
		pairs, _ := envfile.Read([]string{path}, lookup)
		for _, pair := range pairs {
			if key, v, _ := strings.Cut(pair, "="); key == name {
				file, value = path, v
			}
		}
	}
	return file, value
}
