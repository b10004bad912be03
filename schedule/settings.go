package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/yamldoc"
)

// An Origin is the place at which a value in effect was set.
type Origin = yamldoc.Origin

// A Setting is a key of a task with the value in effect.
type Setting struct {
	Key string // as in the file; a key inside of another with a dot: retry.attempts, env.PATH

	// Value is nil for no value, or a bool, Word, string, int, float64, time.Duration, []string,
	// []int, Command or []Hook. A variable of env, any text that has ${file:…} in it, and
	// notifications stand as in the file. In all other values ${VAR} is expanded.
	Value any

	From  Origin
	IsSet bool // false: the value is the one of a task that sets nothing, and From is empty
}

// A Word is one of the words that a key accepts.
type Word string

// Settings returns every key of a task, in the order of the docs. It needs load.Options.Origins.
func (t *Task) Settings() []Setting {
	var all []Setting
	for _, row := range settingRows {
		if row.key == "env" {
			all = append(all, t.variables()...)
			continue
		}
		if hooks, ok := row.value(t).([]Hook); ok && t.Origins != nil {
			all = append(all, t.hookSettings(row.key, hooks)...)
			continue
		}
		all = append(all, t.setting(row.key, row.value(t)))
	}
	return all
}

// hookSettings are the hooks of a key, one setting for each level that has hooks.
func (t *Task) hookSettings(key string, hooks []Hook) (all []Setting) {
	for i, hook := range hooks {
		from := t.Origins[key+"."+strconv.Itoa(i)]
		if last := len(all) - 1; last >= 0 && all[last].From == from {
			all[last].Value = append(all[last].Value.([]Hook), hook)
			continue
		}
		all = append(all, Setting{key, []Hook{hook}, from, true})
	}
	return all
}

// setting returns a key with its value. If the key above it is no mapping (`retry: false`),
// that key set it.
func (t *Task) setting(key string, value any) Setting {
	from, isSet := t.Origins[key]
	if above, _, inside := strings.Cut(key, "."); !isSet && inside && (t.Origins[above].Text == "false" || t.Origins[above].Text != "" && key == "output.file") {
		from, isSet = t.Origins[above], true
	}
	if isSet && strings.Contains(from.Text, "${file:") {
		value = from.Text
	}
	return Setting{key, value, from, isSet}
}

func (t *Task) variables() []Setting {
	var all []Setting
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		s := t.setting("env."+name, t.Env[name])
		if strings.Contains(s.From.Text, "${") {
			s.Value = s.From.Text
		}
		all = append(all, s)
	}
	return all
}

