package schedule

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// As says as whom the commands and hooks of a task run, and with what umask and priority. What is
// empty or nil they have from sched itself. Whether a user exists depends on the machine, so nothing
// is looked up here.
type As struct {
	User  string `json:"user,omitempty"`  // a name or a uid
	Group string `json:"group,omitempty"` // a name or a gid; empty: the group of the user
	Umask *int   `json:"umask,omitempty"` // 0 to 0o777
	Nice  *int   `json:"nice,omitempty"`  // -20 to 19, as getpriority(2) counts
}

// account reads the name or the number of a user or a group.
func (l *loader) account(n *yaml.Node) (string, bool) {
	text, ok := l.filledExpanded(n)
	if !ok {
		return "", false
	}
	if user, group, both := strings.Cut(text, ":"); both && l.key == "user" && user != "" && group != "" {
		l.bad(n, "write user: "+shorten(user)+" and group: "+shorten(group), "user %s names a group, too", quote(text))
		return "", false
	}
	if strings.ContainsAny(text, ": \t\r\n/,") {
		l.bad(n, "write a name as in /etc/passwd or /etc/group, or a number", "%s %s cannot be a name", l.key, quote(text))
		return "", false
	}
	return text, true
}

// readGroup reads the one key that has two meanings: the name of a group of tasks, and the group
// that a task runs as.
func readGroup(l *loader, e *entry, n *yaml.Node) {
	if !e.isGroup {
		e.As.Group, _ = l.account(n)
		return
	}
	if text, ok := l.text(n); ok && l.validName(n, text) {
		e.group = text
	}
}

// readUmask reads an umask as the shell does, in octal. YAML takes 027 for octal and 27 for decimal,
// and the shell takes both for octal: so the leading zero must be there.
func readUmask(l *loader, e *entry, n *yaml.Node) {
	text, ok := l.text(n)
	if !ok {
		return
	}
	digits, marked := strings.CutPrefix(text, "0o")
	if !marked {
		digits, marked = strings.CutPrefix(text, "0")
		marked = marked || text == "0"
	}
	mask, err := strconv.ParseUint("0"+digits, 8, 32)
	switch {
	case err != nil || strings.Contains(digits, "_") || digits == "" && text != "0":
		l.bad(n, "write it in octal, as 027", "umask %s is not an octal number", quote(text))
	case !marked:
		l.bad(n, "write 0"+shorten(text), "umask %s may be octal or decimal", shorten(text))
	case mask > 0o777:
		l.bad(n, "", "umask %s is more than 0777", shorten(text))
	default:
		value := int(mask)
		e.As.Umask = &value
	}
}

// readEnvFiles reads one path or a list; [] takes away those of the group or the defaults.
func readEnvFiles(l *loader, e *entry, n *yaml.Node) {
	var files []string
	l.each(n, func(item *yaml.Node) bool {
		file, ok := l.path(item)
		files = append(files, file)
		return ok
	})
	e.EnvFiles = files
}
