package process

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/envfile"
	"sched/schedule/humanize"
	"sched/schedule/mask"
)

// This file makes the environment of a command.

// The variables with which the processes of a background run find its storage. Commands and hooks
// do not get them. StateVariable is the state folder; StoreVariable is the store as JSON
// (mutex.Config), with its passwords.
const (
	StateVariable = "SCHED_STATE"
	StoreVariable = "SCHED_STORE"
	ValuePrefix   = "SCHED_VALUE_" // begins the variables of the values that a run reported
)

// runVariables are the variables that one run passes on to its own processes. A `sched` inside a
// task passes none of them on to the processes of its runs: these would count as processes of the
// outer run.
var runVariables = []string{
	StateVariable, StoreVariable, setupVariable,
	"SCHED_TASK", "SCHED_RUN", "SCHED_SLOT", "SCHED_NOMINAL", "SCHED_MUTEX", "SCHED_ATTEMPT",
	"SCHED_PREVIOUS_SLOT", "SCHED_LAST_SUCCESS", "SCHED_REPORT",
	"SCHED_CAUSE_TASK", "SCHED_CAUSE_RUN", "SCHED_CAUSE_OUTCOME",
	"SCHED_OUTCOME", "SCHED_EXIT_CODE", "SCHED_DURATION", "SCHED_OUTPUT", "SCHED_REASON",
}

// Lookup returns a function that finds the value of a variable in an environment. If the
// environment has the variable twice, the last value counts.
func Lookup(env []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range slices.Backward(env) {
			if len(pair) > len(name) && pair[len(name)] == '=' && pair[:len(name)] == name {
				return pair[len(name)+1:], true
			}
		}
		return "", false
	}
}

// Environ returns the environment of a command or hook: base without the variables of runs
// (runVariables), then env of the task, then more. If a variable is there twice, the later value
// counts.
func Environ(base []string, task schedule.Task, more ...string) []string {
	env := make([]string, 0, len(base)+len(task.Env)+len(more))
	index := make(map[string]int, cap(env)) // of each variable in env
	set := func(pair string) {
		name, _, _ := strings.Cut(pair, "=")
		if i, ok := index[name]; ok {
			env[i] = pair
			return
		}
		index[name] = len(env)
		env = append(env, pair)
	}
	for _, pair := range base {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains(runVariables, name) && !strings.HasPrefix(name, ValuePrefix) {
			set(pair)
		}
	}
	for name, value := range task.Env {
		set(name + "=" + value)
	}
	for _, pair := range more {
		set(pair)
	}
	return env
}

// envOverFiles returns the variables of env that win over the variables of env_file: env of the
// level that has env_file (task, group or defaults), or of a level inside it.
func envOverFiles(t *schedule.Task) (pairs []string) {
	for _, name := range t.EnvOverrides {
		if value, ok := t.Env[name]; ok {
			pairs = append(pairs, name+"="+value)
		}
	}
	return pairs
}

// CheckEnvFiles returns why the files of a task's env_file cannot be used now, or which of its
// secrets is too short. It returns nil if they can be used. env is the environment of the caller.
// For a task of another user CheckEnvFiles only checks that the files exist: only a process of that
// user finds out whether the user may read them
// (docs/internals/decisions.md#env_file-is-read-as-the-user-of-the-task).
func CheckEnvFiles(t *schedule.Task, env []string) error {
	if user, err := account.Of(t.As); err != nil || !user.Change || user.UID == 0 {
		env = Environ(env, *t)
		fromFiles, err := envfile.Read(t.EnvFiles, Lookup(env))
		env = Environ(env, *t, append(fromFiles, envOverFiles(t)...)...)
		return cmp.Or(err, mask.Check(t.Secrets, Lookup(env)))
	}
	for _, path := range t.EnvFiles {
		if _, err := os.Stat(path); err != nil {
			return envfile.Error(path, humanize.WithoutPath(err))
		}
	}
	return nil
}

// setupVariable has the setup of such a process, as JSON. It is no argument, because every user may
// read arguments, and the setup has values of env. The command does not get it.
const setupVariable = "SCHED_BECOME"