// settingRows has every key of a task (load.Keys), and how to find its value. Mappings have their
// own rows.
var settingRows = []struct {
	key   string
	value func(*Task) any
}{
	{"description", func(t *Task) any { return some(t.Description) }},
	{"tags", func(t *Task) any { return someList(t.Tags) }},
	{"every", func(t *Task) any { return some(t.When.Every) }},
	{"cron", func(t *Task) any { return someList(t.When.Texts()) }},
	{"timezone", func(t *Task) any { return t.When.Location.String() }},
	{"spread", func(t *Task) any { return some(t.Spread) }},
	{"command", func(t *Task) any { return t.Command }},
	{"shell", func(t *Task) any { return t.shell() }},
	{"dir", func(t *Task) any { return t.Dir }},
	{"env", nil},
	{"env_file", func(t *Task) any { return someList(t.EnvFiles) }},
	{"user", func(t *Task) any { return some(t.As.User) }},
	{"group", func(t *Task) any { return some(t.As.Group) }},
	{"umask", func(t *Task) any { return t.umask() }},
	{"nice", func(t *Task) any { return someInt(t.As.Nice) }},

	{"background", func(t *Task) any { return t.Background }},
	{"without_overlapping", func(t *Task) any { return t.overlapping() }},
	{"wait_at_most", func(t *Task) any { return some(t.WaitAtMost) }},
	{"mutex", func(t *Task) any { return t.Mutex }},
	{"pool", func(t *Task) any { return some(t.Pool.Name) }},
	{"one_server", func(t *Task) any { return t.OneServer }},
	{"prefer", func(t *Task) any { return someList(t.Prefer) }},
	{"store_down", func(t *Task) any { return t.storeDown() }},
	{"on_lost_lease", func(t *Task) any { return either(t.StopOnLostLease, "stop", "continue") }},

	{"timeout", func(t *Task) any { return some(t.Timeout) }},
	{"kill_after", func(t *Task) any { return t.KillAfter }},
	{"retry.attempts", func(t *Task) any { return t.Retry.Attempts }},
	{"retry.delay", func(t *Task) any { return some(t.Retry.Delay) }},
	{"retry.backoff", func(t *Task) any { return t.Retry.Backoff }},
	{"retry.max_delay", func(t *Task) any { return some(t.Retry.MaxDelay) }},
	{"retry.lost", func(t *Task) any { return t.Retry.Lost }},
	{"retry.jitter", func(t *Task) any { return some(t.Retry.Jitter) }},
	{"expect.within", func(t *Task) any { return some(t.Expect.Within) }},
	{"expect.every", func(t *Task) any { return some(t.Expect.Every) }},
	{"pause_after", func(t *Task) any { return some(t.PauseAfter) }},
	{"success_codes", func(t *Task) any { return t.SuccessCodes }},

	{"enabled", func(t *Task) any { return t.Enabled }},
	{"environments", func(t *Task) any { return someList(t.Environments) }},
	{"servers", func(t *Task) any { return someList(t.Servers) }},
	{"days", func(t *Task) any { return some(t.Conditions.Days.String()) }},
	{"except", func(t *Task) any { return t.except() }},
	{"between", func(t *Task) any { return windows(t.Conditions.Between) }},
	{"unless_between", func(t *Task) any { return windows(t.Conditions.UnlessBetween) }},
	{"when", func(t *Task) any { return t.conditionCommand("when") }},
	{"skip", func(t *Task) any { return t.conditionCommand("skip") }},
	{"even_when_paused", func(t *Task) any { return t.EvenWhenPaused }},
	{"even_in_maintenance", func(t *Task) any { return t.EvenInMaintenance }},
	{"start_deadline", func(t *Task) any { return some(t.StartDeadline) }},
	{"missed", func(t *Task) any { return t.missed() }},
	{"missed_within", func(t *Task) any { return t.MissedWithin }},

	{"before", func(t *Task) any { return someList(t.Hooks.Before) }},
	{"on_success", func(t *Task) any { return someList(t.Hooks.OnSuccess) }},
	{"on_failure", func(t *Task) any { return someList(t.Hooks.OnFailure) }},
	{"on_recovery", func(t *Task) any { return someList(t.Hooks.OnRecovery) }},
	{"on_skip", func(t *Task) any { return someList(t.Hooks.OnSkip) }},
	{"on_overdue", func(t *Task) any { return someList(t.Hooks.OnOverdue) }},
	{"after", func(t *Task) any { return someList(t.Hooks.After) }},
	{"output.file", func(t *Task) any { return some(t.Output.File) }},
	{"output.append", func(t *Task) any { return t.Output.Append }},
	{"output.limit", func(t *Task) any { return yamldoc.SizeText(t.Output.Limit) }},
}

// some is a value, or nil for the zero value.
func some[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

func someList[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func someInt(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

// either is the word for true or the one for false.
func either(is bool, yes, no Word) Word {
	if is {
		return yes
	}
	return no
}

func (t *Task) shell() any {
	if t.Command.Shell == nil {
		return nil
	}
	return Command{List: t.Command.Shell}
}

// umask is in octal, with the zero that the file has, too.
func (t *Task) umask() any {
	if t.As.Umask == nil {
		return nil
	}
	return fmt.Sprintf("0%02o", *t.As.Umask)
}

func (t *Task) except() any {
	if len(t.Conditions.Holidays) == 0 {
		return nil
	}
	return "holidays"
}

func windows(all []Window) any {
	var texts []string
	for _, w := range all {
		texts = append(texts, w.String())
	}
	return someList(texts)
}

func (t *Task) conditionCommand(key string) any {
	for _, c := range t.ConditionCommands {
		if c.Key == key {
			return c.Command
		}
	}
	return nil
}

// PlaceOf returns the place at which a key of the task was set. If the key was not set, or its
// place is not known, PlaceOf returns the place of the task.
func (t *Task) PlaceOf(key string) Place {
	if from, ok := t.Origins[key]; ok {
		return from.Place
	}
	return t.Place
}

func (t *Task) overlapping() any {
	if t.WaitAtMost > 0 {
		return Word("wait")
	}
	return t.WithoutOverlapping
}

func (t *Task) storeDown() Word {
	switch {
	case t.RunWhenStoreDown:
		return "run"
	case t.WaitWhenStoreDown:
		return "wait"
	}
	return "skip"
}

func (t *Task) missed() Word {
	if t.RunAfterPause {
		return "after_pause"
	}
	return either(t.RunMissed, "once", "skip")
}
