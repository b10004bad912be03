package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// readYacron reads the jobs of yacron and cronstable, with their defaults.
func readYacron(text string) (jobs []*Job, err error) {
	all, err := documents(text)
	if err != nil || len(all) == 0 {
		return nil, cmp.Or(err, ErrOther)
	}
	root := all[0]
	defaults := root.at("defaults")
	for _, entry := range root.at("jobs").items() {
		j := &Job{Line: entry.Line, Name: entry.text("name")}
		get := func(key string) string { return cmp.Or(entry.text(key), defaults.text(key)) }
		schedule := entry.at("schedule")
		times, err := yacronTimes(schedule)
		if err != nil {
			j.refuse("%v", err)
		}
		j.Expressions = []string{times}
		if j.Zone = get("timezone"); j.Zone == "" && get("utc") == "false" {
			j.refuse("utc: false gives it the zone of the machine there: set timezone")
		}
		if command := entry.at("command"); command.IsList() {
			j.Command = quoteWords(command.texts()...)
		} else {
			j.Command = strings.TrimRight(command.Value, "\n")
		}
		if shell := get("shell"); shell != "" {
			j.setList("shell", shell, "-c")
		}
		if get("enabled") == "false" {
			j.setPlain("enabled", "false")
		}
		switch get("concurrencyPolicy") {
		case "Forbid":
			j.setPlain("without_overlapping", "true")
		case "Replace":
			j.setPlain("without_overlapping", "replace")
		}
		for _, key := range [][2]string{{"executionTimeout", "timeout"}, {"killTimeout", "kill_after"}} {
			if seconds, ok := j.number(key[0], get(key[0]), 1, maxSeconds); ok {
				j.setPlain(key[1], fmt.Sprintf("%ds", seconds))
			}
		}
		j.setAccount("user", get("user"))
		j.setAccount("group", get("group"))
		setYacron(j, defaults, entry)
		setFailsWhen(j, defaults, entry)
		j.noteRest("schedule.", schedule)
		j.noteRest("", entry, "captureStdout")
		j.noteRest("defaults.", defaults, "captureStdout")
		if j.Command == "" {
			j.refuse("it has no command")
		}
		jobs = append(jobs, j)
	}
	for _, key := range root.rest() {
		noteWholeFile(jobs, "not taken: %s of the whole file", key)
	}
	noteDocuments(jobs, all)
	return jobs, nil
}

// setYacron sets variables, and what happens after a failure.
func setYacron(j *Job, defaults, entry node) {
	set := map[string]string{}
	for _, list := range []node{defaults.at("environment"), entry.at("environment")} {
		for _, variable := range list.items() {
			if name := variable.text("key"); variableName().MatchString(name) {
				set[name] = variable.text("value")
			} else {
				j.note("not taken: environment %s", name)
			}
		}
	}
	j.setEnv(set)
	failures := []node{entry.at("onFailure"), defaults.at("onFailure")}
	retries := []node{failures[0].at("retry"), failures[1].at("retry")}
	number := func(key, usual string, least, most int) (int, bool) {
		return j.number(key, cmp.Or(retries[0].text(key), retries[1].text(key), usual), least, most)
	}
	count, isCount := number("maximumRetries", "0", 0, maxAttempts-1)
	delay, isDelay := number("initialDelay", "1", 0, maxSeconds)
	backoff, isBackoff := number("backoffMultiplier", "2", 1, 100)
	most, isMost := number("maximumDelay", "300", 0, maxSeconds)
	if count > 0 && isCount && isDelay && isBackoff && isMost {
		j.setPlain("retry", fmt.Sprintf("{attempts: %d, delay: %ds, backoff: %d, max_delay: %ds}", count+1,
			min(delay, most), backoff, most))
	}
	for i, n := range failures {
		for _, key := range retries[i].rest() {
			j.note("not taken: onFailure.retry.%s", key)
		}
		for _, key := range n.rest() {
			j.note("not taken: onFailure.%s: a hook of the task can say it", key)
		}
	}
}

// setFailsWhen sets what makes a run fail but for its exit code. In yacron, what a job prints to a
// stderr that is captured does, unless the file says otherwise (DEFAULT_CONFIG in its config.py).
func setFailsWhen(j *Job, defaults, entry node) {
	fails := []node{entry.at("failsWhen"), defaults.at("failsWhen")}
	get := func(key string) string { return cmp.Or(fails[0].text(key), fails[1].text(key)) }
	captured := cmp.Or(entry.text("captureStderr"), defaults.text("captureStderr"))
	if captured != "false" && get("producesStderr") != "false" {
		j.setPlain("fail_if", "{stderr: any}")
	}
	if get("nonzeroReturn") == "false" {
		j.note("not taken: failsWhen.nonzeroReturn = false")
	}
	for _, key := range []string{"producesStdout", "always"} {
		if get(key) == "true" {
			j.note("not taken: failsWhen.%s = true", key)
		}
	}
	for _, n := range fails {
		j.noteRest("failsWhen.", n)
	}
}

// yacronTimes returns an expression for a schedule, which may be a mapping of fields. Its sixth
// field is the year, and with seven the first is the second.
func yacronTimes(schedule node) (string, error) {
	fields := strings.Fields(schedule.Value)
	if schedule.IsMapping() {
		fields = nil
		if second := schedule.text("second"); second != "" {
			fields = append(fields, second)
		}
		for _, key := range []string{"minute", "hour", "dayOfMonth", "month", "dayOfWeek", "year"} {
			fields = append(fields, cmp.Or(schedule.text(key), "*"))
		}
	}
	if count := len(fields); count > 5 {
		if fields[count-1] != "*" {
			return "", errors.New("its years need from and until")
		}
		fields = fields[:count-1]
	}
	return strings.Join(fields, " "), nil
}
