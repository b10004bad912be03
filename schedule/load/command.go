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

// setConditionCommand reads the command of when or skip, which replaces the inherited one of that
// key; an empty list and skip: false remove it. when: false is refused: it could mean never. when
// runs before skip.
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

// setEnv reads variables beside the inherited ones; false leaves only those of the file.
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

// setEnvFiles replaces inherited files. They win over inherited variables, not over env beside
// them.
func setEnvFiles(l *loader, t *taskDraft, n *node) {
	replaces(func(t *taskDraft) *[]string { return &t.EnvFiles }, values.EnvFiles)(l, t, n)
	t.EnvOver = t.ownEnv
}
