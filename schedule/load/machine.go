package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/document"
	"sched/schedule/labels"
)

// readServers reads one pattern of servers or a list of them.
func readServers(l *loader, n *node) (all []string, ok bool) {
	if !l.RefuseEmptyList(n, "leave the key out for every server, or switch the task off with `enabled: false`") {
		return nil, false
	}
	return readPatterns(l, n, "leave the key out for every server", labels.Check)
}

// readPrefer reads the name of one server or a list of them.
func readPrefer(l *loader, n *node) ([]string, bool) { return readPatterns(l, n, "", labels.CheckName) }

// readPatterns reads patterns that check finds right. The hint is that for true and false.
func readPatterns(l *loader, n *node, hint string, check func(string) (problem, hint string)) (all []string, ok bool) {
	ok = n.Each(func(item *node) bool {
		if !l.RefuseBool(item, hint) {
			return false
		}
		if item.IsMapping() {
			pairs := asText(item)
			_, hint := check(pairs)
			l.Problemf(item, cmp.Or(hint, "write "+pairs), "%s must be text, not %s", l.Key, item.Describe())
			return false
		}
		text, ok := l.NonEmptyText(item)
		if !ok {
			return false
		}
		if problem, hint := check(text); problem != "" {
			l.Problemf(item, hint, "%s: %s %s", l.Key, document.Quote(text), problem)
			return false
		}
		all = append(all, text)
		return true
	})
	return all, ok
}

// asText is a mapping as its pairs would stand in one text.
func asText(n *node) string {
	var pairs []string
	for key, value := range n.Pairs() {
		pairs = append(pairs, key.Value+"="+value.Value)
	}
	return strings.Join(pairs, ", ")
}

// checkPrefer refuses servers that are preferred where each runs the task, and those that are not among its servers.
func (l *loader) checkPrefer(n *node, t *taskDraft) {
	own := n.Lookup("prefer")
	if own != nil && !own.IsFalse() && !t.OneServer {
		l.Problemf(own, "add `one_server: true`, or remove it", "prefer is for tasks with one_server")
		return
	}
	if !t.OneServer || len(t.Servers) == 0 || slices.ContainsFunc(t.Servers, labels.IsLabel) { // whose labels it has, nobody knows here
		return
	}
	for _, name := range t.Prefer {
		if (labels.Machine{Name: name}).IsAny(t.Servers) {
			continue
		}
		at := l.placeText(n.Lookup("servers"))
		if from, ok := t.Origins["servers"]; ok && at == "" {
			at = fmt.Sprintf(" (at %s)", from.Place)
		}
		l.Problemf(firstOf(n, own, "servers"), "add it there, or prefer one of those",
			"prefer contradicts servers%s: %s is none of %s", at, document.Quote(name), strings.Join(t.Servers, ", "))
		return
	}
}

// findMachine looks up what this machine is called, where a task asks for it. An idle tick of a schedule without `servers`
// pays nothing for it.
func (l *loader) findMachine() {
	var asks, asksLabels bool
	for _, t := range l.schedule.Tasks {
		asks = asks || len(t.Servers) > 0
		asksLabels = asksLabels || slices.ContainsFunc(t.Servers, labels.IsLabel)
	}
	machine := &l.schedule.Machine
	if asks && l.options.Server != nil {
		machine.Name = l.options.Server(l.schedule.Server)
	}
	if asksLabels && l.options.Labels != nil {
		machine.Labels, machine.Wrong = l.options.Labels()
	}
}
