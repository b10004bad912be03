package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// A runwispTask is a table of RunWisp that becomes a job.
type runwispTask struct {
	job             *Job
	entry, defaults node
}

// tableHeader matches the header of a task, a service or an import of Compose.
var tableHeader = humanize.Pattern(`(?m)^[ \t]*\[(tasks|services|compose)\.("[^"\n]*"|'[^'\n]*'|[^\]\s.]+)[ \t]*\]`)

// readRunwisp reads the tasks of RunWisp, with their defaults.
func readRunwisp(text string) (jobs []*Job, err error) {
	root, err := tomlDocument(text)
	if err != nil {
		return nil, err
	}
	lines := map[string]int{}
	line, last := 1, 0
	for _, at := range tableHeader().FindAllStringSubmatchIndex(text, -1) {
		line, last = line+strings.Count(text[last:at[2]], "\n"), at[2]
		lines[text[at[2]:at[3]]+"."+strings.Trim(text[at[4]:at[5]], `"'`)] = line
	}
	defaults, zone := root.at("defaults"), root.at("scheduler").text("timezone")
	each := func(kind string, read func(j *Job, entry node)) {
		if all := root.at(kind); all.IsMapping() {
			for name, entry := range all.Pairs() {
				j := &Job{Line: lines[kind+"."+name.Value], Name: name.Value}
				read(j, nodeOf(entry))
				jobs = append(jobs, j)
			}
		}
	}
	each("tasks", func(j *Job, entry node) {
		if !entry.IsMapping() {
			j.refuse("it is no table")
			return
		}
		j.Zone = cmp.Or(entry.text("timezone"), zone)
		(&runwispTask{j, entry, defaults}).read()
	})
	each("services", func(j *Job, _ node) {
		j.refuse("it is a service, which is to run for ever: sched starts what is due")
	})
	each("compose", func(j *Job, _ node) { j.refuse("it makes services of a Compose file") })
	slices.SortStableFunc(jobs, func(a, b *Job) int { return cmp.Compare(a.Line, b.Line) })
	if i := slices.IndexFunc(jobs, func(j *Job) bool { return j.Refused == "" }); i >= 0 {
		noteSettings(jobs[i], root, defaults)
	}
	return jobs, nil
}

// noteSettings says in the first job which settings of all are not taken.
func noteSettings(j *Job, root, defaults node) {
	if len(root.at("daemon").at("include").items()) > 0 {
		j.note("not taken: the files of daemon.include: import each of them, too")
	}
	if len(root.at("daemon").at("include_cron").items()) > 0 {
		j.note("not taken: the crontabs of daemon.include_cron: import each of them, too")
	}
	for _, key := range append(root.rest("daemon", "$schema"), root.at("daemon").rest("include", "include_cron")...) {
		j.note("not taken: %s of the whole file", key)
	}
	j.noteRest("defaults.", defaults)
}

// get returns a setting of the task, or of the defaults.
func (r *runwispTask) get(key string) string {
	return cmp.Or(r.entry.text(key), r.defaults.text(key))
}

// read takes or names each setting.
func (r *runwispTask) read() {
	j := r.job
	if text := r.entry.text("description"); text != "" {
		j.set("description", humanize.Line(text))
	}
	r.setTimes()
	r.setCommand()
	r.setRuns()
	r.setRetry()
	r.setAccount()
	r.setVariables()
	if size := sizePattern().FindStringSubmatch(r.get("log_max_size")); size != nil {
		j.setPlain("output", "{limit: "+size[1]+strings.ToUpper(size[2])+"}")
	} else if size := r.get("log_max_size"); size != "" {
		j.note("not taken: log_max_size = %s", size)
	}
	for _, usual := range [][2]string{{"api_trigger", "true"}, {"manual_trigger", "true"}, {"stop_signal", "SIGTERM"},
		{"restart", "never"}, {"log_on_full", ""}, {"keep_runs", ""}, {"keep_for", ""}, {"jitter", "0s"}} {
		if value := r.get(usual[0]); value != "" && value != usual[1] {
			j.note("not taken: %s = %s", usual[0], value)
		}
	}
	for _, key := range []string{"notify_on_failure", "notify_on_success", "notify_on_missed"} {
		if !r.entry.at(key).IsEmpty() || !r.defaults.at(key).IsEmpty() {
			j.note("not taken: %s: a hook of the task, or of the defaults, can say it", key)
		}
	}
	j.noteRest("", r.entry)
}

// sizePattern matches the sizes that both know in the same words.
var sizePattern = humanize.Pattern(`(?i)^(\d{2,3})\s*(kb|mb)$`)

