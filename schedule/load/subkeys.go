package load

import (
	"time"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// This file has the keys of values that are mappings themselves, at the top or in a task, and the
// list of all mappings. keys.go says how a key is added, and row.go has the functions that make the
// rows.

var historyKeys = keys[schedule.History]{Rows: func() []key[schedule.History] {
	return []key[schedule.History]{
		row("keep", replaces(func(h *schedule.History) *time.Duration { return &h.Keep }, durationFrom(time.Minute)),
			"how long runs are kept", is{Of: "duration", Default: "30d", Example: "90d"}),
		row("keep_failures",
			replaces(func(h *schedule.History) *time.Duration { return &h.KeepFailures }, durationFrom(time.Minute)),
			"how long failures are kept, and counted apart from successes",
			is{Of: "duration", Without: "as long as successes, and counted with them", Example: "180d"}),
		row("runs_per_task",
			replaces(func(h *schedule.History) *int { return &h.RunsPerTask }, integerTo(1, yamldoc.NoLimit)),
			"how many runs of a task are kept",
			is{Of: "integer", Least: 1, Most: yamldoc.NoLimit, Default: "1000", Example: "200"}),
	}
}}

var metricsKeys = keys[schedule.Schedule]{Rows: func() []key[schedule.Schedule] {
	return []key[schedule.Schedule]{
		row("textfile", replaces(func(s *schedule.Schedule) *string { return &s.Textfile }, readTextfile),
			"the file that each tick writes", is{Of: "path", Example: "/var/lib/node_exporter/textfile/shop.prom"}),
	}
}}

var mailKeys = keys[mailSettings]{
	Misplaced: func(name string, _, _ scope) string {
		if name == "to" {
			return "whom mails go to is said by each hook, as in `on_failure: {mail: ADDRESS}`"
		}
		return ""
	},
	Rows: mailRows,
}

func mailRows() []key[mailSettings] {
	return []key[mailSettings]{
		row("url", replacesBy(func(m *mailSettings) *string { return &m.url }, readMailURL),
			"the server", is{Of: "filled", Without: "sendmail of this machine", Example: "'smtp://localhost:25'"}),
		row("from", replacesBy(func(m *mailSettings) *string { return &m.from }, readMailFrom),
			"the sender", is{Of: "filled", Without: "the user of this machine", Example: "sched@example.com"}),
	}
}

var retryKeys = keys[schedule.Retry]{Rows: func() []key[schedule.Retry] {
	return []key[schedule.Retry]{
		row("attempts", replaces(func(r *schedule.Retry) *int { return &r.Attempts }, integerTo(1, yamldoc.NoLimit)),
			"how many attempts there are, the first included",
			is{Of: "integer", Least: 1, Most: yamldoc.NoLimit, Example: "3"}),
		row("delay", replaces(func(r *schedule.Retry) *time.Duration { return &r.Delay }, durationFrom(0)),
			"the wait before the second attempt", is{Of: "duration", Default: "0s", Example: "10s"}),
		row("backoff",
			replaces(func(r *schedule.Retry) *float64 { return &r.Backoff },
				func(r *reader, n *node) (float64, bool) { return r.Number(n, 1) }),
			"by what each further wait is longer than the one before",
			is{Of: "number", Least: 1, Default: "1", Example: "2"}),
		row("max_delay",
			replaces(func(r *schedule.Retry) *time.Duration { return &r.MaxDelay }, durationFrom(time.Nanosecond)),
			"the longest wait", is{Of: "duration", Without: "no bound", Example: "1m"}),
		row("lost", replaces(func(r *schedule.Retry) *bool { return &r.Lost }, (*reader).Bool),
			"whether a run that was lost is tried again, too", is{Of: "flag", Default: "false", Example: "true"}),
		row("jitter", replaces(func(r *schedule.Retry) *float64 { return &r.Jitter }, readJitter),
			"the part of a wait by which it may be shorter or longer",
			is{Of: "number", Least: 0, Most: 1, Default: "0", Example: "0.2"}),
	}
}}

var paramKeys = keys[schedule.Param]{Rows: func() []key[schedule.Param] {
	return []key[schedule.Param]{
		row("default", by(setDefault),
			"the value of a run for which nobody sets one",
			is{Of: "plain", Without: "each run must be given a value", Example: "yesterday"}),
		row("values", replaces(func(p *schedule.Param) *[]string { return &p.Values }, someOf("", (*reader).Text)),
			"the values that it may have", is{Of: "values", Without: "any", Example: "[yesterday, today]"}),
		row("pattern", replaces(func(p *schedule.Param) *string { return &p.Pattern }, readPattern),
			"a regular expression that the whole value must match",
			is{Of: "filled", Without: "any text of one line", Example: `'\d{4}-\d{2}-\d{2}'`}),
	}
}}

// A pauseDraft is an entry of pauses while it is read.
type pauseDraft struct {
	schedule.Pause
	from, until moment
	every       *node
}

var pauseKeys = keys[pauseDraft]{Rows: func() []key[pauseDraft] {
	return []key[pauseDraft]{
		row("from", replaces(func(p *pauseDraft) *moment { return &p.from }, readMoment),
			"when it begins, in the zone of the file", is{Of: "moment", Example: "2026-12-24 18:00"}),
		row("until", replaces(func(p *pauseDraft) *moment { return &p.until }, readMoment),
			"when it ends", is{Of: "moment", Example: "2026-12-27"}),
		row("every", by(func(l *loader, p *pauseDraft, n *node) {
			if _, ok := l.NonEmptyText(n); ok {
				p.every = n
			}
		}), "when it begins again and again, in words, in the zone of the file",
			is{Of: "every", Example: "sunday at 2:00", NoFalse: true}),
		row("for",
			replaces(func(p *pauseDraft) *time.Duration { return &p.For },
				durationTo(time.Minute, 366*24*time.Hour, "a year")),
			"how long it lasts", is{Of: "duration", Example: "4h"}),
		row("tasks",
			replaces(func(p *pauseDraft) *[]string { return &p.Tasks },
				someOf("leave the key out for all tasks", readName)),
			"the tasks that it is for", is{Of: "names", Without: "with tags neither: all tasks", Example: "[import]"}),
		row("tags",
			replaces(func(p *pauseDraft) *[]string { return &p.Tags },
				someOf("leave the key out for all tasks", readTag)),
			"the tags of the tasks that it is for", is{Of: "someWords", Example: "[database]"}),
		row("stop", replaces(func(p *pauseDraft) *bool { return &p.Stop }, (*reader).Bool),
			"whether the runs are stopped that go on when it begins",
			is{Of: "flag", Default: "false", Example: "true"}),
		row("reason", replaces(func(p *pauseDraft) *string { return &p.Reason }, readDescription),
			"why", is{Of: "remark", Example: "backup of the database"}),
	}
}}

var expectKeys = keys[schedule.Expect]{Rows: func() []key[schedule.Expect] {
	return []key[schedule.Expect]{
		row("within", replaces(func(e *schedule.Expect) *time.Duration { return &e.Within }, durationFrom(time.Second)),
			"the longest that a run should take, all attempts and the waits between them together",
			is{Of: "duration", Without: "no bound", Example: "30m"}),
		row("every", replaces(func(e *schedule.Expect) *time.Duration { return &e.Every }, durationFrom(time.Second)),
			"the longest that there should be no success", is{Of: "duration", Without: "no bound", Example: "26h"}),
	}
}}

var limitKeys = keys[schedule.Limits]{Rows: func() []key[schedule.Limits] {
	return []key[schedule.Limits]{
		row("memory",
			replaces(func(l *schedule.Limits) *int64 { return &l.Memory }, sizeFrom(minMemory)).shows(showMemory),
			"the memory of all its processes", is{Of: "size", Without: "no limit", Example: "512MB"}),
		row("cpu", replaces(func(l *schedule.Limits) *int { return &l.CPU }, readPercent).shows(showPercent),
			"the part of a processor that all its processes have",
			is{Of: "percent", Without: "no limit", Example: "80%"}),
		row("files",
			replaces(func(l *schedule.Limits) *int { return &l.Files }, integerTo(minOpenFiles, yamldoc.NoLimit)),
			"how many files each of its processes may have open",
			is{
				Of:      "integer",
				Least:   minOpenFiles,
				Most:    yamldoc.NoLimit,
				Without: "as many as sched",
				Example: "4096",
			}),
	}
}}

var outputKeys = keys[schedule.Output]{Rows: func() []key[schedule.Output] {
	return []key[schedule.Output]{
		row("file", replaces(func(o *schedule.Output) *string { return &o.File }, (*reader).Path),
			"where the copy goes", is{Of: "path", Example: "logs/report.log"}),
		row("append", replaces(func(o *schedule.Output) *bool { return &o.Append }, (*reader).Bool),
			"whether it is added to what the file holds", is{Of: "flag", Default: "false", Example: "true"}),
		row("limit",
			replaces(func(o *schedule.Output) *int64 { return &o.Limit }, sizeFrom(minOutputLimit)).shows(showLimit),
			"how much of what a run prints is kept, its first and its last part",
			is{Of: "size", Default: "64MB", Example: "10MB"}),
	}
}}

var hookKeys = keys[hookDraft]{
	Misplaced: func(name string, _, _ scope) string {
		switch name {
		case "slack", "mattermost":
			return "write {webhook: URL, format: slack}; Mattermost takes what Slack does"
		case "teams", "discord":
			return "write {webhook: URL, format: " + name + "}"
		case "ntfy":
			return "write {webhook: URL, format: text}"
		case "url":
			return "write {ping: URL} or {webhook: URL}"
		case "from":
			return "who mails come from is said once, by `mail:` at the top of the file"
		}
		return ""
	},
	Rows: hookRows,
}

// hookRows are the keys of a hook. Their order counts: setters look at what earlier rows have set.
func hookRows() []key[hookDraft] {
	return []key[hookDraft]{
		row("run", by(setHookCommand),
			"a command", is{Of: "command", Example: "[logger, report ended]"}),
		row("trigger", by(setTrigger),
			"another task, which is started at once", is{Of: "triggered", Example: "load"}),
		row("ping", targetKey("ping", func(n *schedule.Notification) *string { return &n.Ping }),
			"a URL that is fetched", is{Of: "filled", Example: "'https://hc-ping.com/uuid'"}),
		row("webhook", targetKey("webhook", func(n *schedule.Notification) *string { return &n.Webhook }),
			"a URL to which the run is posted", is{Of: "filled", Example: "'https://example.com/hook'"}),
		row("mail", by(setAddresses),
			"addresses that get a mail", is{Of: "someWords", Example: "[ops@example.com]"}),
		row("sentry", by(setSentry),
			"the DSN of a project whose Crons watch the task",
			is{Of: "filled", Example: "'https://key@o1.ingest.sentry.io/2'"}),
		row("on", by(setOn),
			"when a ping of healthchecks.io is sent",
			is{Of: "moments", Words: momentWords, Without: "at the end of the run",
				Example: "[start, success, failure]"}),
		row("format", by(setFormat),
			"whose format a webhook has",
			is{Words: webhookFormats, Without: "all that there is to tell, as JSON", Example: "slack"}),
		row("after", by(setAfter),
			"from how many failures in a row on it fires, in on_failure and on_recovery",
			is{Of: "integer", Least: 1, Most: schedule.MaxFailureStreak, Default: "1", Example: "3"}),
		row("when", by(setWhen),
			"after which runs a notification is sent",
			is{Words: []string{string(schedule.Changed), string(schedule.Printed)}, Without: "always",
				Example: "changed"}),
		row("at_most", by(setAtMost),
			"how many notifications may be sent in a time", is{Of: "limit", Without: "no bound", Example: "1 per 6h"}),
	}
}

// A Mapping is a kind of mapping in the files of a schedule, with keys of its own.
type Mapping string

// The mappings are a closed list. A mapping after Included is the value of the key of its name;
// InHook is a value of each key of hooks.
const (
	Top      Mapping = "schedule"
	InTask   Mapping = "task"
	InGroup  Mapping = "taskGroup"
	Defaults Mapping = "defaults"
	Included Mapping = "included"

	InHistory Mapping = "history"
	InMetrics Mapping = "metrics"
	InMail    Mapping = "mail"
	InPause   Mapping = "pause"
	InRetry   Mapping = "retry"
	InParam   Mapping = "param"
	InExpect  Mapping = "expect"
	InLimits  Mapping = "limits"
	InOutput  Mapping = "output"
	InHook    Mapping = "hook"
)

// Keys returns the keys that the mapping may have, as the loader reads them and in that order.
func Keys(mapping Mapping) []yamldoc.Entry {
	for _, m := range mappings() {
		if m.name == mapping {
			return m.keys
		}
	}
	if mapping != Included {
		panic("load: there is no mapping " + string(mapping))
	}
	return includeKeys.Entries(0)
}
