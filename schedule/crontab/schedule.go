package crontab

import (
	"slices"
	"strings"

	"sched/schedule/yamldoc"
)

// A Schedule is what becomes of crontabs.
type Schedule struct {
	Keys     []Key // of the whole file
	Tasks    []*Task
	Findings []Finding
	Secret   bool // a variable, or what is in a command, may be a secret
	MailsTo  bool // cron mails what the tasks without MAILTO print to their user, which the schedule does not
}

// KeyHint returns what is wrong with the key of a comment at a place; "" if it looks like a key.
// onlyOfTasks reports whether no whole file can have a key.
func (s *Schedule) KeyHint(line, column int, onlyOfTasks func(key string) bool) (hint string) {
	all := slices.Clone(s.Keys)
	for _, t := range s.Tasks {
		all = append(all, t.Entry.Keys...)
	}
	for i, k := range all {
		if k.Line != line || k.Column != column {
			continue
		}
		isOfFile := i < len(s.Keys)
		switch {
		case isOfFile && onlyOfTasks(k.Name):
			return "above an empty line a comment is about the whole file: take the empty line out, or write " +
				"defaults." + k.Name + " for all lines"
		case k.Name == systemKey:
			return "it is about the whole file: leave the line below the comment empty"
		case !keyName().MatchString(k.Name):
			return "a key is NAME=VALUE: write several values as [a, b], and a value with blanks or commas in quotes"
		}
	}
	return ""
}

// OmitsLines reports whether a line is not in the schedule.
func (s *Schedule) OmitsLines() bool {
	return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.IsOmitted })
}

// TaskOf returns the task to which a line belongs, with the comment above it, or else the task with
// the name. It returns nil if the schedule has neither.
func (s *Schedule) TaskOf(line int, name string) *Task {
	for _, t := range s.Tasks {
		if line == t.Entry.Line || slices.ContainsFunc(t.Entry.Keys, func(k Key) bool { return k.Line == line }) {
			return t
		}
	}
	if i := slices.IndexFunc(s.Tasks, func(t *Task) bool { return t.Name == name }); i >= 0 {
		return s.Tasks[i]
	}
	return nil
}

// YAML writes the schedule, with a comment line at its top for each line of header.
func (s *Schedule) YAML(header []string) []byte {
	w := &writer{}
	for _, line := range header {
		w.writeLine("%s", strings.TrimRight("# "+line, " "))
	}
	w.writeLine("")
	common := s.common()
	top, env, defaults := s.splitFileKeys(common)
	for _, keys := range [][]Key{nested(top), (&Task{}).envKeys(common.Env, env)} {
		if len(keys) > 0 {
			w.writeKeys("", keys)
			w.writeLine("")
		}
	}
	w.writeLine("defaults:")
	w.writeLine("  background: true")
	w.writeKeys("  ", common.keys())
	w.writeKeys("  ", nested(defaults))
	w.writeLine("")
	if len(s.Tasks) == 0 {
		w.writeLine("tasks: []")
		return []byte(w.String())
	}
	w.writeLine("tasks:")
	for i, t := range s.Tasks {
		if i > 0 {
			w.writeLine("")
		}
		if (i == 0 || s.Tasks[i-1].Source != t.Source) && s.Tasks[0].Source != s.Tasks[len(s.Tasks)-1].Source {
			w.writeLine("  # %s\n", printable(t.Source))
		}
		w.writeTask(t, common)
	}
	return []byte(w.String())
}

// splitFileKeys returns the keys of the whole file: the keys at the top, the variables, and the
// defaults. It leaves out variables and defaults that common has, too: what the lines of the
// crontab say wins over a comment.
func (s *Schedule) splitFileKeys(common surroundings) (top, env, defaults []Key) {
	shared := common.keys()
	isCommon := func(k Key) bool {
		above, _, _ := strings.Cut(k.Name, ".")
		return above == "background" || slices.ContainsFunc(shared, func(c Key) bool { return c.Name == above })
	}
	top = slices.DeleteFunc(slices.Clone(s.Keys), func(k Key) bool {
		return strings.HasPrefix(k.Name, "env.") || strings.HasPrefix(k.Name, "defaults.")
	})
	isCommonVariable := func(k Key) bool { _, ok := common.Env[strings.TrimPrefix(k.Name, "env.")]; return ok }
	env = slices.DeleteFunc(keysBelow("env", s.Keys), isCommonVariable)
	return top, env, slices.DeleteFunc(keysBelow("defaults", s.Keys), func(k Key) bool {
		return isCommon(k) || strings.HasPrefix(k.Name, "env.") && isCommonVariable(k)
	})
}

// Document returns the schedule that YAML writes, with the places of the crontab. Each task says
// all that it has.
func (s *Schedule) Document() *yamldoc.Node {
	var tasks []*yamldoc.Node
	for _, t := range s.Tasks {
		var keys []Key
		if !t.sets("name") {
			keys = append(keys, t.key("name", yamldoc.NewText(t.Name), ""))
		}
		if !t.sets("background") {
			keys = append(keys, t.key("background", yamldoc.NewBool(true), ""))
		}
		tasks = append(tasks, document(append(keys, t.keys(surroundings{Shell: DefaultShell})...)))
	}
	list := Key{Name: "tasks", Value: yamldoc.NewList(tasks...), Line: 1, Column: 1}
	return document(append(nested(s.Keys), list))
}

// common returns the surroundings that become defaults of the schedule. A value that a task can
// override is the value of most tasks; any other value is one that all tasks have.
func (s *Schedule) common() surroundings {
	all := surroundings{Env: Variables{}, Shell: DefaultShell}
	if len(s.Tasks) == 0 {
		all.Dir = "${HOME}"
		return all
	}
	for name := range s.Tasks[0].Env { // a task can give a variable another value, and cannot be without it
		if !slices.ContainsFunc(s.Tasks, func(t *Task) bool { _, has := t.Env[name]; return !has }) {
			all.Env[name] = mostCommon(s.Tasks, func(t *Task) string { return t.Env[name] })
		}
	}
	all.Dir = mostCommon(s.Tasks, func(t *Task) string { return t.Dir })
	all.User = mostCommon(s.Tasks, func(t *Task) string { return t.User })
	// Hooks there have the shell of the defaults.
	ofDefaults := func(k Key) bool { return strings.HasPrefix(k.Name, "defaults.") }
	if !slices.ContainsFunc(s.Keys, ofDefaults) {
		all.Shell = mostCommon(s.Tasks, func(t *Task) string { return t.Shell })
	}
	zone := mostCommon(s.Tasks, func(t *Task) string { return t.Timezone })
	if !slices.ContainsFunc(s.Tasks, func(t *Task) bool { return t.Timezone != zone }) {
		all.Timezone = zone
	}
	ownHooks := func(k Key) bool { return strings.HasPrefix(k.Name, "defaults.after") }
	setsAfter := func(t *Task) bool { return t.sets("after") }
	if slices.ContainsFunc(s.Tasks, setsAfter) || slices.ContainsFunc(s.Keys, ownHooks) {
		return all // hooks of a task add to the hooks of the defaults, and these replace MAILTO
	}
	mail := mostCommon(s.Tasks, func(t *Task) string { return strings.Join(t.Mail, ",") })
	if mail != "" && len(s.Tasks) > 1 {
		all.Mail = strings.Split(mail, ",")
	}
	return all
}
