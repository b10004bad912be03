package schedule

import "gopkg.in/yaml.v3"

// A ConditionCommand is a command that decides, right before a task would start, whether it may.
type ConditionCommand struct {
	Key     string // when or skip
	Command Command
}

// Allows says what the exit code of the command means. 0 is true and 1 through 125 are false, as for
// xargs(1) and git bisect. Any other code is no answer: shells give 126 and 127 for what they cannot run
// and more for what a signal ended, and ssh(1) gives 255 when it could not ask.
func (c ConditionCommand) Allows(code int) (allows, answered bool) {
	if code < 0 || code > 125 {
		return false, false
	}
	return (code == 0) == (c.Key == "when"), true
}

// readConditionCommand reads a command like that of a task; an empty list takes away an inherited one.
// when is asked before skip, wherever they stand.
func readConditionCommand(l *loader, e *entry, n *yaml.Node) {
	var commands []ConditionCommand
	for _, c := range e.ConditionCommands {
		if c.Key != l.key {
			commands = append(commands, c)
		}
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > 0 {
		command, _ := l.command(n, e.shell)
		commands = append(commands, ConditionCommand{l.key, command})
	}
	if len(commands) == 2 && commands[0].Key == "skip" {
		commands[0], commands[1] = commands[1], commands[0]
	}
	e.ConditionCommands = commands
}
