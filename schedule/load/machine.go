package load

import (
	"fmt"
	"slices"
	"strings"

	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// checkPrefer refuses prefer in a task without one_server, and preferred servers that are not among
// the task's servers.
func (l *loader) checkPrefer(n *node, t *taskDraft) {
	own := n.Lookup("prefer")
	if own != nil && !own.IsFalse() && !t.OneServer {
		l.Problemf(own, "add `one_server: true`, or remove it", "prefer is for tasks with one_server")
		return
	}
	if !t.OneServer || len(t.Servers) == 0 || slices.ContainsFunc(t.Servers, placement.IsLabel) { // which servers have a label is unknown here
		return
	}
	for _, name := range t.Prefer {
		if (placement.Machine{Name: name}).IsAny(t.Servers) {
			continue
		}
		at := l.placeText(n.Lookup("servers"))
		if from, ok := t.Origins["servers"]; ok && at == "" {
			at = fmt.Sprintf(" (at %s)", from.Place)
		}
		l.Problemf(firstOf(n, own, "servers"), "add it there, or prefer one of those",
			"prefer contradicts servers%s: %s is none of %s", at, yamldoc.Quote(name), strings.Join(t.Servers, ", "))
		return
	}
}

// findMachine looks up the name and the labels of this machine, but only if a task asks for them.
func (l *loader) findMachine() {
	var asks, asksLabels bool
	for _, t := range l.schedule.Tasks {
		asks = asks || len(t.Servers) > 0
		asksLabels = asksLabels || slices.ContainsFunc(t.Servers, placement.IsLabel)
	}
	machine := &l.schedule.Machine
	if asks && l.options.Server != nil {
		machine.Name = l.options.Server(l.schedule.Server)
	}
	if asksLabels && l.options.Labels != nil {
		machine.Labels, machine.Wrong = l.options.Labels()
	}
}