// setTimes sets expressions, or the words of every for a task that has none.
func (r *runwispTask) setTimes() {
	j, expression := r.job, strings.TrimSpace(r.entry.text("cron"))
	isAtStart := r.entry.text("run_on_start") == "true"
	switch {
	case expression == "" && isAtStart:
		j.setPlain("every", "boot")
		j.timeless = "here it differs: it starts at boot, and there with the program"
		return
	case expression == "":
		j.setPlain("every", "hand")
		j.timeless = "only people start it"
		return
	case isAtStart:
		j.note("not taken: run_on_start: a second task with `every: boot` can say it")
	}
	fields := strings.Fields(expression)
	if len(fields) == 6 && fields[0] == "0" {
		fields = fields[1:] // the second, which comes first
	} else if len(fields) == 6 && !strings.Contains(fields[0], "=") {
		j.notSame = "not compared: it has seconds"
	}
	if len(fields) == 5 {
		if fields[4] == "7" {
			fields[4] = "0"
		}
		if hasOwnDays(fields[2], fields[4]) {
			j.notSame = "not compared: RunWisp has its own reading of such days"
		}
	}
	j.Expressions = []string{strings.Join(fields, " ")}
	r.setMissed()
}

// hasOwnDays reports whether RunWisp reads the day and the weekday otherwise than its library: 7 is
// Sunday, and two day fields must both match if one begins with a star.
func hasOwnDays(day, weekday string) bool {
	isStep := func(field string) bool { return len(field) > 1 && (field[0] == '*' || field[0] == '?') }
	isFree := func(field string) bool { return field == "*" || field == "?" }
	isNumber := strings.ContainsAny(weekday, "0123456")
	return strings.Contains(weekday, "7") || isNumber && strings.Contains(weekday, "/") ||
		isStep(day) && !isFree(weekday) || isStep(weekday) && !isFree(day)
}

// setMissed sets what becomes of times at which nothing ran. RunWisp makes up for the latest one
// unless the task says otherwise, however long ago it was.
func (r *runwispTask) setMissed() {
	j, most := r.job, r.entry.text("max_catch_up_runs")
	policy := cmp.Or(r.get("catch_up"), "latest")
	if number, err := strconv.Atoi(policy); err == nil && number > 1 {
		policy, most = "all", policy
	}
	switch policy {
	case "skip", "0":
		return
	case "latest", "1":
		j.setPlain("missed", "once")
	case "all":
		j.setPlain("missed", "all")
		if number, err := strconv.Atoi(most); err == nil && number > 0 {
			j.setPlain("missed_at_most", fmt.Sprint(min(number, 1000)))
		}
	default:
		j.note("not taken: catch_up = %s", policy)
		return
	}
	j.setPlain("missed_within", "31d")
}

// setCommand sets the command, which in a shell ends at the first part that fails.
func (r *runwispTask) setCommand() {
	j, command := r.job, strings.TrimRight(r.entry.text("run"), "\n")
	shell := r.get("shell")
	if file := r.entry.text("compose_file"); file != "" {
		service, mode := cmp.Or(r.entry.text("compose_service"), j.Name), r.entry.text("compose_mode")
		words := []string{"docker", "compose", "-f", file, "exec", "-T", service}
		if mode == "run" || command == "" {
			words = []string{"docker", "compose", "-p", j.Name, "-f", file, "run", "--rm", "-T", service}
		}
		if command != "" {
			words = append(words, "/bin/sh", "-e", "-c", command)
		}
		j.Command = quoteWords(words...)
		return
	}
	if j.Command = command; strings.TrimSpace(command) == "" {
		j.refuse("it has no command")
		return
	}
	name := shell[strings.LastIndexByte(shell, '/')+1:]
	words := []*yamldoc.Node{yamldoc.NewText(cmp.Or(shell, "/bin/sh")), yamldoc.NewText("-e"), yamldoc.NewText("-c")}
	switch {
	case shell != "" && !slices.Contains(strings.Fields("sh bash dash ash busybox ksh mksh zsh yash"), name):
		words = slices.Delete(words, 1, 2)
	case shell == "" && !strings.ContainsAny(command, "\n;&"):
		return
	}
	j.put(crontab.Key{Name: "shell", Value: yamldoc.NewList(words...)})
}

// setRuns sets how long a run takes, and what becomes of a second one.
func (r *runwispTask) setRuns() {
	j, many, overlap := r.job, r.entry.text("max_concurrent"), cmp.Or(r.entry.text("on_overlap"), "queue")
	switch {
	case many != "" && many != "1":
		j.note("not taken: max_concurrent = %s: a pool can say it", many)
	case overlap == "queue":
		j.setPlain("without_overlapping", "wait")
	case overlap == "skip":
		j.setPlain("without_overlapping", "true")
	case overlap == "terminate", overlap == "kill":
		j.setPlain("without_overlapping", "replace")
	default:
		j.note("not taken: on_overlap = %s", overlap)
	}
	for _, key := range [][2]string{{"timeout", "timeout"}, {"graceful_stop", "kill_after"}} {
		switch value := r.get(key[0]); {
		case value == "", strings.Trim(value, "0hms") == "" && key[0] == "timeout":
		case runwispDuration().MatchString(value):
			j.setPlain(key[1], value)
		default:
			j.note("not taken: %s = %s", key[0], value)
		}
	}
	codes := r.entry.at("exit_codes")
	if len(codes.items()) == 0 {
		codes = r.defaults.at("exit_codes")
	}
	if texts := codes.texts(); len(texts) > 0 && !slices.ContainsFunc(texts, isNoCode) {
		j.setPlain("success_codes", "["+strings.Join(texts, ", ")+"]")
	}
}

