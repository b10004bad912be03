package load

import (
	"slices"

	"sched/schedule"
	"sched/schedule/load/values"
)

// setCommand reads what a task runs; it replaces an inherited command. It comes after shell in its table.
func setCommand(l *loader, t *taskDraft, n *node) {
	t.hasCommand = true
	t.Command, _ = values.Command(l.Reader, n, t.shell)
}

// setConditionCommand reads the command of when or skip, which takes the place of an inherited one of the same key; an
// empty list and skip: false take that away. when: false could mean never as well, and is refused. when runs before
// skip, wherever they stand.
func setConditionCommand(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() && l.Key == "when" {
		l.Problemf(n, "write [] against one that is inherited, or `enabled: false` for a task that never runs", "when: %s may mean that the task never runs, or that nobody is asked", n.Value)
		return
	}
	var commands []schedule.ConditionCommand
	for _, c := range t.ConditionCommands {
		if c.Key != l.Key {
			commands = append(commands, c)
		}
	}
	if !n.IsFalse() && (!n.IsList() || !n.IsEmpty()) {
		command, _ := values.Command(l.Reader, n, t.shell)
		commands = append(commands, schedule.ConditionCommand{Key: l.Key, Command: command})
	}
	if len(commands) == 2 && commands[0].Key == "skip" {
		commands[0], commands[1] = commands[1], commands[0]
	}
	t.ConditionCommands = commands
}

// setEnv reads variables of commands, beside those that are inherited; false takes away those of the group and the
// defaults, and leaves those of the file.
func setEnv(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		l.Forget()
		t.Env, t.EnvOver = l.bare.Env, nil
		return
	}
	t.Env = values.Variables(l.Reader, n, t.Env)
	for name := range n.Pairs() {
		t.ownEnv = append(t.ownEnv, name.Value)
	}
	t.EnvOver = slices.Concat(t.EnvOver, t.ownEnv)
}

// setEnvFiles reads the files of a level, which take the place of those of the levels above and win over their variables,
// but not over those that stand in env beside them. It comes after env in its table.
func setEnvFiles(l *loader, t *taskDraft, n *node) {
	replaces(func(t *taskDraft) *[]string { return &t.EnvFiles }, values.EnvFiles)(l, t, n)
	t.EnvOver = t.ownEnv
}
