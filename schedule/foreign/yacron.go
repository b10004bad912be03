package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
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
		if j.Zone = get("timezone"); j.Zone == "" && get("utc") == "false" && times != atBoot {
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
	for _, n := range retries {
		j.noteRest("onFailure.retry.", n)
	}
	setReports(j, entry, defaults, failures)
}

// setReports sets the mails of reports. on_failure is for the last attempt alone, as
// onPermanentFailure is.
func setReports(j *Job, entry, defaults node, failures []node) {
	both := func(key string) []node { return []node{entry.at(key), defaults.at(key)} }
	each, _ := yacronMail(j, "onFailure", failures)
	last, _ := yacronMail(j, "onPermanentFailure", both("onPermanentFailure"))
	good, hasBody := yacronMail(j, "onSuccess", both("onSuccess"))
	isRetry := func(k crontab.Key) bool { return k.Name == "retry" }
	if each != nil && slices.ContainsFunc(j.Keys, isRetry) {
		j.note("onFailure.report mails after each attempt, and on_failure after the last one alone")
	}
	for _, address := range last {
		if !slices.Contains(each, address) {
			each = append(each, address)
		}
	}
	j.setMail("on_failure", each)
	if hasBody {
		j.setMail("on_success", good)
	} else { // it mails nothing if the job printed nothing
		j.setMail("on_success", good, yamldoc.NewText("when"), yamldoc.NewText("output"))
	}
}

// yacronMail returns the addresses that a report of an event is mailed to: none without a sender,
// as in yacron. The events are the event in the job, and the event in the defaults. It notes all
// that is not taken.
func yacronMail(j *Job, event string, events []node) (to []string, hasBody bool) {
	reports := []node{events[0].at("report"), events[1].at("report")}
	mails := []node{reports[0].at("mail"), reports[1].at("mail")}
	get := func(key string) string { return cmp.Or(mails[0].text(key), mails[1].text(key)) }
	addresses, from := get("to"), get("from")
	if from == "" {
		addresses = ""
	}
	for address := range strings.SplitSeq(addresses, ",") {
		address = strings.TrimSpace(address)
		if mailAddress().MatchString(address) {
			to = append(to, address)
		} else if address != "" {
			j.note("not taken: %s.report.mail.to: %s", event, address)
		}
	}
	if to != nil {
		j.note("not taken: %s.report.mail.from: `mail: {from: …}` of the file can say it", event)
	}
	hasBody = get("body") != ""
	for i := range mails {
		j.noteRest(event+".report.mail.", mails[i], "from", "to")
		for _, key := range reports[i].rest() {
			j.note("not taken: %s.report.%s: a hook of the task can say it", event, key)
		}
		j.noteRest(event+".", events[i])
	}
	if hasBody {
		j.note("not taken: %s.report.mail.body", event)
	}
	return to, hasBody
}

var mailAddress = humanize.Pattern(`^[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+$`)

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
