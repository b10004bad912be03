package process

import (
	"slices"
	"strings"

	"sched/schedule"
)

// Lookup finds variables in an environment; of two with one name the last.
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

// Environ returns what a command or hook of the run finds in its environment: the caller's, then
// the task's, then the SCHED_ variables; of two with one name the later.
func Environ(base []string, task schedule.Task, more ...string) []string {
	env := make([]string, 0, len(base)+len(task.Env)+len(more))
	at := make(map[string]int, cap(env))
	set := func(pair string) {
		name, _, _ := strings.Cut(pair, "=")
		if i, ok := at[name]; ok {
			env[i] = pair
			return
		}
		at[name] = len(env)
		env = append(env, pair)
	}
	for _, pair := range base {
		if !strings.HasPrefix(pair, StateVariable+"=") && !strings.HasPrefix(pair, StoreVariable+"=") {
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

// What the processes of a background run are told in their environment; commands and hooks do not see
// it. StateVariable is the state folder, StoreVariable the store as JSON (mutex.Config), with its
// passwords: only their own user can read it there.
const (
	StateVariable = "SCHED_STATE"
	StoreVariable = "SCHED_STORE"
)
