package values

import (
	"maps"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// Command reads what to run: a text for the shell, or a list that is run without one.
func Command(r *yamldoc.Reader, n *yamldoc.Node, shell []string) (schedule.Command, bool) {
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

// Shell reads the program, with its arguments, that runs commands which are texts.
func Shell(r *yamldoc.Reader, n *yamldoc.Node) ([]string, bool) {
	hint := ""
	if n.IsScalar() {
		hint = "write [" + yamldoc.Shorten(n.Value) + ", -c]"
	}
	if !r.RequireList(n, hint) {
		return nil, false
	}
	return readArguments(r, n)
}

// Variables reads a mapping of variables, and returns them together with those that are inherited.
func Variables(r *yamldoc.Reader, n *yamldoc.Node, inherited map[string]string) map[string]string {
	if n.IsList() {
		r.Problemf(n, "write {NAME: value}, or a line `NAME: value` for each, without \"-\"", "%s must be a mapping of keys and values, not a list", r.Key)
		return inherited
	}
	if !r.RequireMapping(n, r.Key) {
		return inherited
	}
	all := make(map[string]string, len(inherited)+8)
	maps.Copy(all, inherited)
	above := r.Key
	own := make(map[string]*yamldoc.Node)
	for name, value := range n.Pairs() {
		r.Key = above
		if !name.IsScalar() {
			r.Problemf(name, "", "a key must be text, not %s", name.Describe())
			continue
		}
		if first := own[name.Value]; first != nil {
			r.Problemf(name, "", "%s: %s is given twice, first at line %d", above, yamldoc.Quote(name.Value), r.PlaceOf(first).Line)
			continue
		}
		own[name.Value] = name
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
	r.Key = above
	return all
}

// readVariable reads the value of one variable. It holds no file: env is part of the snapshot of each run.
func readVariable(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	if n.IsNull() {
		return "", r.RequireValue(n, `write "" for an empty one`)
	}
	if strings.Contains(n.Value, "${file:") {
		r.Problemf(n, "put the variable into a file for `env_file`, or let the command read this one", "%s: what is in env is written down with every run, which is no place for the text of a file", r.Key)
		return "", false
	}
	return r.Expanded(n)
}

// EnvFiles reads one path or a list; [] takes away those of the group or the defaults.
func EnvFiles(r *yamldoc.Reader, n *yamldoc.Node) (paths []string, ok bool) {
	return yamldoc.Collect(n, func(item *yamldoc.Node) (string, bool) {
		if !r.RefuseBool(item, "write false for none") {
			return "", false
		}
		return r.Path(item)
	})
}

// Account reads the name or the number of a user or a group.
func Account(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	text, ok := r.NonEmptyExpanded(n)
	if !ok {
		return "", false
	}
	if user, group, both := strings.Cut(text, ":"); both && r.Key == "user" && user != "" && group != "" {
		r.Problemf(n, "write user: "+yamldoc.Shorten(user)+" and group: "+yamldoc.Shorten(group), "user %s names a group, too", yamldoc.Quote(text))
		return "", false
	}
	if strings.ContainsAny(text, ": \t\r\n/,") {
		r.Problemf(n, "write a name as in /etc/passwd or /etc/group, or a number", "%s %s cannot be a name", r.Key, yamldoc.Quote(text))
		return "", false
	}
	return text, true
}

// Umask reads an octal umask. It needs the leading zero: YAML takes 27 for decimal, shells do not.
func Umask(r *yamldoc.Reader, n *yamldoc.Node) (*int, bool) {
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

// Nice reads a priority as getpriority(2) counts.
func Nice(r *yamldoc.Reader, n *yamldoc.Node) (*int, bool) {
	nice, ok := r.Integer(n, -20, 19)
	return &nice, ok
}
