package lint

import (
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
)

// ofRuns are the variables that sched sets for commands, conditions and hooks of a run, and ofEnds
// are the variables that hooks after a run have besides. ofPeople are set by people, for sched.
var (
	ofRuns = []string{
		"SCHED_TASK", "SCHED_RUN", "SCHED_SLOT", "SCHED_NOMINAL", "SCHED_MUTEX", "SCHED_ATTEMPT",
		"SCHED_PREVIOUS_SLOT", "SCHED_LAST_SUCCESS", ofReport,
		"SCHED_CAUSE_TASK", "SCHED_CAUSE_RUN", "SCHED_CAUSE_OUTCOME",
	}
	ofEnds   = []string{"SCHED_OUTCOME", "SCHED_EXIT_CODE", "SCHED_DURATION", "SCHED_OUTPUT", "SCHED_REASON"}
	ofPeople = []string{"SCHED_CONFIG", "SCHED_SERVER", "SCHED_LABELS", "SCHED_SYSTEM"}
)

// ofReport is the variable of ofRuns that only the command of a task with report has.
const ofReport = "SCHED_REPORT"

// UnknownVariables warns of each active task with a line for a shell that takes a variable
// SCHED_NAME which sched does not set there. It leaves alone variables with a default, variables
// that the line names without a $ and so may set, tasks with an env_file, and variables of environ.
func UnknownVariables(s *schedule.Schedule, environ []string) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		if len(t.EnvFiles) > 0 {
			continue
		}
		warn := func(key string, c schedule.Command) {
			isAfter := strings.HasPrefix(key, "on_") || key == "after"
			hasReport := key != "command" || t.Judge.NeedsReport()
			for _, name := range unknownIn(c.Line, isAfter, hasReport) {
				if _, isSet := t.Env[name]; !isSet && !inEnviron(name, environ) {
					warnings = append(warnings, unknownVariable(t, key, name))
				}
			}
		}
		warn("command", t.Command)
		for _, c := range t.ConditionCommands {
			warn(c.Key, c.Command)
		}
		for key, hook := range t.Hooks.All() {
			warn(key, hook.Run)
		}
	}
	return warnings
}

func inEnviron(name string, environ []string) bool {
	return slices.ContainsFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
}

// schedName finds a variable SCHED_NAME in a line: the sign before it, its name, the sign behind.
var schedName = humanize.Pattern(`(\\\$|\$\{?|)\b(SCHED_\w+)(:?[-+=?]|)`)

// unknownIn returns the SCHED_ variables that a line takes and sched does not set, each once.
// isAfter says that the line is a hook after a run, hasReport that it may find SCHED_REPORT.
func unknownIn(line string, isAfter, hasReport bool) (unknown []string) {
	if !strings.Contains(line, "SCHED_") {
		return nil
	}
	found := schedName().FindAllStringSubmatch(line, -1)
	hasDefault := func(match []string) bool { return match[1] == "${" && match[3] != "" }
	for _, match := range found {
		name := match[2]
		isElsewhere := func(other []string) bool { return other[2] == name && (other[1] == "" || hasDefault(other)) }
		isSet := slices.Contains(ofRuns, name) && (hasReport || name != ofReport) ||
			slices.Contains(ofPeople, name) ||
			isAfter && (slices.Contains(ofEnds, name) || strings.HasPrefix(name, "SCHED_VALUE_"))
		if strings.HasPrefix(match[1], "$") && !isSet && !slices.Contains(unknown, name) &&
			!slices.ContainsFunc(found, isElsewhere) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// unknownVariable is the warning about one variable. It names the nearest variable that sched sets.
func unknownVariable(t *schedule.Task, key, name string) schedule.Problem {
	if slices.Contains(ofEnds, name) || strings.HasPrefix(name, "SCHED_VALUE_") {
		return t.Problem(key, "use it in after, on_success, on_failure or another hook after a run",
			"%s: $%s is empty here: it is set for hooks after a run", key, name)
	}
	if name == ofReport {
		return t.Problem(key, "write `report: {rows: {}}` for a number `rows` that the command reports",
			"%s: $%s is set only for a task with `report`", key, name)
	}
	hint := "the variables are in docs/schedule-yaml.md: what a command finds"
	known := map[string]string{}
	var lower []string
	for _, k := range slices.Concat(ofRuns, ofEnds) {
		known[strings.ToLower(k)] = k
		lower = append(lower, strings.ToLower(k))
	}
	if near := humanize.Nearest(name, lower); near != "" {
		hint = "did you mean $" + known[near] + "?"
	}
	return t.Problem(key, hint, "%s: sched sets no variable %s", key, name)
}
