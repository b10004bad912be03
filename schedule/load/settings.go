package load

import (
	"path/filepath"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// settings are the schedule while the top of its file is read, with the values of keys that are
// read later.
type settings struct {
	*schedule.Schedule
	ownName, ownStateDir     string // empty: the key is not there
	env                      map[string]string
	defaults, tasks, include *node
	store, lease             *node
	pools                    []*node // their names, in the order of Pools
}

// readSettings reads the top-level keys into the schedule. It returns the schedule with the values
// that are read later.
func (l *loader) readSettings(root *node) settings {
	s := l.schedule
	s.Location = l.options.Local
	s.Environment = "production"
	s.Store = schedule.Store{Lease: defaultLease}
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

// defaultStateDir returns the state folder of a file without state_dir.
//
// For a file in /etc it is in /var/lib/sched, under the name of the schedule. Otherwise it is
// .sched beside the file. A file that is not called schedule.yaml has a part of its own in it,
// unless it is in /etc and names its schedule.
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

// setHistory reads a mapping. Keys that the mapping lacks keep their values.
func setHistory(l *loader, s *settings, n *node) {
	if l.RequireMapping(n, l.Key) {
		historyKeys.Decode(l, &s.History, n, 0)
	}
}

// setMetrics reads a mapping with a textfile, which is all that there is.
func setMetrics(l *loader, s *settings, n *node) {
	if n.IsScalar() && !n.IsNull() {
		l.Problemf(n, "write {textfile: "+yamldoc.Shorten(n.Value)+"}", "metrics must be a mapping of keys and values, not %s", n.Describe())
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

// Leases are renewed three times in their life, each time with seconds to spare for a slow network.
const (
	defaultLease  = time.Minute
	shortestLease = 5 * time.Second
)

// setStore reads one URL or a list of them. A single empty URL, as from a variable that is not set,
// means no store.
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
