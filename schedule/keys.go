package schedule

import (
	"slices"
	"time"
)

// This file holds every key of schedule.yaml: a table for the top of the file, one for tasks, groups and defaults, and
// one for each mapping inside those. To add a key:
//
//  1. add the field to Schedule, Task or what else it belongs to;
//  2. add a row to the table here: its name, where it may stand, how its value is read, and what it means. What
//     its value does to one that is inherited from a group or from defaults is part of the row: replaces takes its
//     place, merges makes one of both. A key that sets several fields, or adds to what is inherited, has a setter of its
//     own, called set…, whose comment says it. With any key, false takes away what is inherited;
//  3. write the reader, if none of document.Reader and of the files called read… will do;
//  4. document the key in docs/schedule-yaml.md, and add its mistakes to the rows of problems_test.go.
//
// The order of the rows is the order in which values are set, wherever the file has them: messages need the name, and
// commands need the shell.

// topKeys are the keys at the top of the main file.
var topKeys = keys[settings]{
	Extensions: true,
	Misplaced: func(name string, _, _ scope) string {
		if taskKeys.Has(name, inTask) {
			return "it is a key of tasks: put it into a task, or under `defaults:` for all of them"
		}
		return ""
	},
	Keys: []key[settings]{
		row("name", 0, replaces(func(s *settings) *string { return &s.ownName }, readScheduleName),
			"the name of the schedule; servers that share a store meet under it"),
		row("timezone", 0, replaces(func(s *settings) **time.Location { return &s.Location }, readZone),
			"the zone in which times are meant"),
		row("environment", 0, replaces(func(s *settings) *string { return &s.Environment }, (*loader).NonEmptyExpanded),
			"what the `environments` of tasks are compared with"),
		row("store", 0, setStore,
			"where servers share their locks"),
		row("lease", 0, setLease,
			"how long a lock in the store outlives its holder"),
		row("state_dir", 0, replaces(func(s *settings) *string { return &s.ownStateDir }, (*loader).Path),
			"the folder of locks, history and outputs"),
		row("env", 0, merges(func(s *settings) *map[string]string { return &s.env }, readVariables),
			"variables of all commands"),
		row("include", 0, func(_ *loader, s *settings, n *node) { s.include = n },
			"files with more tasks"),
		row("history", 0, setHistory,
			"how much of the past is kept"),
		row("metrics", 0, setMetrics,
			"metrics for the textfile collector of the node exporter"),
		row("logs", 0, replaces(func(s *settings) *bool { return &s.Logs }, (*loader).Bool),
			"whether ticks and sched work print what tasks print"),
		row("mail", 0, setMail,
			"the server and the sender of mails"),
		row("holidays", 0, setHolidays,
			"dates and files of dates, for `except: holidays`"),
		row("maintenance_file", 0, replaces(func(s *settings) *string { return &s.Maintenance }, (*loader).Path),
			"a file that keeps tasks from running while it exists"),
		row("defaults", 0, func(_ *loader, s *settings, n *node) { s.defaults = n },
			"keys that every task inherits"),
		row("tasks", 0, func(_ *loader, s *settings, n *node) { s.tasks = n },
			"the tasks and groups, in their order"),
	},
}

