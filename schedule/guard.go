package schedule

import "gopkg.in/yaml.v3"

// A Guard is a command that decides, right before a task would start, whether it may.
type Guard struct {
	Key     string // when or skip
	Command Command
}

// Allows says what the exit code of the command means. 0 is true and 1 through 125 are false, as for
// xargs(1) and git bisect. Any other code is no answer: shells give 126 and 127 for what they cannot run
// and more for what a signal ended, and ssh(1) gives 255 when it could not ask.
func (g Guard) Allows(code int) (allows, answered bool) {
	if code < 0 || code > 125 {
		return false, false
	}
	return (code == 0) == (g.Key == "when"), true
}

// readGuard reads a command like that of a task; an empty list takes away an inherited one. when is
// asked before skip, wherever they stand.
func readGuard(l *loader, e *entry, n *yaml.Node) {
	var guards []Guard
	for _, g := range e.Guards {
		if g.Key != l.key {
			guards = append(guards, g)
		}
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > 0 {
		command, _ := l.command(n, e.shell)
		guards = append(guards, Guard{l.key, command})
	}
	if len(guards) == 2 && guards[0].Key == "skip" {
		guards[0], guards[1] = guards[1], guards[0]
	}
	e.Guards = guards
}
