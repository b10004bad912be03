package load

import (
	"slices"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/document"
)

// setCommand reads what a task runs; it replaces an inherited command. It comes after shell in its table.
func setCommand(l *loader, t *taskDraft, n *node) {
	t.hasCommand = true
	t.Command, _ = readCommand(l, n, t.shell)
}

// readCommand reads what to run: a text for the shell, or a list that is run without one.
func readCommand(l *loader, n *node, shell []string) (schedule.Command, bool) {
	if n.IsMapping() {
		l.Problemf(n, "", "%s must be text or a list, not a mapping", l.Key)
		return schedule.Command{}, false
	}
	if n.IsList() {
		list, ok := readArguments(l, n)
		return schedule.Command{List: list}, ok
	}
	line, ok := l.NonEmptyText(n)
	return schedule.Command{Line: line, Shell: shell}, ok
}

// readArguments reads a list of a program and its arguments, which may be empty texts.
func readArguments(l *loader, n *node) ([]string, bool) {
	if !l.RefuseEmptyList(n, "") {
		return nil, false
	}
	items := n.Items()
	list := make([]string, 0, len(items))
	for i, item := range items {
		read := l.Text
		if i == 0 {
			read = l.NonEmptyText
		}
		text, ok := read(item)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// readShell reads the program, with its arguments, that runs commands which are texts.
func readShell(l *loader, n *node) ([]string, bool) {
	hint := ""
	if n.IsScalar() {
		hint = "write [" + document.Shorten(n.Value) + ", -c]"
	}
	if !l.RequireList(n, hint) {
		return nil, false
	}
	return readArguments(l, n)
}

// setConditionCommand reads the command of when or skip, which takes the place of an inherited one of the same key; an
// empty list and skip: false take that away. when: false could mean never as well, and is refused. when runs before
// skip, wherever they stand.
func setConditionCommand(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() && l.Key == "when" {
		l.Problemf(n, "write [] against one that is inherited, or `enabled: false` for a task that never runs", "when: %s may mean that the task never runs, or that nobody is asked", n.Value)
		return
	}
	var commands []schedule.ConditionCommand
	for _, c := range t.ConditionCommands {
		if c.Key != l.Key {
			commands = append(commands, c)
		}
	}
	if !n.IsFalse() && (!n.IsList() || !n.IsEmpty()) {
		command, _ := readCommand(l, n, t.shell)
		commands = append(commands, schedule.ConditionCommand{Key: l.Key, Command: command})
	}
	if len(commands) == 2 && commands[0].Key == "skip" {
		commands[0], commands[1] = commands[1], commands[0]
	}
	t.ConditionCommands = commands
}

// readVariables reads a mapping of variables, and returns them together with those that are inherited.
func readVariables(l *loader, n *node, inherited map[string]string) map[string]string {
	if n.IsList() {
		l.Problemf(n, "write {NAME: value}, or a line `NAME: value` for each, without \"-\"", "%s must be a mapping of keys and values, not a list", l.Key)
		return inherited
	}
	if !l.RequireMapping(n, l.Key) {
		return inherited
	}
	all := make(map[string]string, len(inherited)+8)
	for name, value := range inherited {
		all[name] = value
	}
	above := l.Key
	own := make(map[string]*node)
	for name, value := range n.Pairs() {
		l.Key = above
		if !name.IsScalar() {
			l.Problemf(name, "", "a key must be text, not %s", name.Describe())
			continue
		}
		if first := own[name.Value]; first != nil {
			l.Problemf(name, "", "%s: %s is given twice, first at line %d", above, document.Quote(name.Value), first.Line)
			continue
		}
		own[name.Value] = name
		if name.Value == "" || len(name.Value) > 256 || strings.ContainsAny(name.Value, "=\x00") {
			l.Problemf(name, "", "%s: %s cannot name a variable", above, document.Quote(name.Value))
			continue
		}
		l.Key = above + "." + document.Shorten(name.Value)
		l.Trace(name, value)
		if text, ok := readVariable(l, value); ok {
			all[name.Value] = text
		}
	}
	l.Key = above
	return all
}

// readVariable reads the value of one variable. It holds no file: env is part of the snapshot of each run.
func readVariable(l *loader, n *node) (string, bool) {
	if n.IsNull() {
		return "", l.RequireValue(n, `write "" for an empty one`)
	}
	if strings.Contains(n.Value, "${file:") {
		l.Problemf(n, "put the variable into a file for `env_file`, or let the command read this one", "%s: what is in env is written down with every run, which is no place for the text of a file", l.Key)
		return "", false
	}
	return l.Expanded(n)
}

// setEnv reads variables of commands, beside those that are inherited; false takes away those of the group and the
// defaults, and leaves those of the file.
func setEnv(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Forget()
		t.Env, t.EnvOver = l.bare.Env, nil
		return
	}
	t.Env = readVariables(l, n, t.Env)
	for name := range n.Pairs() {
		t.ownEnv = append(t.ownEnv, name.Value)
	}
	t.EnvOver = slices.Concat(t.EnvOver, t.ownEnv)
}

// setEnvFiles reads the files of a level, which take the place of those of the levels above and win over their variables,
// but not over those that stand in env beside them. It comes after env in its table.
func setEnvFiles(l *loader, t *taskDraft, n *node) {
	replaces(func(t *taskDraft) *[]string { return &t.EnvFiles }, readEnvFiles)(l, t, n)
	t.EnvOver = t.ownEnv
}

// readEnvFiles reads one path or a list; [] takes away those of the group or the defaults.
func readEnvFiles(l *loader, n *node) (paths []string, ok bool) {
	ok = n.Each(func(item *node) bool {
		if !l.RefuseBool(item, "write false for none") {
			return false
		}
		path, ok := l.Path(item)
		paths = append(paths, path)
		return ok
	})
	return paths, ok
}

// readAccount reads the name or the number of a user or a group.
func readAccount(l *loader, n *node) (string, bool) {
	text, ok := l.NonEmptyExpanded(n)
	if !ok {
		return "", false
	}
	if user, group, both := strings.Cut(text, ":"); both && l.Key == "user" && user != "" && group != "" {
		l.Problemf(n, "write user: "+document.Shorten(user)+" and group: "+document.Shorten(group), "user %s names a group, too", document.Quote(text))
		return "", false
	}
	if strings.ContainsAny(text, ": \t\r\n/,") {
		l.Problemf(n, "write a name as in /etc/passwd or /etc/group, or a number", "%s %s cannot be a name", l.Key, document.Quote(text))
		return "", false
	}
	return text, true
}

// readUmask reads an umask as the shell does, in octal. YAML takes 027 for octal and 27 for decimal,
// and the shell takes both for octal: so the leading zero must be there.
func readUmask(l *loader, n *node) (*int, bool) {
	text, ok := l.Text(n)
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
		l.Problemf(n, "write it in octal, as 027", "umask %s is not an octal number", document.Quote(text))
	case !marked:
		l.Problemf(n, "write 0"+document.Shorten(text), "umask %s may be octal or decimal", document.Shorten(text))
	case mask > 0o777:
		l.Problemf(n, "", "umask %s is more than 0777", document.Shorten(text))
	default:
		value := int(mask)
		return &value, true
	}
	return nil, false
}

// readNice reads a priority as getpriority(2) counts.
func readNice(l *loader, n *node) (*int, bool) {
	nice, ok := l.Integer(n, -20, 19)
	return &nice, ok
}
