package load

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/document"
	"sched/schedule/labels"
	"sched/schedule/text"
)

// settings are the schedule while the top of its file is read, with what the other keys there have.
type settings struct {
	*schedule.Schedule
	ownName, ownStateDir     string // empty: the key is not there
	env                      map[string]string
	defaults, tasks, include *node
	store, lease             *node
	pools                    []*node // their names, in the order of Pools
}

// readSettings reads the top-level keys into the schedule, and returns them with those that are read later.
func (l *loader) readSettings(root *node) settings {
	s := l.schedule
	s.Location = l.options.Local
	s.Environment = "production"
	s.Store = schedule.Store{Lease: defaultLease}
	s.Remote = schedule.RemoteKinds
	s.History = schedule.History{Keep: 30 * 24 * time.Hour, RunsPerTask: 1000}
	top := settings{Schedule: s}
	topKeys.Decode(l, &top, root, 0)
	l.checkStore(top)
	s.Name = top.ownName
	if s.Name == "" {
		s.Name = nameOf(filepath.Base(l.folder))
	}
	s.StateDir = top.ownStateDir
	if s.StateDir == "" {
		s.StateDir = defaultStateDir(s.File, s.Name, top.ownName != "")
	}
	return top
}

// defaultStateDir returns the state folder of the schedule in file when it has no state_dir: .sched beside the file,
// with a part of its own for a file that is not called schedule.yaml, and under /var/lib for a file in /etc. For one in
// /etc that has a name, that name alone decides.
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
func readName(l *loader, n *node) (string, bool) {
	text, ok := l.Text(n)
	return text, ok && l.requireName(n, text)
}

// requireName refuses a text that cannot name a task, a group, a mutex or the schedule.
func (l *loader) requireName(n *node, text string) bool {
	valid := text != "" && !strings.ContainsRune("._:/-", rune(text[0]))
	for i := range len(text) {
		valid = valid && inName(text[i])
	}
	if valid && len(text) <= longestName {
		return true
	}
	what := l.Key + " " + document.Quote(text)
	if l.Key == "group" { // which the message names already
		what = "this"
	}
	switch {
	case text == "":
		l.Problemf(n, "", "%s is empty", l.Key)
	case !valid:
		l.Problemf(n, "use letters, digits and . _ : / -, and begin with a letter or a digit", "%s is not a valid name", what)
	default:
		l.Problemf(n, "", "%s is longer than 128 characters", what)
	}
	return false
}

func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '.' || c == '_' || c == ':' || c == '/' || c == '-'
}

// readScheduleName reads the name of the schedule, which may be a variable.
func readScheduleName(l *loader, n *node) (string, bool) {
	text, ok := l.Expanded(n)
	return text, ok && l.requireName(n, text)
}

// readServer reads the name of this machine. Empty, it is that of the host.
func readServer(l *loader, n *node) (string, bool) {
	if !l.RefuseBool(n, "leave the key out for the host name") {
		return "", false
	}
	name, ok := l.Expanded(n)
	if ok && name != "" && !labels.ValidName(name) {
		l.Problemf(n, "use letters, digits and . _ -, and begin with a letter or a digit", "%s %s is not a valid name", l.Key, document.Quote(name))
		return "", false
	}
	return name, ok
}

// readRemote reads what other servers may ask of this one.
func readRemote(l *loader, n *node) (kinds []string, ok bool) {
	if n.IsFalse() {
		return nil, true
	}
	if !l.RequireValue(n, "") || !l.RefuseEmptyList(n, "write `remote: false` for nothing") {
		return nil, false
	}
	ok = n.Each(func(item *node) bool {
		kind, ok := l.Text(item)
		if ok && !slices.Contains(schedule.RemoteKinds, kind) {
			hint := "it is some of [" + strings.Join(schedule.RemoteKinds, ", ") + "], or false"
			if near := text.Nearest(kind, schedule.RemoteKinds); near != "" {
				hint = "did you mean \"" + near + "\"?"
			}
			l.Problemf(item, hint, "%s: %s is nothing that servers ask of each other", l.Key, item.Describe())
			return false
		}
		kinds = append(kinds, kind)
		return ok
	})
	return kinds, ok
}

// setHistory leaves what history does not have as it is.
func setHistory(l *loader, s *settings, n *node) {
	if l.RequireMapping(n, l.Key) {
		historyKeys.Decode(l, &s.History, n, 0)
	}
}

// setMetrics reads a mapping with a textfile, which is all that there is.
func setMetrics(l *loader, s *settings, n *node) {
	if n.IsScalar() && !n.IsNull() {
		l.Problemf(n, "write {textfile: "+document.Shorten(n.Value)+"}", "metrics must be a mapping of keys and values, not %s", n.Describe())
		return
	}
	if !l.RequireMapping(n, l.Key) {
		return
	}
	metricsKeys.Decode(l, s.Schedule, n, 0)
	if n.IsEmpty() {
		l.Problemf(n, "write {textfile: PATH}", "metrics has no textfile")
	}
}

// readTextfile reads the path of a file of metrics.
func readTextfile(l *loader, n *node) (string, bool) {
	path, ok := l.Path(n)
	if ok && filepath.Ext(path) != ".prom" {
		l.Warnf(n, "call it "+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".prom",
			"%s: the node exporter reads only files that end in .prom", l.Key)
	}
	return path, ok
}

// Leases are renewed three times in their life, each time with seconds to spare for a slow network.
const (
	defaultLease  = time.Minute
	shortestLease = 5 * time.Second
)

// setStore reads one URL or a list of them. An empty URL alone, as of a variable that is not set, is no store.
func setStore(l *loader, s *settings, n *node) {
	if !l.RefuseEmptyList(n, "leave the key out for locks on this machine alone") {
		return
	}
	s.store = n
	var servers []string
	ok := n.Each(func(item *node) bool {
		url, ok := l.Expanded(item)
		if url == "" && ok {
			if n.IsList() {
				l.Problemf(item, "", "an empty server in store")
			}
			return false
		}
		servers = append(servers, url)
		return ok
	})
	if ok {
		s.Store.Servers = servers
	}
}

// setLease reads how long a lock outlives its holder.
func setLease(l *loader, s *settings, n *node) {
	s.lease = n
	if d, ok := l.Duration(n, shortestLease); ok {
		s.Store.Lease = d
	}
}

// checkStore checks the keys around the store against each other, and the URLs.
func (l *loader) checkStore(s settings) {
	if s.lease != nil && s.store == nil {
		l.Problemf(s.lease, "add `store:`; the locks of one machine need no lease", "lease does nothing without a store")
	}
	if len(s.Store.Servers) == 0 {
		return
	}
	if s.ownName == "" {
		l.Problemf(s.store, "add `name:`; servers that share a store meet under the name of their schedule", "a store needs a name")
	}
	if l.options.CheckStore == nil {
		return
	}
	if text, hint := l.options.CheckStore(s.Store.Servers); text != "" {
		l.Problemf(s.store, hint, "%s", text)
	}
}
