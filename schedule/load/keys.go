package load

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/calendar"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// This file holds the keys of schedule.yaml: a table for the top of the file, and one for tasks,
// groups and defaults. The table of a mapping inside them is where its values are read. To add a
// key:
//
//  1. add the field to the type that it belongs to, such as schedule.Schedule or schedule.Task;
//  2. add a row to its table: its name, the scopes that may have it, how its value is read and
//     shown, what it means, and which values it may have (is). row.go has the words of a row. A
//     value replaces an inherited one, or has a setter of its own, called set…. With any key, false
//     takes the inherited value away;
//  3. write the reader, if no reader of yamldoc.Reader or of this package will do;
//  4. give a new kind of value its schema in schema.go, and write the schema anew with
//     `go run . schema -o docs/schedule.schema.json`;
//  5. document the key in docs/schedule-yaml.md, and add its mistakes to the rows of
//     problems_test.go.
//
// The rows are in the order of the docs. Values are set in this order, after the values of the keys
// that are early: commands need the shell, for example.

var topKeys = keys[settings]{
	Extensions: true,
	Misplaced: func(name string, _, _ scope) string {
		if taskKeys.Has(name, taskScope) {
			return "it is a key of tasks: put it into a task, or under `defaults:` for all of them"
		}
		return cmp.Or(topHints()[plainKey(name)], concurrencyHints()[plainKey(name)], ofTasks(name))
	},
	Rows: topRows,
}

// ofTasks is the hint for a word at the top of the file that stands for a key of tasks. It is ""
// for a word that is near a key of the top.
func ofTasks(name string) string {
	line := synonyms()[yamldoc.SnakeCase(name)]
	ours, _, _ := strings.Cut(line, ": ")
	isNearTop := slices.ContainsFunc(topRows(), func(k key[settings]) bool {
		return k.Name == ours || humanize.Nearest(name, []string{k.Name}) != ""
	})
	switch {
	case line == "" || isNearTop:
		return ""
	case taskKeys.Has(ours, defaultsScope):
		return "write `" + line + "` in a task, or under `defaults:` for all of them"
	case taskKeys.Has(ours, taskScope):
		return "write `" + line + "` in a task"
	}
	return ""
}

func topRows() []key[settings] {
	return []key[settings]{
		row("name", replaces(func(s *settings) *string { return &s.ownName }, readScheduleName),
			"the name of the schedule; servers that share a store meet under it",
			is{Of: "scheduleName", Without: "the name of the folder", Example: "shop"}),
		row("timezone", replacesBy(func(s *settings) **time.Location { return &s.Location }, readZone),
			"the zone in which times are meant", is{Of: "word", Without: "the machine's", Example: "Asia/Shanghai"}),
		row("environment", replaces(func(s *settings) *string { return &s.Environment }, (*reader).NonEmptyExpanded),
			"what the `environments` of tasks are compared with",
			is{Of: "word", Default: "production", Example: "${APP_ENV:-production}"}),
		row("store", by(setStore),
			"where servers share their locks",
			is{Of: "store", Without: "locks on this machine alone", Example: "redis://localhost:6379/0"}),
		row("lease", replaces(func(s *settings) *time.Duration { return &s.Store.Lease }, durationFrom(minLease)),
			"how long a lock in the store outlives its holder", is{Of: "duration", Default: "60s", Example: "30s"}),
		row("server", replaces(func(s *settings) *string { return &s.Server }, readServer),
			"the name of this machine, as the others of the store know it; $SCHED_SERVER comes first",
			is{Of: "server", Without: "its host name", Example: "${NODE_NAME:-}"}),
		row("state_dir", replaces(func(s *settings) *string { return &s.ownStateDir }, (*reader).Path),
			"the folder of locks, history and outputs",
			is{Of: "path", Without: ".sched beside the file; for a file in /etc a folder in /var/lib/sched",
				Example: "${HOME}/.local/state/shop"}),
		row("env", by(setTopEnv),
			"variables of all commands", is{Of: "variables", Example: "{PATH: /usr/local/bin:/usr/bin:/bin}"}),
		row("include", by(setLater[settings]),
			"files with more tasks", is{Of: "patterns", Example: "[schedule.d/*.yaml]"}),
		row("pools", by(setPools),
			"how many runs of each pool may go on at once", is{Of: "pools", Example: "{database: 2}"}),
		row("history", by(setHistory),
			"how much of the past is kept", is{Of: "history", Example: "{keep: 90d, runs_per_task: 200}"}),
		row("metrics", by(setMetrics),
			"metrics for the textfile collector of the node exporter",
			is{Of: "metrics", Example: "{textfile: /var/lib/node_exporter/textfile/shop.prom}"}),
		row("logs", replaces(func(s *settings) *bool { return &s.Logs }, (*reader).Bool),
			"whether ticks and sched work print what tasks print", is{Of: "flag", Default: "false", Example: "true"}),
		row("mail", by(setMail),
			"the server and the sender of mails",
			is{Of: "mail", Without: "sendmail of this machine",
				Example: "{url: 'smtp://localhost:25', from: sched@example.com}"}),
		holidaysRow(),
		calendarsRow(),
		row("assert", by(setAssertions),
			"what must be true of the due times; sched check proves it",
			is{Of: "assertions", Default: "[]", Example: "[backup starts between 01:00 and 05:00 every day]"}),
		row("pauses", by(setPauses),
			"times in which tasks do not start, once or again and again",
			is{Of: "pauses", Default: "[]",
				Example: "[{every: sunday at 2:00, for: 4h, tags: [database], reason: backup}]"}),
		row("maintenance_file", replaces(func(s *settings) *string { return &s.Maintenance }, (*reader).Path),
			"a file that keeps tasks from running while it exists", is{Of: "path", Example: "storage/framework/down"}),
		row("defaults", by(setLater[settings]),
			"keys that every task inherits", is{Of: "defaults", Example: "{timeout: 1h}"}),
		row("tasks", by(setLater[settings]),
			"the tasks and groups, in their order",
			is{Of: "tasks", Example: "[{name: hello, every: minute, command: echo hello}]"}),
	}
}

