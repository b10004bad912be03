package foreign

import (
	"bufio"
	"cmp"
	"slices"
	"strings"

	"sched/schedule/crontab"
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
	found, others := iniJobs(text)
	if len(found) == 0 {
		all, err := documents(text)
		if err != nil || len(all) == 0 {
			return nil, cmp.Or(err, ErrOther)
		}
		found, others = labelJobs(all[0]), nil
	}
	var jobs []*Job
	for _, o := range found {
		jobs = append(jobs, o.job())
	}
	for _, other := range others {
		if len(jobs) > 0 {
			jobs[0].note("not taken: %s of the whole file", other)
		}
	}
	return jobs, nil
}

// iniJobs reads sections such as [job-exec "name"]. others are settings of [global].
func iniJobs(text string) (found []*ofeliaJob, others []string) {
	lines := bufio.NewScanner(strings.NewReader(text))
	var current *ofeliaJob
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if inner, ok := strings.CutPrefix(line, "["); ok {
			kind, name, _ := strings.Cut(strings.TrimSuffix(inner, "]"), " ")
			current = nil
			if kind, ok := strings.CutPrefix(kind, "job-"); ok {
				current = &ofeliaJob{line: number, kind: kind, name: strings.Trim(name, `" `)}
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
			isIt := func(o *ofeliaJob) bool { return o.kind == kind && o.name == name }
			i := slices.IndexFunc(found, isIt)
			if i < 0 {
				container := cmp.Or(s.text("container_name"), service)
				i = len(found)
				found = append(found, &ofeliaJob{line: line, kind: kind, name: name, container: container})
			}
			found[i].add(parts[len(parts)-1], strings.ReplaceAll(value, "$$", "$"))
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
	words := map[string]string{"exec": "docker exec", "run": "docker run --rm", "local": "",
		"compose": "docker compose"}
	docker, known := words[o.kind]
	if !known {
		return j.refuse("job-%s needs what only ofelia does", o.kind)
	}
	set := map[string]string{}
	container, command := cmp.Or(last("container"), o.container), last("command")
	docker = o.setSettings(j, docker, set)
	if len(set) > 0 {
		j.Keys = append(j.Keys, crontab.EnvKey(set))
	}
	if problem := o.problem(container, last("image")); problem != "" {
		return j.refuse("%s", problem)
	}
	switch o.kind {
	case "exec":
		command = docker + " " + quoteWords(container) + " " + command
	case "run":
		command = docker + " " + quoteWords(last("image")) + " " + command
	case "compose":
		command = "docker compose " + command
	}
	if j.Command = strings.TrimSpace(command); j.Command == "" {
		return j.refuse("it has no command")
	}
	return j
}

// setSettings takes or names each setting, and returns the words of docker with its flags.
func (o *ofeliaJob) setSettings(j *Job, docker string, set map[string]string) string {
	for _, key := range o.order {
		for _, value := range o.settings[key] {
			switch {
			case slices.Contains([]string{"schedule", "command", "container", "image", "tty"}, key):
			case key == "no-overlap" && value == "true":
				j.setPlain("without_overlapping", "true")
			case key == "dir" && docker == "":
				j.set("dir", crontab.Escape(value))
			case key == "environment" && docker == "":
				name, value, _ := strings.Cut(value, "=")
				set[name] = value
			case docker != "" && slices.Contains([]string{"user", "environment", "volume", "network"}, key):
				docker += " --" + strings.Replace(key, "environment", "env", 1) + " " + quoteWords(value)
			default:
				j.note("not taken: %s = %s", key, value)
			}
		}
	}
	return docker
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
