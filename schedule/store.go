package schedule

import (
	"time"

	"gopkg.in/yaml.v3"
)

// A Store is where the servers of a schedule share its mutexes. Without Servers each machine stands
// alone, with locks of its kernel.
type Store struct {
	Servers []string // URLs, which may hold passwords
	Lease   time.Duration
}

// Leases are renewed three times in their life, each time with seconds to spare for a slow network.
const (
	defaultLease  = time.Minute
	shortestLease = 5 * time.Second
)

func readStore(l *loader, s *settings, n *yaml.Node) {
	if !l.notEmpty(n, "leave the key out for locks on this machine alone") {
		return
	}
	s.store = n
	var servers []string
	ok := l.each(n, func(item *yaml.Node) bool {
		url, ok := l.expanded(item)
		if url == "" && ok {
			if n.Kind == yaml.SequenceNode {
				l.bad(item, "", "an empty server in store")
			}
			return false
		}
		servers = append(servers, url)
		return ok
	})
	if ok {
		l.schedule.Store.Servers = servers
	}
}

func readLease(l *loader, s *settings, n *yaml.Node) {
	s.lease = n
	if d, ok := l.duration(n, shortestLease); ok {
		l.schedule.Store.Lease = d
	}
}

// checkStore checks what the keys around the store say together.
func (l *loader) checkStore(s settings) {
	if s.lease != nil && s.store == nil {
		l.bad(s.lease, "add `store:`; the locks of one machine need no lease", "lease does nothing without a store")
	}
	if len(l.schedule.Store.Servers) == 0 {
		return
	}
	if s.name == "" {
		l.bad(s.store, "add `name:`; servers that share a store meet under the name of their schedule", "a store needs a name")
	}
	if l.opts.CheckStore == nil {
		return
	}
	if text, hint := l.opts.CheckStore(l.schedule.Store.Servers); text != "" {
		l.bad(s.store, hint, "%s", text)
	}
}

func readLostLease(l *loader, e *entry, n *yaml.Node) {
	if text, ok := l.text(n); ok {
		if text != "stop" && text != "continue" {
			l.bad(n, "", "on_lost_lease must be stop or continue, not %s", found(n))
		}
		e.StopOnLostLease = text == "stop"
	}
}
