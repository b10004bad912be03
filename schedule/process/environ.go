package process

import (
	"os"
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/dotenv"
	"sched/schedule/text"
)

// Lookup returns a function that finds variables in an environment; of two with one name the last.
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

// Environ returns the environment of a command or hook: base without what is for sched alone, then env of the task, then
// more; of two with one name the later.
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

// The variables with which the processes of a background run find its storage. Commands and hooks do not get them.
// StateVariable is the state folder; StoreVariable is the store as JSON (mutex.Config), with its passwords.
const (
	StateVariable = "SCHED_STATE"
	StoreVariable = "SCHED_STORE"
)

// CheckEnvFiles returns why the files of a task's env_file cannot be used now, or nil; env is the environment of the
// caller. For a task of another user it checks only that they exist: whether that user may read them, only a process of
// that user finds out (docs/decisions.md#env_file-is-read-as-the-user-of-the-task).
func CheckEnvFiles(t *schedule.Task, env []string) error {
	if who, err := accountOf(t.As); err != nil || !who.change || who.uid == 0 {
		_, err := dotenv.Read(t.EnvFiles, Environ(env, *t))
		return err
	}
	for _, path := range t.EnvFiles {
		if _, err := os.Stat(path); err != nil {
			return dotenv.FileError(path, text.WithoutPath(err))
		}
	}
	return nil
}