func holidaysRow() key[settings] {
	return row("holidays", by(setHolidays),
		"dates and files of dates, for `except: holidays`",
		is{Of: "holidays", Example: "[2026-12-25 Christmas, 12-26]"})
}

func calendarsRow() key[settings] {
	return row("calendars", by(setCalendars),
		"calendars of working days, by their names",
		is{Of: "calendars", Example: "{de: {holidays: [holidays-de.ics, 12-24], through: 2028-12-31}}"})
}

var taskKeys = keys[taskDraft]{
	Scopes:    scopeName,
	Misplaced: misplacedTaskKey,
	Reference: "docs/schedule-yaml.md lists the keys of tasks",
	Rows:      taskRows,
}

func taskRows() []key[taskDraft] {
	return []key[taskDraft]{
		taskRow("name", taskScope, by(setTaskName),
			"how commands and messages call the task; unique",
			is{Of: "name", Example: "nightly-report", NoFalse: true}),
		taskRow("tasks", groupScope, by(setLater[taskDraft]),
			"the tasks of a group",
			is{Of: "tasks", Example: "[{name: load, command: ./load.sh, every: hour}]", NoFalse: true}),
		taskRow("description", taskScope,
			replaces(func(t *taskDraft) *string { return &t.Description }, readDescription),
			"what the task is for", is{Of: "remark", Example: "The numbers of yesterday"}),
		taskRow("tags", anywhere, replaces(func(t *taskDraft) *[]string { return &t.Tags }, listOf(readTag)),
			"words by which commands choose tasks", is{Of: "words", Example: "[reports, slow]"}),
		taskRow("every", taskScope|groupScope,
			by(setEvery).shows(func(t *taskDraft) any { return settingValue(t.When.Every) }),
			"when it is due, in words", is{Of: "every", Example: "weekday at 02:30", NoFalse: true}),
		taskRow("cron", taskScope|groupScope,
			by(setCron).shows(func(t *taskDraft) any { return settingValue(t.When.Texts()) }).early(),
			"when it is due, as one or more cron expressions", is{Of: "cron", Example: "'*/5 * * * *'", NoFalse: true}),
		taskRow("schedule", taskScope|groupScope,
			by(setSchedule).shows(func(t *taskDraft) any { return settingValue(t.TimeValues) }),
			"when it is due, with values of its params for each time",
			is{Of: "times", Example: "[{every: hour, params: {REGION: eu}}]", NoFalse: true}),
		taskRow("timezone", anywhere,
			replacesBy(func(t *taskDraft) **time.Location { return &t.When.Location }, readZone),
			"the zone in which its times are meant",
			is{Of: "word", Without: "the zone of the file", Example: "America/New_York"}),
		taskRow("from", anywhere,
			replaces(func(t *taskDraft) *moment { return &t.from }, readMoment).
				shows(func(t *taskDraft) any { return showMoment(t.When.From, t.When.Location) }),
			"it is not due before this time", is{Of: "moment", Without: "no bound", Example: "2026-12-01"}),
		taskRow("until", anywhere,
			replaces(func(t *taskDraft) *moment { return &t.until }, readMoment).
				shows(func(t *taskDraft) any { return showMoment(t.When.Until, t.When.Location) }),
			"it is not due from this time on", is{Of: "moment", Without: "no bound", Example: "2027-01-06 18:00"}),
		taskRow("spread", anywhere,
			replaces(func(t *taskDraft) *time.Duration { return &t.Spread },
				durationTo(minSpread, maxSpread, "a day")),
			"over how long its due times are spread, each task and server having its own part",
			is{Of: "duration", Without: "it is due when it says", Example: "10m"}),
		taskRow("command", taskScope|groupScope, by(setCommand).shows(func(t *taskDraft) any { return t.Command }),
			"what it runs", is{Of: "command", Example: "./report.sh --all", NoFalse: true}),
		taskRow("shell", anywhere,
			replaces(func(t *taskDraft) *[]string { return &t.shell }, readShell).shows(showShell).early(),
			"what runs a command that is a text",
			is{Of: "arguments", Default: "[/bin/sh, -c]", Example: "[/bin/bash, -euo, pipefail, -c]"}),
		taskRow("dir", anywhere, replaces(func(t *taskDraft) *string { return &t.Dir }, (*reader).Path),
			"the folder in which its commands run",
			is{Of: "path", Without: "the folder of the file", Example: "${HOME}/site"}),
		taskRow("env", anywhere, by(setEnv).shows(func(t *taskDraft) any { return t.Env }),
			"variables of its commands", is{Of: "variables", Example: "{MODE: nightly}"}),
		taskRow("env_file", anywhere, by(setEnvFiles).shows(func(t *taskDraft) any { return settingValue(t.EnvFiles) }),
			"files of variables, read when a command starts", is{Of: "paths", Example: "[.env]"}),
		taskRow("secrets", anywhere,
			by(setSecrets).shows(showSecrets),
			"variables whose values are masked in its output, besides what env_file has; false masks nothing",
			is{Of: "variableNames", Default: "[]", Example: "[DB_PASSWORD]"}),
		taskRow("params", anywhere, by(setParams).shows(func(t *taskDraft) any { return t.Params }),
			"variables of its commands that a person may set for one run",
			is{Of: "params", Example: "{DAY: yesterday}"}),
		taskRow("user", anywhere, replaces(func(t *taskDraft) *string { return &t.As.User }, readAccount),
			"the user that its commands run as", is{Of: "account", Without: "the user of sched", Example: "www-data"}),
		taskRow("group", anywhere, by(setGroup).shows(func(t *taskDraft) any { return settingValue(t.As.Group) }),
			"in a group its name; elsewhere the group that commands run as",
			is{Of: "group", Without: "in a task, the group of its user", Example: "warehouse"}),
		taskRow("umask", anywhere,
			replaces(func(t *taskDraft) **int { return &t.As.Umask }, readUmask).shows(showUmask),
			"the umask of its commands, in octal", is{Of: "umask", Without: "that of sched", Example: "'027'"}),
		taskRow("nice", anywhere, replaces(func(t *taskDraft) **int { return &t.As.Nice }, readNice),
			"the priority of its commands",
			is{Of: "integer", Least: -20, Most: 19, Without: "that of sched", Example: "10"}),
		taskRow("limits", anywhere,
			by(setLimits).shows(func(t *taskDraft) any { return shownKeys(&limitKeys, &t.Limits) }),
			"how much its command may use",
			is{Of: "limits", Without: "no limit", Example: "{memory: 512MB, cpu: 80%, files: 4096}"}),

		taskRow("background", anywhere, replaces(func(t *taskDraft) *bool { return &t.Background }, (*reader).Bool),
			"whether it runs on without its tick", is{Of: "flag", Default: "false", Example: "true"}),
		taskRow("without_overlapping", anywhere, by(setOverlapping).shows(showOverlapping),
			"whether it is skipped while its mutex is held, waits for it, or ends its run that has it",
			is{Of: "overlapping", Default: "false", Example: "true"}),
		taskRow("wait_at_most", anywhere,
			replaces(func(t *taskDraft) *time.Duration { return &t.MaxWait }, readWaitAtMost),
			"how long a run waits for its mutex and its seat before it is skipped, "+
				"with `without_overlapping: wait` or `replace`",
			is{Of: "duration", Default: "1h", Example: "20m"}),
		taskRow("mutex", anywhere, by(setMutex).shows(func(t *taskDraft) any { return t.Mutex }).early(),
			"the name of the lock that it shares with other tasks",
			is{Of: "mutex", Without: "the name of the task", Example: "database"}),
		taskRow("pool", anywhere, replacesBy(func(t *taskDraft) *schedule.Pool { return &t.Pool }, readPool),
			"the pool that limits how many of its runs, and of others, go on at once",
			is{Of: "mutex", Without: "no limit", Example: "database"}),
		taskRow("one_server", anywhere, replaces(func(t *taskDraft) *bool { return &t.OneServer }, readOneServer),
			"whether one server alone runs a slot", is{Of: "flag", Default: "false", Example: "true"}),
		taskRow("prefer", anywhere, replaces(func(t *taskDraft) *[]string { return &t.Prefer }, readPrefer),
			"the servers that run its slots as long as they take part, with `one_server`",
			is{Of: "serverNames", Example: "[web-1]"}),
		taskRow("store_down", anywhere, by(setStoreDown).shows(showStoreDown),
			"what happens when the store does not answer",
			is{Words: storeDownWords.words, Default: "skip", Example: "run"}),
		taskRow("on_lost_lease", anywhere,
			by(setOnLostLease).shows(showOnLostLease),
			"what happens to a run whose lock was lost",
			is{Words: lostLeaseWords.words, Default: "continue", Example: "stop"}),

		taskRow("timeout", anywhere,
			replaces(func(t *taskDraft) *time.Duration { return &t.Timeout },
				durationOrNone(time.Nanosecond, "without a timeout", "end every attempt at once")),
			"the longest that an attempt may take", is{Of: "durationOrNone", Default: "none", Example: "20m"}),
		taskRow("kill_after", anywhere,
			replaces(func(t *taskDraft) *time.Duration { return &t.KillAfter }, durationFrom(0)).
				shows(func(t *taskDraft) any { return t.KillAfter }),
			"how long a command has to end after TERM", is{Of: "duration", Default: "10s", Example: "5s"}),
		taskRow("retry", anywhere,
			by(setRetry).shows(func(t *taskDraft) any { return shownKeys(&retryKeys, &t.Retry) }),
			"how often a failed attempt is tried again",
			is{Of: "retry", Without: "one attempt", Example: "{attempts: 3, delay: 10s, backoff: 2}"}),
		taskRow("expect", anywhere,
			by(setExpect).shows(func(t *taskDraft) any { return shownKeys(&expectKeys, &t.Expect) }),
			"how long a run and the time between two successes may take before it counts as overdue",
			is{Of: "expect", Without: "nothing is expected", Example: "{within: 30m, every: 26h}"}),
		taskRow("pause_after", anywhere,
			replaces(func(t *taskDraft) *int { return &t.PauseAfter }, integerTo(1, schedule.MaxFailureStreak)),
			"after how many failures in a row sched pauses it",
			is{Of: "integer", Least: 1, Most: schedule.MaxFailureStreak, Without: "it is not paused", Example: "5"}),
		taskRow("success_codes", anywhere,
			replaces(func(t *taskDraft) *[]int { return &t.SuccessCodes }, someOf("", readExitCode)),
			"the exit codes that count as success",
			is{Of: "codes", Least: 0, Most: 255, Default: "[0]", Example: "[0, 3]"}),
		taskRow("warn_codes", anywhere,
			replaces(func(t *taskDraft) *[]int { return &t.WarnCodes }, someOf("", readExitCode)),
			"the exit codes that count as success, with a warning",
			is{Of: "codes", Least: 0, Most: 255, Without: "none", Example: "[75]"}),
		taskRow("report", anywhere, by(setReport).shows(showReport),
			"what must be true of the numbers that a run reports",
			is{Of: "report", Without: "nothing is reported", Example: "{rows: {at_least: 1, usual: 50%}}"}),
		taskRow("fail_if", anywhere, by(setPrinted(failIf)).shows(showPrinted(failIf)),
			"what a run prints that makes it a failure",
			is{Of: "printed", Without: "the output does not count", Example: "{output: Traceback}"}),
		taskRow("warn_if", anywhere, by(setPrinted(warnIf)).shows(showPrinted(warnIf)),
			"what a run prints that makes it a success with a warning",
			is{Of: "printed", Without: "the output does not count", Example: "{output: deprecat, stderr: any}"}),
		taskRow("require", anywhere, by(setRequire).shows(showRequire),
			"files that a run must leave",
			is{Of: "required", Without: "none", Example: "{file: backup.tgz, newer_than: run, at_least: 1KiB}"}),

		taskRow("enabled", anywhere, replaces(func(t *taskDraft) *bool { return &t.Enabled }, (*reader).Bool),
			"whether it runs at all", is{Of: "flag", Default: "true", Example: "false"}),
		taskRow("environments", anywhere, replaces(func(t *taskDraft) *[]string { return &t.Environments },
			someOf("leave the key out for every environment, or switch the task off with `enabled: false`",
				(*reader).NonEmptyExpanded)),
			"the environments in which it runs", is{Of: "someWords", Without: "everywhere", Example: "[production]"}),
		taskRow("servers", anywhere, replaces(func(t *taskDraft) *[]string { return &t.Servers }, readServers),
			"the servers that run it, by their names or labels",
			is{Of: "servers", Without: "all of them", Example: "[web-1, 'worker-*', role=db]"}),
		taskRow("days", anywhere, replaces(func(t *taskDraft) *schedule.Days { return &t.Conditions.Days }, readDays),
			"the days of the week on which it may run", is{Of: "days", Without: "every day", Example: "weekdays"}),
		taskRow("except", anywhere,
			replacesBy(func(t *taskDraft) *schedule.Holidays { return &t.Conditions.Holidays }, readExcept).
				shows(showExcept),
			"the days on which it may not run", is{Of: "except", Default: "[]", Example: "holidays"}),
		taskRow("calendar", anywhere,
			replacesBy(func(t *taskDraft) *calendar.Set { return &t.calendars }, readCalendars).
				shows(showCalendars),
			"the calendars of its working days: a day must be one in all of them",
			is{Of: "names", Without: "every day counts", Example: "[de, bank]"}),
		taskRow("on_holiday", anywhere,
			replacesBy(func(t *taskDraft) *calendar.Move { return &t.onHoliday }, readMove).shows(showMove),
			"what happens to a slot on a day that is no working day, with `calendar`",
			is{Words: calendar.Moves, Default: "skip", Example: "next"}),
		taskRow("between", anywhere,
			replaces(func(t *taskDraft) *[]schedule.Window { return &t.Conditions.Between }, readWindows),
			"the times of the day in which it may run",
			is{Of: "windows", Without: "at any time", Example: "['8:00', '17:00']"}),
		taskRow("unless_between", anywhere,
			replaces(func(t *taskDraft) *[]schedule.Window { return &t.Conditions.UnlessBetween }, readWindows),
			"the times of the day in which it may not run",
			is{Of: "windows", Without: "never", Example: "[['12:00', '12:30'], ['22:00', '6:00']]"}),
		taskRow("when", anywhere, by(setConditionCommand).shows(showConditionCommand("when")),
			"a command that must succeed for it to run",
			is{Of: "condition", Default: "[]", Example: "test -n \"$(ls inbox)\"", NoFalse: true}),
		taskRow("skip", anywhere, by(setConditionCommand).shows(showConditionCommand("skip")),
			"a command that must fail for it to run",
			is{Of: "condition", Default: "[]", Example: "[pgrep, -x, rsync]"}),
		taskRow("even_when_paused", anywhere,
			replaces(func(t *taskDraft) *bool { return &t.EvenWhenPaused }, (*reader).Bool),
			"whether it runs while everything is paused", is{Of: "flag", Default: "false", Example: "true"}),
		taskRow("even_in_maintenance", anywhere,
			replaces(func(t *taskDraft) *bool { return &t.EvenInMaintenance }, (*reader).Bool),
			"whether it runs while the maintenance file exists", is{Of: "flag", Default: "false", Example: "true"}),
		taskRow("start_deadline", anywhere,
			replaces(func(t *taskDraft) *time.Duration { return &t.StartDeadline },
				durationOrNone(time.Second, "that may start at any time", "skip every run")),
			"how late after its slot it may start", is{Of: "durationOrNone", Default: "none", Example: "5m"}),
		taskRow("missed", anywhere, by(setMissed).shows(showMissed),
			"what happens to a slot that no tick covered, or that fell into a pause",
			is{Words: missedWords.words, Default: "skip", Example: "once"}),
		taskRow("missed_within", anywhere,
			replaces(func(t *taskDraft) *time.Duration { return &t.MissedWithin },
				durationTo(time.Minute, schedule.LookBack, "the 31 days that sched looks back")),
			"how old a missed slot may be that still runs", is{Of: "duration", Default: "12h", Example: "8h"}),
		taskRow("missed_at_most", anywhere,
			replaces(func(t *taskDraft) *int { return &t.MaxMissed }, integerTo(1, schedule.MaxMissedSlots)),
			"how many missed slots run with missed: all, the newest ones",
			is{Of: "integer", Least: 1, Most: schedule.MaxMissedSlots, Default: "100", Example: "24"}),

		taskRow("before", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.Before }),
			"hooks before its command", is{Of: "hooksBeforeARun", Example: "test -w /var/reports"}),
		taskRow("on_success", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.OnSuccess }),
			"hooks after a success", is{Of: "hooks", Example: "./publish.sh"}),
		taskRow("on_warning", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.OnWarning }),
			"hooks after a success with a warning, after the hooks of on_success",
			is{Of: "hooks", Example: "{mail: ops@example.com}"}),
		taskRow("on_failure", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.OnFailure }),
			"hooks after a failure",
			is{Of: "hooksOfFailures", Example: "{mail: ops@example.com, after: 3, at_most: 1 per 6h}"}),
		taskRow("on_recovery", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.OnRecovery }),
			"hooks after a success that follows a failure",
			is{Of: "hooksOfFailures", Example: "{webhook: 'https://hooks.slack.com/services/T0', format: slack}"}),
		taskRow("on_skip", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.OnSkip }),
			"hooks for a slot that was skipped", is{Of: "hooksBeforeARun", Example: "echo \"$SCHED_REASON\""}),
		taskRow("on_overdue", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.OnOverdue }),
			"hooks for a task that is overdue", is{Of: "hooksBeforeARun", Example: "{mail: ops@example.com}"}),
		taskRow("after", anywhere, hooksOf(func(h *schedule.Hooks) *[]schedule.Hook { return &h.After }),
			"hooks after its command, however it ended",
			is{Of: "hooksAfterAll", Example: "{ping: 'https://hc-ping.com/uuid'}"}),
		taskRow("otlp", anywhere, replacesBy(func(t *taskDraft) *string { return &t.OTLP }, readOTLP),
			"the collector that gets a trace of each run, by the protocol of OpenTelemetry",
			is{Of: "filled", Without: "nobody", Example: "'http://localhost:4318'"}),
		taskRow("output", anywhere,
			by(setOutput).shows(func(t *taskDraft) any { return shownKeys(&outputKeys, &t.Output) }),
			"how much of its output is kept, and where a copy goes",
			is{Of: "output", Without: "64MB are kept, and there is no copy",
				Example: "{file: logs/report.log, append: true}"}),
	}
}