// taskKeys are the keys of tasks, of groups and of defaults.
var taskKeys = keys[taskDraft]{
	Scopes:    scopeNames,
	Misplaced: misplacedTaskKey,
	Keys: []key[taskDraft]{
		row("name", inTask, setTaskName,
			"how commands and messages call the task; unique"),
		row("group", anywhere, setGroup,
			"in a group its name; elsewhere the group that commands run as"),
		row("tasks", inGroup, func(_ *loader, t *taskDraft, n *node) { t.tasks = n },
			"the tasks of a group"),
		row("description", inTask, replaces(func(t *taskDraft) *string { return &t.Description }, (*loader).Text),
			"what the task is for"),
		row("tags", anywhere, replaces(func(t *taskDraft) *[]string { return &t.Tags }, (*loader).Texts),
			"words by which commands choose tasks"),

		row("cron", inTask|inGroup, setCron,
			"when it is due, as one or more cron expressions"),
		row("every", inTask|inGroup, setEvery,
			"when it is due, in words"),
		row("timezone", anywhere, replaces(func(t *taskDraft) **time.Location { return &t.When.Location }, readZone),
			"the zone in which its times are meant"),
		row("spread", anywhere, replaces(func(t *taskDraft) *time.Duration { return &t.Spread }, readSpread),
			"over how long its due times are spread, each task and server having its own part"),

		row("shell", anywhere, replaces(func(t *taskDraft) *[]string { return &t.shell }, readShell),
			"what runs a command that is a text"),
		row("command", inTask|inGroup, setCommand,
			"what it runs"),
		row("dir", anywhere, replaces(func(t *taskDraft) *string { return &t.Dir }, (*loader).Path),
			"the folder in which its commands run"),
		row("env", anywhere, setEnv,
			"variables of its commands"),
		row("env_file", anywhere, setEnvFiles,
			"files of variables, read when a command starts"),
		row("user", anywhere, replaces(func(t *taskDraft) *string { return &t.As.User }, readAccount),
			"the user that its commands run as"),
		row("umask", anywhere, replaces(func(t *taskDraft) **int { return &t.As.Umask }, readUmask),
			"the umask of its commands, in octal"),
		row("nice", anywhere, replaces(func(t *taskDraft) **int { return &t.As.Nice }, readNice),
			"the priority of its commands"),

		row("background", anywhere, replaces(func(t *taskDraft) *bool { return &t.Background }, (*loader).Bool),
			"whether it runs on without its tick"),
		row("mutex", anywhere, setMutex,
			"the name of the lock that it shares with other tasks"),
		row("without_overlapping", anywhere, replaces(func(t *taskDraft) *bool { return &t.WithoutOverlapping }, (*loader).Bool),
			"whether it is skipped while its mutex is held"),
		row("one_server", anywhere, replaces(func(t *taskDraft) *bool { return &t.OneServer }, (*loader).Bool),
			"whether one server alone runs a slot"),
		row("store_down", anywhere, replaces(func(t *taskDraft) *bool { return &t.RunWhenStoreDown }, choice("skip", "run", "run")),
			"what happens when the store does not answer"),
		row("on_lost_lease", anywhere, replaces(func(t *taskDraft) *bool { return &t.StopOnLostLease }, choice("stop", "continue", "stop")),
			"what happens to a run whose lock was lost"),

		row("timeout", anywhere, replaces(func(t *taskDraft) *time.Duration { return &t.Timeout }, readTimeout),
			"the longest that an attempt may take"),
		row("kill_after", anywhere, replaces(func(t *taskDraft) *time.Duration { return &t.KillAfter }, durationFrom(0)),
			"how long a command has to end after TERM"),
		row("retry", anywhere, setRetry,
			"how often a failed attempt is tried again"),
		row("success_codes", anywhere, replaces(func(t *taskDraft) *[]int { return &t.SuccessCodes }, readSuccessCodes),
			"the exit codes that count as success"),

		row("between", anywhere, replaces(func(t *taskDraft) *[]Window { return &t.Conditions.Between }, readWindows),
			"the times of the day in which it may run"),
		row("unless_between", anywhere, replaces(func(t *taskDraft) *[]Window { return &t.Conditions.UnlessBetween }, readWindows),
			"the times of the day in which it may not run"),
		row("days", anywhere, replaces(func(t *taskDraft) *Days { return &t.Conditions.Days }, readDays),
			"the days of the week on which it may run"),
		row("except", anywhere, replaces(func(t *taskDraft) *Holidays { return &t.Conditions.Holidays }, readExcept),
			"the days on which it may not run"),
		row("when", anywhere, setConditionCommand,
			"a command that must succeed for it to run"),
		row("skip", anywhere, setConditionCommand,
			"a command that must fail for it to run"),
		row("environments", anywhere, replaces(func(t *taskDraft) *[]string { return &t.Environments }, readEnvironments),
			"the environments in which it runs"),
		row("enabled", anywhere, replaces(func(t *taskDraft) *bool { return &t.Enabled }, (*loader).Bool),
			"whether it runs at all"),
		row("even_when_paused", anywhere, replaces(func(t *taskDraft) *bool { return &t.EvenWhenPaused }, (*loader).Bool),
			"whether it runs while everything is paused"),
		row("even_in_maintenance", anywhere, replaces(func(t *taskDraft) *bool { return &t.EvenInMaintenance }, (*loader).Bool),
			"whether it runs while the maintenance file exists"),

		row("start_deadline", anywhere, replaces(func(t *taskDraft) *time.Duration { return &t.StartDeadline }, readStartDeadline),
			"how late after its slot it may start"),
		row("missed", anywhere, replaces(func(t *taskDraft) *bool { return &t.RunMissed }, choice("skip", "once", "once")),
			"what happens to a slot that no tick covered"),
		row("missed_within", anywhere, replaces(func(t *taskDraft) *time.Duration { return &t.MissedWithin }, readMissedWithin),
			"how old a missed slot may be that still runs"),

		row("before", anywhere, setHooks(func(h *Hooks) *[]Hook { return &h.Before }),
			"hooks before its command"),
		row("after", anywhere, setHooks(func(h *Hooks) *[]Hook { return &h.After }),
			"hooks after its command, however it ended"),
		row("on_success", anywhere, setHooks(func(h *Hooks) *[]Hook { return &h.OnSuccess }),
			"hooks after a success"),
		row("on_failure", anywhere, setHooks(func(h *Hooks) *[]Hook { return &h.OnFailure }),
			"hooks after a failure"),
		row("on_recovery", anywhere, setHooks(func(h *Hooks) *[]Hook { return &h.OnRecovery }),
			"hooks after a success that follows a failure"),
		row("on_skip", anywhere, setHooks(func(h *Hooks) *[]Hook { return &h.OnSkip }),
			"hooks for a slot that was skipped"),
		row("output", anywhere, setOutput,
			"how much of its output is kept, and where a copy goes"),
	},
}

