package foreign

import (
	"cmp"
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// An ofeliaJob is a job as its words say it, with the place of the first.
type ofeliaJob struct {
	line       int
	kind, name string
	container  string // that has the label
	settings   map[string][]string
	order      []string
}

func (o *ofeliaJob) add(key, value string) {
	if o.settings == nil {
		o.settings = map[string][]string{}
	}
	if o.settings[key] == nil {
		o.order = append(o.order, key)
	}
	o.settings[key] = append(o.settings[key], value)
}

// readOfelia reads an INI file, or the labels of a Compose file.
func readOfelia(text string) ([]*Job, error) {
	var all []node
	found, others := iniJobs(text)
	if len(found) == 0 {
		var err error
		if all, err = documents(text); err != nil || len(all) == 0 {
			return nil, cmp.Or(err, ErrOther)
		}
		found, others = labelJobs(all[0]), nil
	}
	var jobs []*Job
	for _, o := range found {
		jobs = append(jobs, o.job())
	}
	for _, other := range others {
		noteWholeFile(jobs, "not taken: %s of the whole file", other)
	}
	noteDocuments(jobs, all)
	return jobs, nil
}

// iniJobs reads sections such as [job-exec "name"]. others are settings of [global].
func iniJobs(text string) (found []*ofeliaJob, others []string) {
	var current *ofeliaJob
	for number, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if inner, ok := strings.CutPrefix(line, "["); ok {
			kind, name, _ := strings.Cut(strings.TrimSuffix(inner, "]"), " ")
			current = nil
			if kind, ok := strings.CutPrefix(kind, "job-"); ok {
				current = &ofeliaJob{line: number + 1, kind: kind, name: strings.Trim(name, `" `)}
				found = append(found, current)
			}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if current == nil {
			others = append(others, strings.TrimSpace(key))
			continue
		}
		if value = strings.TrimSpace(value); len(value) > 1 && strings.Count(value, `"`) == 2 && value[0] == '"' &&
			value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		current.add(strings.ToLower(strings.TrimSpace(key)), value)
	}
	return found, others
}

// labelJobs reads labels such as ofelia.job-exec.NAME.schedule, in both forms of a Compose file.
func labelJobs(compose node) (found []*ofeliaJob) {
	places := map[[2]string]*ofeliaJob{} // by kind and name
	services := compose.at("services")
	names, _ := services.pairs()
	for _, service := range names {
		s := services.at(service)
		labels := s.at("labels")
		add := func(line int, label, value string) {
			parts := strings.Split(label, ".")
			if len(parts) < 4 || parts[0] != "ofelia" || !strings.HasPrefix(parts[1], "job-") {
				return
			}
			kind, name := strings.TrimPrefix(parts[1], "job-"), strings.Join(parts[2:len(parts)-1], ".")
			o := places[[2]string{kind, name}]
			if o == nil {
				container := cmp.Or(s.text("container_name"), service)
				o = &ofeliaJob{line: line, kind: kind, name: name, container: container}
				places[[2]string{kind, name}], found = o, append(found, o)
			}
			o.add(parts[len(parts)-1], strings.ReplaceAll(value, "$$", "$"))
		}
		for _, item := range labels.items() {
			label, value, _ := strings.Cut(item.Value, "=")
			add(item.Line, label, value)
		}
		if labels.IsMapping() {
			for key, value := range labels.Pairs() {
				add(key.Line, key.Value, value.Value)
			}
		}
	}
	return found
}

// job makes a job. Each setting is taken or named.
func (o *ofeliaJob) job() *Job {
	j := &Job{Line: o.line, Name: o.name}
	last := func(key string) string {
		values := o.settings[key]
		if len(values) == 0 {
			return ""
		}
		return values[len(values)-1]
	}
	expression := last("schedule")
	if fields := strings.Fields(expression); len(fields) == 6 && fields[0] == "0" {
		expression = strings.Join(fields[1:], " ") // the second, which comes first
	} else if len(fields) == 6 {
		j.notSame = "not compared: it has seconds"
	}
	j.Expressions = []string{expression}
	start, known := map[string]string{"exec": "docker exec", "run": "docker run --rm", "local": ""}[o.kind]
	if !known {
		return j.refuse("job-%s needs what only ofelia does", o.kind)
	}
	words, isPlain := ofeliaWords(last("command"))
	if !isPlain {
		return j.refuse("ofelia has no shell: put what its command needs into a script (%s)", last("command"))
	}
	container := cmp.Or(last("container"), o.container)
	if problem := o.problem(container, last("image")); problem != "" {
		return j.refuse("%s", problem)
	}
	start += o.setSettings(j)
	switch o.kind {
	case "exec":
		words = append([]string{container}, words...)
	case "run":
		words = append([]string{last("image")}, words...)
	}
	if j.Command = strings.TrimSpace(start + " " + quoteWords(words...)); j.Command == "" {
		return j.refuse("it has no command")
	}
	return j
}

// ofeliaWord is a word of a command, in quotes or without any.
var ofeliaWord = humanize.Pattern(`^\s*(?:'([^']*)'|"([^"]*)"|([^\s'"|><#{(\[][^\s'"]*))(?:\s+|$)`)

// ofeliaWords returns the words of a command, which no shell reads. It returns false for a command
// that has more than words, some of them in quotes.
func ofeliaWords(command string) (words []string, ok bool) {
	if strings.ContainsAny(command, "\\`") {
		return nil, false
	}
	for rest := strings.TrimSpace(command); rest != ""; {
		at := ofeliaWord().FindStringSubmatch(rest)
		if at == nil {
			return nil, false
		}
		words, rest = append(words, at[1]+at[2]+at[3]), rest[len(at[0]):]
	}
	return words, true
}

// setSettings takes or names each setting, and returns flags of docker.
func (o *ofeliaJob) setSettings(j *Job) (flags string) {
	set := map[string]string{}
	taken := map[string][]string{"local": {"dir", "environment"}, "exec": {"user", "environment"},
		"run": {"user", "environment", "volume", "network"}}[o.kind]
	if o.settings["user"] == nil && o.kind != "local" {
		flags = " --user root"
	}
	for _, key := range o.order {
		for _, value := range o.settings[key] {
			name, text, _ := strings.Cut(value, "=")
			switch {
			case slices.Contains([]string{"schedule", "command", "container", "image", "tty"}, key),
				key == "no-overlap" && value == "false":
			case key == "no-overlap" && value == "true":
				j.setPlain("without_overlapping", "true")
			case !slices.Contains(taken, key), key == "environment" && !variableName().MatchString(name):
				j.note("not taken: %s = %s", key, value)
			case o.kind == "local" && key == "dir":
				j.set("dir", value)
			case o.kind == "local":
				set[name] = text
			default:
				flags += " --" + strings.Replace(key, "environment", "env", 1) + " " + quoteWords(value)
			}
		}
	}
	j.setEnv(set)
	return flags
}

// problem says why no command starts the job; "" if one does.
func (o *ofeliaJob) problem(container, image string) string {
	switch {
	case o.kind == "exec" && container == "":
		return "it names no container"
	case o.kind == "run" && image == "":
		return "it starts a container that is there, which docker start does: it has no image"
	}
	return ""
}