// runwispDuration matches the durations that both know in the same words.
var runwispDuration = humanize.Pattern(`^(\d{1,5}h)?(\d{1,5}m)?\d{1,5}[hms]$`)

func isNoCode(text string) bool {
	code, err := strconv.Atoi(text)
	return err != nil || code < 0 || code > 255
}

// setRetry sets further attempts. The waits of RunWisp grow up to five minutes.
func (r *runwispTask) setRetry() {
	j, delay, backoff := r.job, cmp.Or(r.entry.text("retry_delay"), "5s"), r.entry.text("retry_backoff")
	count, err := strconv.Atoi(cmp.Or(r.entry.text("retry_attempts"), "0"))
	switch {
	case err != nil || count < 0 || count > 100:
		j.note("not taken: retry_attempts = %s", r.entry.text("retry_attempts"))
		return
	case count == 0:
		return
	case !runwispDuration().MatchString(delay):
		j.note("not taken: retry_delay = %s", delay)
		delay = "5s"
	}
	text := fmt.Sprintf("{attempts: %d, delay: %s}", count+1, delay)
	switch backoff {
	case "", "constant":
	case "exponential":
		text = fmt.Sprintf("{attempts: %d, delay: %s, backoff: 2}", count+1, delay)
		j.note("there no wait between attempts is longer than 5m: retry.max_delay can say it")
	default:
		j.note("not taken: retry_backoff = %s", backoff)
	}
	j.setPlain("retry", text)
}

// setAccount sets as whom, where and with which mask of files it runs.
func (r *runwispTask) setAccount() {
	j := r.job
	user, group, _ := strings.Cut(r.entry.text("user"), ":")
	j.setAccount("user", user)
	j.setAccount("group", group)
	if mask := r.entry.text("umask"); maskPattern().MatchString(mask) {
		j.setPlain("umask", "0"+strings.TrimLeft(mask, "0o"))
	} else if mask != "" {
		j.note("not taken: umask = %s", mask)
	}
	if dir := r.entry.text("working_dir"); dir != "" {
		if path, ok := runwispPath(dir); ok {
			j.put(crontab.Key{Name: "dir", Value: yamldoc.NewText(path)})
		} else {
			j.note("not taken: working_dir = %s", dir)
		}
	}
}

var maskPattern = humanize.Pattern(`^(0o?)?[0-7]{3}$`)

// runwispPath returns a path in the words of sched. It returns false for one with variables.
func runwispPath(path string) (string, bool) {
	if strings.Contains(path, "${") || strings.Contains(path, "\n") {
		return "", false
	}
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		return "${HOME:-}/" + below, true
	}
	return path, path != "~"
}

// setVariables sets variables, and the files of them.
func (r *runwispTask) setVariables() {
	j, set := r.job, map[string]string{}
	for _, n := range []node{r.defaults, r.entry} {
		names, values := n.at("env").pairs()
		for _, name := range names {
			if value, ok := runwispValue(values[name]); ok && variableName().MatchString(name) {
				set[name] = value
				if value != values[name] {
					j.note("env.%s is without a variable that is not set: there that is an error", name)
				}
			} else {
				j.note("not taken: env.%s", name)
			}
		}
		secrets, _ := n.at("secrets").pairs()
		for _, name := range secrets {
			j.note("not taken: secrets.%s: write it to a file, and name that in env_file", name)
		}
	}
	env := crontab.Key{Name: "env"}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env.Below = append(env.Below, crontab.Key{Name: name, Value: yamldoc.NewText(set[name])})
	}
	if len(set) > 0 {
		j.put(env)
	}
	var files []*yamldoc.Node
	for _, key := range []string{"env_file", "secrets_file"} {
		for _, n := range []node{r.defaults, r.entry} {
			file := n.text(key)
			if path, ok := runwispPath(file); ok && file != "" {
				files = append(files, yamldoc.NewText(path))
			} else if file != "" {
				j.note("not taken: %s = %s", key, file)
			}
		}
	}
	if len(files) > 0 {
		j.put(crontab.Key{Name: "env_file", Value: yamldoc.NewList(files...)})
	}
}

var (
	variableName = humanize.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reference    = humanize.Pattern(`\$\$\{|\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
)

// runwispValue returns a value in the words of sched, in which a variable that is not set is empty.
// It returns false for one that has more than variables, such as the text of a file.
func runwispValue(value string) (string, bool) {
	if strings.Contains(reference().ReplaceAllString(value, ""), "${") {
		return "", false
	}
	return reference().ReplaceAllStringFunc(value, func(found string) string {
		if name, ok := strings.CutSuffix(found, "}"); ok {
			return name + ":-}"
		}
		return found
	}), true
}
