package foreign

import (
	"maps"
	"strings"
)

// readMcron reads a crontab as mcron does. A line may go on after a backslash.
func readMcron(text string) ([]*Job, error) {
	return readVixieStyle(strings.ReplaceAll(text, "\\\n", ""), func(*Job, map[string]string) {}), nil
}

// readSystemdCron reads the crontab of a user as systemd-cron does: some variables are settings.
// Timers of @daily and its like make up for a run.
func readSystemdCron(text string) ([]*Job, error) {
	return readVixieStyle(text, func(j *Job, set map[string]string) {
		if strings.EqualFold(j.Expressions[0], atBoot) {
			j.Expressions[0] = atBoot
		}
		makesUp := strings.HasPrefix(j.Expressions[0], "@") && j.Expressions[0] != atBoot
		for _, name := range [...]string{"RANDOM_DELAY", "START_HOURS_RANGE", "DELAY", "PERSISTENT", "BATCH",
			"RUN_PARTS"} {
			value, isSet := set[name]
			delete(set, name)
			switch {
			case isSet && name == "PERSISTENT":
				value = strings.ToLower(value)
				isYes := value == "yes" || value == "true" || value == "1"
				makesUp = isYes || makesUp && (value == "auto" || value == "")
			case isSet:
				j.note("not taken: %s=%s", name, value)
				if name == "START_HOURS_RANGE" && makesUp {
					j.refuse("START_HOURS_RANGE moves %s: write its five fields", j.Expressions[0])
				}
			}
		}
		if makesUp && j.Expressions[0] != atBoot {
			j.setPlain("missed", "once")
		}
	}), nil
}

// readVixieStyle reads lines of variables, and of five fields or a macro with a command. The
// variables of a job stand above it. The function set gets a copy of them.
func readVixieStyle(text string, set func(*Job, map[string]string)) (jobs []*Job) {
	variables := map[string]string{}
	for number, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if found := setting().FindStringSubmatch(line); found != nil {
			variables[found[1]] = strings.Trim(found[2], `"'`)
			continue
		}
		fields := 5
		if line[0] == '@' {
			fields = 1
		}
		j := &Job{Line: number + 1, Name: "line"}
		jobs = append(jobs, j)
		times, command, ok := cutFields(line, fields)
		if !ok {
			j.refuse("%q has no times and command", line)
			continue
		}
		j.Expressions, j.Command = []string{times}, command
		first := strings.Fields(command)[0]
		j.Name = first[strings.LastIndexByte(first, '/')+1:]
		own := maps.Clone(variables)
		set(j, own)
		j.setVariables(own)
	}
	return jobs
}