// misplacedTaskKey returns the hint for a key that a task, a group or defaults cannot have.
func misplacedTaskKey(name string, in, known scope) string {
	switch {
	case name == "name" && in == groupScope:
		return "a group is named by `group: NAME`"
	case known&taskScope != 0:
		return "put it into the tasks themselves"
	case name == "ping" || name == "webhook" || name == "mail" || name == "trigger":
		return "it is a hook, as in `on_failure: {" + name + ": …}`"
	case slices.Contains(presetNames(), name):
		return "write `on_failure: {preset: " + name + ", with: {…}}`"
	case known == 0 && taskHints()[plainKey(name)] != "":
		return taskHints()[plainKey(name)]
	case humanize.Nearest(name, []string{"environment", "environments"}) == "environment":
		return "variables are set by `env`, and `environments` are those in which it runs; " +
			"the environment itself is set at the top of the file"
	case known == 0 && concurrencyHints()[plainKey(name)] != "":
		return concurrencyHints()[plainKey(name)]
	case known == 0 && name != "server" && isTopKey(name):
		return "it belongs at the top of the file, not in " + scopeName(in)
	}
	return ""
}

// isTopKey reports whether a key belongs at the top of the file. It calls topRows, because topKeys
// calls taskKeys: Go refuses such a cycle of variables.
func isTopKey(name string) bool {
	return slices.ContainsFunc(topRows(), func(k key[settings]) bool { return k.Name == name })
}

// includeKeys are the keys of an included file that is a mapping.
var includeKeys = keys[struct{}]{
	Misplaced: func(string, scope, scope) string { return "an included file holds only tasks" },
	Rows: func() []key[struct{}] {
		return []key[struct{}]{
			row("tasks", by(setLater[struct{}]),
				"tasks and groups, in their order",
				is{Of: "tasks", Example: "[{name: hello, every: minute, command: echo hello}]"}),
		}
	},
}
