package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"sched/schedule/crontab"
)

// readYacron reads the jobs of yacron and cronstable, with their defaults.
func readYacron(text string) (jobs []*Job, err error) {
	all, err := documents(text)
	if err != nil || len(all) == 0 {
		return nil, cmp.Or(err, ErrOther)
	}
	defaults := all[0].at("defaults")
	for _, entry := range all[0].at("jobs").items() {
		j := &Job{Line: entry.Line, Name: entry.text("name")}
		get := func(key string) string { return cmp.Or(entry.text(key), defaults.text(key)) }
		times, err := yacronTimes(entry.at("schedule"))
		if err != nil {
			j.refuse("%v", err)
		}
		j.Expressions = []string{times}
		if j.Zone = get("timezone"); j.Zone == "" && get("utc") == "false" {
			j.note("utc: false: it has the zone of the machine; set timezone")
		}
		if command := entry.at("command"); command.IsList() {
			j.Command = quoteWords(command.texts()...)
		} else {
			j.Command = strings.TrimRight(command.Value, "\n")
		}
		if shell := get("shell"); shell != "" {
			j.setPlain("shell", "["+shell+", -c]")
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
			if seconds := get(key[0]); seconds != "" {
				j.setPlain(key[1], seconds+"s")
			}
		}
		for _, key := range []string{"user", "group"} {
			if value := get(key); value != "" {
				j.set(key, value)
			}
		}
		setYacron(j, defaults, entry)
		j.noteRest("", entry, "captureStdout", "captureStderr")
		j.noteRest("defaults.", defaults, "captureStdout", "captureStderr")
		if j.Command == "" {
			j.refuse("it has no command")
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// setYacron sets variables, and what happens after a failure.
func setYacron(j *Job, defaults, entry node) {
	set := map[string]string{}
	for _, list := range []node{defaults.at("environment"), entry.at("environment")} {
		for _, variable := range list.items() {
			set[variable.text("key")] = variable.text("value")
		}
	}
	if len(set) > 0 {
		j.Keys = append(j.Keys, crontab.EnvKey(set))
	}
	for _, n := range []node{defaults, entry} {
		retry := n.at("onFailure").at("retry")
		if most := retry.text("maximumRetries"); most != "" {
			const format = "{attempts: %s, delay: %ss, backoff: %s, max_delay: %ss}"
			j.setPlain("retry", fmt.Sprintf(format, atoiPlusOne(most),
				cmp.Or(retry.text("initialDelay"), "1"), cmp.Or(retry.text("backoffMultiplier"), "2"),
				cmp.Or(retry.text("maximumDelay"), "300")))
		}
		for _, key := range n.at("onFailure").rest("retry") {
			j.note("not taken: onFailure.%s: a hook of the task can say it", key)
		}
	}
}

// yacronTimes returns an expression for a schedule, which may be a mapping of fields. Its sixth
// field is the year, and with seven the first is the second.
func yacronTimes(schedule node) (string, error) {
	fields := strings.Fields(schedule.Value)
	if schedule.IsMapping() {
		fields = nil
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

// atoiPlusOne adds the first attempt to a number of further ones.
func atoiPlusOne(text string) string {
	n := 0
	fmt.Sscan(text, &n)
	return fmt.Sprint(n + 1)
}