// misplacedTaskKey returns the hint for a key that a task, a group or defaults cannot have.
func misplacedTaskKey(name string, in, known scope) string {
	switch {
	case name == "name" && in == inGroup:
		return "a group is named by `group: NAME`"
	case known&inTask != 0:
		return "put it into the tasks themselves"
	case name == "ping" || name == "webhook" || name == "mail":
		return "it is a hook, as in `on_failure: {" + name + ": …}`"
	case name == "environment":
		return `did you mean "environments"? the environment itself is set at the top of the file`
	case slices.Contains([]string{"include", "history", "metrics", "logs", "holidays", "maintenance_file", "state_dir", "defaults", "store", "lease"}, name):
		return "it belongs at the top of the file, not in " + scopeNames[in]
	}
	return ""
}

// includeKeys are the keys of an included file that is a mapping.
var includeKeys = keys[includedFile]{
	Misplaced: func(string, scope, scope) string { return "an included file holds only tasks" },
	Keys: []key[includedFile]{
		row("tasks", 0, func(_ *loader, f *includedFile, n *node) { f.tasks = n },
			"tasks and groups, in their order"),
	},
}

// historyKeys are the keys of `history`.
var historyKeys = keys[History]{Keys: []key[History]{
	row("keep", 0, replaces(func(h *History) *time.Duration { return &h.Keep }, durationFrom(time.Minute)),
		"how long runs are kept"),
	row("runs_per_task", 0, replaces(func(h *History) *int { return &h.RunsPerTask }, integerFrom(1)),
		"how many runs of a task are kept"),
}}

// metricsKeys are the keys of `metrics`.
var metricsKeys = keys[Schedule]{Keys: []key[Schedule]{
	row("textfile", 0, replaces(func(s *Schedule) *string { return &s.Textfile }, readTextfile),
		"the file that each tick writes"),
}}

