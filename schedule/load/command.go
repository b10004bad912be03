package load

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

func setCommand(l *loader, t *taskDraft, n *node) {
	t.hasCommand = true
	t.Command, _ = readCommand(l.Reader, n, t.shell)
}

// setConditionCommand reads the command of when or skip, which replaces the inherited one of that
// key; an empty list and skip: false remove it. when: false is refused: it could mean never. when
// runs before skip.
func setConditionCommand(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() && l.Key == "when" {
		l.Problemf(n, "write [] against one that is inherited, or `enabled: false` for a task that never runs",
			"when: %s may mean that the task never runs, or that nobody is asked", n.Value)
		return
	}
	var commands []schedule.ConditionCommand
	for _, c := range t.ConditionCommands {
		if c.Key != l.Key {
			commands = append(commands, c)
		}
	}
	if !n.IsFalse() && (!n.IsList() || !n.IsEmpty()) {
		command, _ := readCommand(l.Reader, n, t.shell)
		commands = append(commands, schedule.ConditionCommand{Key: l.Key, Command: command})
	}
	if len(commands) == 2 && commands[0].Key == "skip" {
		commands[0], commands[1] = commands[1], commands[0]
	}
	t.ConditionCommands = commands
}

// setEnv adds variables to the inherited variables. false leaves only the variables from the top of
// the file.
func setEnv(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Origins.Forget(l.Key)
		t.Env, t.EnvOverrides = l.bare.Env, nil
		return
	}
	t.Env = readVariables(l.Reader, n, t.Env)
	for name := range n.Pairs() {
		t.ownEnv = append(t.ownEnv, name.Value)
	}
	t.EnvOverrides = slices.Concat(t.EnvOverrides, t.ownEnv)
}

// setEnvFiles replaces inherited files, with [] by no file. The files win over inherited variables,
// but not over env of the same level.
func setEnvFiles(l *loader, t *taskDraft, n *node) {
	replaces(func(t *taskDraft) *[]string { return &t.EnvFiles }, listOf(readEnvFile)).set(l, t, n)
	t.EnvOverrides = t.ownEnv
}

// readCommand reads what to run: a text for the shell, or a list that is run without one.
func readCommand(r *yamldoc.Reader, n *yamldoc.Node, shell []string) (schedule.Command, bool) {
	if n.IsMapping() {
		r.Problemf(n, "", "%s must be text or a list, not a mapping", r.Key)
		return schedule.Command{}, false
	}
	if n.IsList() {
		list, ok := readArguments(r, n)
		return schedule.Command{List: list}, ok
	}
	line, ok := r.NonEmptyText(n)
	return schedule.Command{Line: line, Shell: shell}, ok
}

// readArguments reads a list of a program and its arguments, which may be empty texts.
func readArguments(r *yamldoc.Reader, n *yamldoc.Node) ([]string, bool) {
	if !r.RefuseEmptyList(n, "") {
		return nil, false
	}
	items := n.Items()
	list := make([]string, 0, len(items))
	for i, item := range items {
		read := r.Text
		if i == 0 {
			read = r.NonEmptyText
		}
		text, ok := read(item)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

func readShell(r *yamldoc.Reader, n *yamldoc.Node) ([]string, bool) {
	hint := ""
	if n.IsScalar() {
		hint = "write [" + yamldoc.Shorten(n.Value) + ", -c]"
	}
	if !r.RequireList(n, hint) {
		return nil, false
	}
	return readArguments(r, n)
}

// readVariables reads a mapping of variables, and returns them together with the inherited ones.
func readVariables(r *yamldoc.Reader, n *yamldoc.Node, inherited map[string]string) map[string]string {
	if n.IsList() {
		r.Problemf(n, "write {NAME: value}, or a line `NAME: value` for each, without \"-\"",
			"%s must be a mapping of keys and values, not a list", r.Key)
		return inherited
	}
	if !r.RequireMapping(n, r.Key) {
		return inherited
	}
	all := make(map[string]string, len(inherited)+8)
	maps.Copy(all, inherited)
	above := r.Key
	for name, value := range yamldoc.Named(r, n) {
		if name.Value == "" || len(name.Value) > 256 || strings.ContainsAny(name.Value, "=\x00") {
			r.Problemf(name, "", "%s: %s cannot name a variable", above, yamldoc.Quote(name.Value))
			continue
		}
		r.Key = above + "." + yamldoc.Shorten(name.Value)
		r.Trace(name, value)
		if text, ok := readVariable(r, value); ok {
			all[name.Value] = text
		}
	}
	return all
}

// readVariable reads the value of one variable. The value must not take in a file, because env is
// part of each run's snapshot.
func readVariable(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	if n.IsNull() {
		return "", r.RequireValue(n, `write "" for an empty one`)
	}
	if strings.Contains(n.Value, "${file:") {
		r.Problemf(n, "put the variable into a file for `env_file`, or let the command read this one",
			"%s: what is in env is written down with every run, which is no place for the text of a file", r.Key)
		return "", false
	}
	return r.Expanded(n)
}

func readEnvFile(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	if !r.RefuseBool(n, "write false for none") {
		return "", false
	}
	return r.Path(n)
}

// readAccount reads the name or the number of a user or a group.
func readAccount(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	text, ok := r.NonEmptyExpanded(n)
	if !ok {
		return "", false
	}
	if user, group, both := strings.Cut(text, ":"); both && r.Key == "user" && user != "" && group != "" {
		r.Problemf(n, "write user: "+yamldoc.Shorten(user)+" and group: "+yamldoc.Shorten(group),
			"user %s names a group, too", yamldoc.Quote(text))
		return "", false
	}
	if strings.ContainsAny(text, ": \t\r\n/,") {
		r.Problemf(n, "write a name as in /etc/passwd or /etc/group, or a number",
			"%s %s cannot be a name", r.Key, yamldoc.Quote(text))
		return "", false
	}
	return text, true
}

// readUmask reads an octal umask. It needs the leading zero: YAML takes 27 for decimal, shells do
// not.
func readUmask(r *yamldoc.Reader, n *yamldoc.Node) (*int, bool) {
	text, ok := r.Text(n)
	if !ok {
		return nil, false
	}
	digits, marked := strings.CutPrefix(text, "0o")
	if !marked {
		digits, marked = strings.CutPrefix(text, "0")
		marked = marked || text == "0"
	}
	mask, err := strconv.ParseUint("0"+digits, 8, 32)
	switch {
	case err != nil || strings.Contains(digits, "_") || digits == "" && text != "0":
		r.Problemf(n, "write it in octal, as 027", "umask %s is not an octal number", yamldoc.Quote(text))
	case !marked:
		r.Problemf(n, "write 0"+yamldoc.Shorten(text), "umask %s may be octal or decimal", yamldoc.Shorten(text))
	case mask > 0o777:
		r.Problemf(n, "", "umask %s is more than 0777", yamldoc.Shorten(text))
	default:
		value := int(mask)
		return &value, true
	}
	return nil, false
}

// readNice reads a priority as getpriority(2) counts.
func readNice(r *yamldoc.Reader, n *yamldoc.Node) (*int, bool) {
	nice, ok := r.Integer(n, -20, 19)
	return &nice, ok
}
