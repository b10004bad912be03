package load

import (
	"cmp"
	"strings"

	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// readServers reads one pattern of servers or a list of them.
func readServers(r *yamldoc.Reader, n *yamldoc.Node) (all []string, ok bool) {
	if !r.RefuseEmptyList(n, "leave the key out for every server, or switch the task off with `enabled: false`") {
		return nil, false
	}
	return readPatterns(r, n, "leave the key out for every server", placement.Check)
}

// readPrefer reads the name of one server or a list of them.
func readPrefer(r *yamldoc.Reader, n *yamldoc.Node) ([]string, bool) {
	return readPatterns(r, n, "", placement.CheckName)
}

// readPatterns reads patterns that check accepts. The hint is for the values true and false.
func readPatterns(r *yamldoc.Reader, n *yamldoc.Node, hint string, check func(string) (problem, hint string)) (all []string, ok bool) {
	ok = n.Each(func(item *yamldoc.Node) bool {
		if !r.RefuseBool(item, hint) {
			return false
		}
		if item.IsMapping() {
			pairs := asText(item)
			_, hint := check(pairs)
			r.Problemf(item, cmp.Or(hint, "write "+pairs), "%s must be text, not %s", r.Key, item.Describe())
			return false
		}
		text, ok := r.NonEmptyText(item)
		if !ok {
			return false
		}
		if problem, hint := check(text); problem != "" {
			r.Problemf(item, hint, "%s: %s %s", r.Key, yamldoc.Quote(text), problem)
			return false
		}
		all = append(all, text)
		return true
	})
	return all, ok
}

// asText writes a mapping as its pairs would stand in one text.
func asText(n *yamldoc.Node) string {
	var pairs []string
	for key, value := range n.Pairs() {
		pairs = append(pairs, key.Value+"="+value.Value)
	}
	return strings.Join(pairs, ", ")
}