// mailKeys are the keys of `mail`.
var mailKeys = keys[mailSettings]{
	Misplaced: func(name string, _, _ scope) string {
		if name == "to" {
			return "whom mails go to is said by each hook, as in `on_failure: {mail: ADDRESS}`"
		}
		return ""
	},
	Keys: []key[mailSettings]{
		row("url", 0, replaces(func(m *mailSettings) *string { return &m.url }, readMailURL),
			"the server"),
		row("from", 0, replaces(func(m *mailSettings) *string { return &m.from }, readMailFrom),
			"the sender"),
	},
}

// retryKeys are the keys of `retry`.
var retryKeys = keys[Retry]{Keys: []key[Retry]{
	row("attempts", 0, replaces(func(r *Retry) *int { return &r.Attempts }, integerFrom(1)),
		"how many attempts there are, the first included"),
	row("delay", 0, replaces(func(r *Retry) *time.Duration { return &r.Delay }, durationFrom(0)),
		"the wait before the second attempt"),
	row("backoff", 0, replaces(func(r *Retry) *float64 { return &r.Backoff }, func(l *loader, n *node) (float64, bool) { return l.Number(n, 1) }),
		"by what each further wait is longer than the one before"),
	row("max_delay", 0, replaces(func(r *Retry) *time.Duration { return &r.MaxDelay }, durationFrom(time.Nanosecond)),
		"the longest wait"),
	row("jitter", 0, replaces(func(r *Retry) *float64 { return &r.Jitter }, readJitter),
		"the part of a wait by which it may be shorter or longer"),
}}

// outputKeys are the keys of `output`.
var outputKeys = keys[Output]{Keys: []key[Output]{
	row("file", 0, replaces(func(o *Output) *string { return &o.File }, (*loader).Path),
		"where the copy goes"),
	row("append", 0, replaces(func(o *Output) *bool { return &o.Append }, (*loader).Bool),
		"whether it is added to what the file holds"),
	row("limit", 0, replaces(func(o *Output) *int64 { return &o.Limit }, readLimit),
		"how much of what a run prints is kept, its first and its last part"),
}}

// hookKeys are the keys of a hook that is a mapping.
var hookKeys = keys[hookDraft]{
	Misplaced: func(name string, _, _ scope) string {
		switch name {
		case "slack", "mattermost":
			return "write {webhook: URL, format: slack}; Mattermost takes what Slack does"
		case "url":
			return "write {ping: URL} or {webhook: URL}"
		case "from":
			return "who mails come from is said once, by `mail:` at the top of the file"
		}
		return ""
	},
	Keys: []key[hookDraft]{
		row("run", 0, setHookCommand,
			"a command"),
		row("ping", 0, setPing,
			"a URL that is fetched"),
		row("webhook", 0, setWebhook,
			"a URL to which the run is posted"),
		row("mail", 0, setAddresses,
			"addresses that get a mail"),
		row("on", 0, setMoments,
			"when a ping of healthchecks.io is sent"),
		row("format", 0, setFormat,
			"whose format a webhook has"),
		row("when", 0, setOccasion,
			"after which runs a notification is sent"),
		row("at_most", 0, setLimit,
			"how many notifications may be sent in a time"),
	},
}

// synonyms are what people write who come from other schedulers.
var synonyms = map[string]string{
	"cmd": "command", "script": "command", "exec": "command", "run": "command",
	"schedule": "cron", "interval": "every", "frequency": "every",
	"tz": "timezone", "time_zone": "timezone", "cwd": "dir", "workdir": "dir", "working_directory": "dir",
	"retries": "retry", "no_overlap": "without_overlapping", "overlapping": "without_overlapping", "without_overlap": "without_overlapping",
	"on_error": "on_failure", "on_fail": "on_failure",
	"run_in_background": "background", "on_one_server": "one_server", "even_in_maintenance_mode": "even_in_maintenance",
	"jobs": "tasks", "log": "output", "disabled": "enabled", "weekdays": "days",
}
