package load

import (
	"path/filepath"
	"strings"

	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// nameOf returns a valid name for a folder that may be called anything.
func nameOf(text string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && inName(byte(r)) {
			return r
		}
		return '-'
	}, text)
	name = strings.TrimLeft(name, "._:/-")
	if name == "" {
		return "sched"
	}
	return name[:min(len(name), longestName)]
}

// longestName is in bytes.
const longestName = 128

// readName reads the name of a task, a group or a mutex.
func readName(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	if !r.RefuseBool(n, yamldoc.QuotesHint) {
		return "", false
	}
	text, ok := r.Text(n)
	return text, ok && requireName(r, n, text)
}

// requireName refuses a text that cannot name a task, a group, a mutex or the schedule.
func requireName(r *yamldoc.Reader, n *yamldoc.Node, text string) bool {
	valid := text != "" && !strings.ContainsRune("._:/-", rune(text[0]))
	for i := range len(text) {
		valid = valid && inName(text[i])
	}
	if valid && len(text) <= longestName {
		return true
	}
	what := r.Key + " " + yamldoc.Quote(text)
	if r.Key == "group" { // which the message names already
		what = "this"
	}
	switch {
	case text == "":
		r.Problemf(n, "", "%s is empty", r.Key)
	case !valid:
		r.Problemf(n, "use letters, digits and . _ : / -, and begin with a letter or a digit", "%s is not a valid name", what)
	default:
		r.Problemf(n, "", "%s is longer than 128 characters", what)
	}
	return false
}

func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '.' || c == '_' || c == ':' || c == '/' || c == '-'
}

// readScheduleName reads the name of the schedule, which may be a variable.
func readScheduleName(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	if !r.RefuseBool(n, yamldoc.QuotesHint) {
		return "", false
	}
	text, ok := r.Expanded(n)
	return text, ok && requireName(r, n, text)
}

// readTags reads one word or a list of them.
func readTags(r *yamldoc.Reader, n *yamldoc.Node) ([]string, bool) {
	return yamldoc.Collect(n, func(item *yamldoc.Node) (string, bool) {
		if !r.RefuseBool(item, yamldoc.QuotesHint) {
			return "", false
		}
		return r.NonEmptyText(item)
	})
}

// readDescription reads what a task is for.
func readDescription(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	if !r.RefuseBool(n, "say what the task is for, or leave the key out") {
		return "", false
	}
	return r.Text(n)
}

// readServer reads the name of this machine. An empty name means the name of the host.
func readServer(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	if !r.RefuseBool(n, "leave the key out for the host name") {
		return "", false
	}
	name, ok := r.Expanded(n)
	if ok && name != "" && !placement.ValidName(name) {
		r.Problemf(n, "use letters, digits and . _ -, and begin with a letter or a digit", "%s %s is not a valid name", r.Key, yamldoc.Quote(name))
		return "", false
	}
	return name, ok
}

// readTextfile reads the path of a file of metrics.
func readTextfile(r *yamldoc.Reader, n *yamldoc.Node) (string, bool) {
	path, ok := r.Path(n)
	if ok && filepath.Ext(path) != ".prom" {
		r.Warnf(n, "call it "+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".prom",
			"%s: the node exporter reads only files that end in .prom", r.Key)
	}
	return path, ok
}
