package schedule

import (
	"math"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// settings are the top-level keys as the file has them.
type settings struct {
	name, stateDir           string
	defaults, tasks, include *yaml.Node
	store, lease             *yaml.Node
}

var topKeys = keys[settings]{
	elsewhere: func(name string, _ scope) string {
		if taskWord(name) {
			return "it is a key of tasks: put it into a task, or under `defaults:` for all of them"
		}
		return ""
	},
	list: []key[settings]{
		{"name", 0, func(l *loader, s *settings, n *yaml.Node) {
			if text, ok := l.expanded(n); ok && l.validName(n, text) {
				s.name = text
			}
		}},
		{"timezone", 0, func(l *loader, s *settings, n *yaml.Node) {
			if zone, ok := l.zone(n); ok {
				l.schedule.Location = zone
			}
		}},
		{"environment", 0, func(l *loader, s *settings, n *yaml.Node) {
			if text, ok := l.filledExpanded(n); ok {
				l.schedule.Environment = text
			}
		}},
		{"store", 0, readStore},
		{"lease", 0, readLease},
		{"state_dir", 0, func(l *loader, s *settings, n *yaml.Node) { s.stateDir, _ = l.path(n) }},
		{"env", 0, func(l *loader, s *settings, n *yaml.Node) { l.env = l.variables(n, nil) }},
		{"include", 0, func(l *loader, s *settings, n *yaml.Node) { s.include = n }},
		{"history", 0, func(l *loader, s *settings, n *yaml.Node) {
			if l.isMapping(n, l.key) {
				historyKeys.decode(l, &l.schedule.History, n, 0)
			}
		}},
		{"metrics", 0, readMetrics},
		{"mail", 0, readMail},
		{"holidays", 0, readHolidays},
		{"maintenance_file", 0, func(l *loader, s *settings, n *yaml.Node) { l.schedule.Maintenance, _ = l.path(n) }},
		{"defaults", 0, func(l *loader, s *settings, n *yaml.Node) { s.defaults = n }},
		{"tasks", 0, func(l *loader, s *settings, n *yaml.Node) { s.tasks = n }},
	},
}

var historyKeys = keys[History]{list: []key[History]{
	{"keep", 0, func(l *loader, h *History, n *yaml.Node) {
		if d, ok := l.duration(n, time.Minute); ok {
			h.Keep = d
		}
	}},
	{"runs_per_task", 0, func(l *loader, h *History, n *yaml.Node) {
		if v, ok := l.whole(n, 1, math.MaxInt32); ok {
			h.RunsPerTask = v
		}
	}},
}}

var metricsKeys = keys[Schedule]{list: []key[Schedule]{
	{"textfile", 0, func(l *loader, s *Schedule, n *yaml.Node) {
		path, ok := l.path(n)
		if ok && filepath.Ext(path) != ".prom" {
			l.warn(n, "call it "+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".prom",
				"%s: the node exporter reads only files that end in .prom", l.key)
		}
		s.Textfile = path
	}},
}}

func readMetrics(l *loader, _ *settings, n *yaml.Node) {
	if !l.isMapping(n, l.key) {
		return
	}
	metricsKeys.decode(l, l.schedule, n, 0)
	if len(n.Content) == 0 {
		l.bad(n, "write {textfile: PATH}", "metrics has no textfile")
	}
}

// settings reads the top-level keys into the schedule, and returns those that are read later.
func (l *loader) settings(root *yaml.Node) settings {
	s := l.schedule
	s.Location = l.opts.Local
	s.Environment = "production"
	s.Store = Store{Lease: defaultLease}
	s.History = History{Keep: 30 * 24 * time.Hour, RunsPerTask: 1000}
	var top settings
	topKeys.decode(l, &top, root, 0)
	l.checkStore(top)
	s.Name = top.name
	if s.Name == "" {
		s.Name = nameOf(filepath.Base(l.dir))
	}
	s.StateDir = top.stateDir
	if s.StateDir == "" {
		s.StateDir = defaultStateDir(l.file, s.Name, top.name != "")
	}
	return top
}

// defaultStateDir returns where the state of the schedule in file is kept when it does not say:
// .sched beside it, with a part of its own for a file that is not called schedule.yaml, and under
// /var/lib for what is in /etc. A schedule in /etc that is named is found by that name alone.
func defaultStateDir(file, name string, named bool) string {
	dir := filepath.Dir(file)
	own := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".yaml"), ".yml")
	if own == "" {
		own = filepath.Base(file)
	}
	inEtc := dir == "/etc" || strings.HasPrefix(dir, "/etc/")
	if own == "schedule" || inEtc && named {
		own = ""
	}
	if inEtc {
		return filepath.Join("/var/lib/sched", name, own)
	}
	return filepath.Join(dir, ".sched", own)
}

// nameOf makes a valid name of any text.
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

const longestName = 128

// validName notes a problem unless text may name a task, a group, a mutex or the schedule.
func (l *loader) validName(n *yaml.Node, text string) bool {
	valid := text != "" && !strings.ContainsRune("._:/-", rune(text[0]))
	for i := range len(text) {
		valid = valid && inName(text[i])
	}
	what := l.key + " " + quote(text)
	if l.key == "group" { // which the message names already
		what = "this"
	}
	switch {
	case text == "":
		l.bad(n, "", "%s is empty", l.key)
	case !valid:
		l.bad(n, "use letters, digits and . _ : / -, and begin with a letter or a digit", "%s is not a valid name", what)
	case len(text) > longestName:
		l.bad(n, "", "%s is longer than 128 characters", what)
	default:
		return true
	}
	return false
}

func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '.' || c == '_' || c == ':' || c == '/' || c == '-'
}

// path reads a path, relative to the folder of the schedule.
func (l *loader) path(n *yaml.Node) (string, bool) {
	text, ok := l.filledExpanded(n)
	if !ok {
		return "", false
	}
	if text == "~" || strings.HasPrefix(text, "~/") {
		l.bad(n, "write ${HOME}"+shorten(text[1:]), "%s %s: \"~\" is not expanded here", l.key, quote(text))
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(l.dir, text)
	}
	return filepath.Clean(text), true
}

// variables reads a mapping of variables on top of those that are there already.
func (l *loader) variables(n *yaml.Node, there map[string]string) map[string]string {
	if !l.isMapping(n, l.key) {
		return there
	}
	all := make(map[string]string, len(there)+len(n.Content)/2)
	for name, value := range there {
		all[name] = value
	}
	above := l.key
	own := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		l.key = above
		if name.Kind != yaml.ScalarNode {
			l.bad(name, "", "a key must be text, not %s", found(name))
			continue
		}
		if first := own[name.Value]; first != nil {
			l.bad(name, "", "%s: %s is given twice, first at line %d", above, quote(name.Value), first.Line)
			continue
		}
		own[name.Value] = name
		if name.Value == "" || len(name.Value) > 256 || strings.ContainsAny(name.Value, "=\x00") {
			l.bad(name, "", "%s: %s cannot name a variable", above, quote(name.Value))
			continue
		}
		l.key = above + "." + shorten(name.Value)
		if isNull(value) {
			l.hasValue(value, `write "" for an empty one`)
		} else if strings.Contains(value.Value, "${file:") {
			l.bad(value, "put the variable into a file for `env_file`, or let the command read this one", "%s: what is in env is written down with every run, which is no place for the text of a file", l.key)
		} else if text, ok := l.expanded(value); ok {
			all[name.Value] = text
		}
	}
	l.key = above
	return all
}
