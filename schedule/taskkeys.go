package schedule

import (
	"math"
	"slices"
	"time"

	"gopkg.in/yaml.v3"
)

// An entry is a task, a group or the defaults, while it is read. A task begins as a copy of the
// group or the defaults it is in, so what it does not say it has from there.
type entry struct {
	Task
	isGroup bool       // so `group` names the entry
	group   string     // its name
	tasks   *yaml.Node // of a group

	hasCommand bool
	shell      []string
	timing     timing // in effect
	own        timing // of this level
}

// taskKeys are in the order in which they are set: the messages need the name, and the commands
// the shell.
var taskKeys = keys[entry]{
	elsewhere: func(name string, where scope) string {
		switch {
		case name == "name" && where == inGroup:
			return "a group is named by `group: NAME`"
		case where != inTask && taskWord(name):
			return "put it into the tasks themselves"
		case name == "ping" || name == "webhook" || name == "mail":
			return "it is a hook, as in `on_failure: {" + name + ": …}`"
		case name == "environment":
			return `did you mean "environments"? the environment itself is set at the top of the file`
		case slices.Contains([]string{"include", "history", "metrics", "holidays", "maintenance_file", "state_dir", "defaults", "store", "lease"}, name):
			return "it belongs at the top of the file, not in " + where.String()
		}
		return ""
	},
	list: []key[entry]{
		{"name", inTask, func(l *loader, e *entry, n *yaml.Node) {
			if text, ok := l.text(n); ok && l.validName(n, text) {
				e.Name = text
				l.unique(n, text)
			}
		}},
		{"group", anywhere, readGroup},
		{"tasks", inGroup, func(l *loader, e *entry, n *yaml.Node) { e.tasks = n }},
		{"description", inTask, func(l *loader, e *entry, n *yaml.Node) { e.Description, _ = l.text(n) }},
		{"tags", anywhere, func(l *loader, e *entry, n *yaml.Node) { e.Tags, _ = l.texts(n) }},

		{"cron", inTask | inGroup, readCron},
		{"every", inTask | inGroup, readEvery},
		{"timezone", anywhere, func(l *loader, e *entry, n *yaml.Node) {
			if zone, ok := l.zone(n); ok {
				e.When.Location = zone
			}
		}},

		{"shell", anywhere, readShell},
		{"command", inTask | inGroup, func(l *loader, e *entry, n *yaml.Node) {
			e.hasCommand = true
			e.Command, _ = l.command(n, e.shell)
		}},
		{"dir", anywhere, func(l *loader, e *entry, n *yaml.Node) {
			if dir, ok := l.path(n); ok {
				e.Dir = dir
			}
		}},
		{"env", anywhere, func(l *loader, e *entry, n *yaml.Node) { e.Env = l.variables(n, e.Env) }},
		{"env_file", anywhere, readEnvFiles},
		{"user", anywhere, func(l *loader, e *entry, n *yaml.Node) { e.As.User, _ = l.account(n) }},
		{"umask", anywhere, readUmask},
		{"nice", anywhere, func(l *loader, e *entry, n *yaml.Node) {
			if nice, ok := l.whole(n, -20, 19); ok {
				e.As.Nice = &nice
			}
		}},

		{"background", anywhere, flag(func(e *entry) *bool { return &e.Background })},
		{"mutex", anywhere, func(l *loader, e *entry, n *yaml.Node) {
			if text, ok := l.text(n); ok && l.validName(n, text) {
				e.Mutex = text
				e.WithoutOverlapping = true // what else would one name a mutex for
			}
		}},
		{"without_overlapping", anywhere, flag(func(e *entry) *bool { return &e.WithoutOverlapping })},
		{"one_server", anywhere, flag(func(e *entry) *bool { return &e.OneServer })},
		{"store_down", anywhere, func(l *loader, e *entry, n *yaml.Node) {
			if text, ok := l.text(n); ok {
				if text != "skip" && text != "run" {
					l.bad(n, "", "store_down must be skip or run, not %s", found(n))
				}
				e.RunWhenStoreDown = text == "run"
			}
		}},

		{"on_lost_lease", anywhere, readLostLease},

		{"timeout", anywhere, readTimeout},
		{"kill_after", anywhere, func(l *loader, e *entry, n *yaml.Node) {
			if d, ok := l.duration(n, 0); ok {
				e.KillAfter = d
			}
		}},
		{"retry", anywhere, readRetry},
		{"success_codes", anywhere, readCodes},

		{"between", anywhere, readWindows(func(c *Conditions) *[]Window { return &c.Between })},
		{"unless_between", anywhere, readWindows(func(c *Conditions) *[]Window { return &c.UnlessBetween })},
		{"days", anywhere, readDays},
		{"except", anywhere, readExcept},
		{"when", anywhere, readConditionCommand},
		{"skip", anywhere, readConditionCommand},
		{"environments", anywhere, readEnvironments},
		{"enabled", anywhere, flag(func(e *entry) *bool { return &e.Enabled })},
		{"even_when_paused", anywhere, flag(func(e *entry) *bool { return &e.EvenWhenPaused })},
		{"even_in_maintenance", anywhere, flag(func(e *entry) *bool { return &e.EvenInMaintenance })},

		{"start_deadline", anywhere, readStartDeadline},
		{"missed", anywhere, func(l *loader, e *entry, n *yaml.Node) {
			if text, ok := l.text(n); ok {
				if text != "skip" && text != "once" {
					l.bad(n, "", "missed must be skip or once, not %s", found(n))
				}
				e.RunMissed = text != "skip"
			}
		}},
		{"missed_within", anywhere, readMissedWithin},

		{"before", anywhere, readHooks(func(e *entry) *[]Hook { return &e.Hooks.Before })},
		{"after", anywhere, readHooks(func(e *entry) *[]Hook { return &e.Hooks.After })},
		{"on_success", anywhere, readHooks(func(e *entry) *[]Hook { return &e.Hooks.OnSuccess })},
		{"on_failure", anywhere, readHooks(func(e *entry) *[]Hook { return &e.Hooks.OnFailure })},
		{"on_recovery", anywhere, readHooks(func(e *entry) *[]Hook { return &e.Hooks.OnRecovery })},
		{"on_skip", anywhere, readHooks(func(e *entry) *[]Hook { return &e.Hooks.OnSkip })},
		{"output", anywhere, readOutput},
	},
}

func flag(of func(*entry) *bool) func(*loader, *entry, *yaml.Node) {
	return func(l *loader, e *entry, n *yaml.Node) {
		if value, ok := l.boolean(n); ok {
			*of(e) = value
		}
	}
}

func readTimeout(l *loader, e *entry, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value == "none" { // against a timeout of the defaults
		e.Timeout = 0
		return
	}
	d, ok := l.duration(n, 0)
	if ok && d == 0 {
		l.bad(n, "write none for a task without a timeout", "timeout %s would end every attempt at once", n.Value)
	}
	e.Timeout = d
}

func readStartDeadline(l *loader, e *entry, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value == "none" { // against one of the defaults
		e.StartDeadline = 0
		return
	}
	d, ok := l.duration(n, 0)
	if ok && d < time.Second {
		l.bad(n, "write none for a task that may start at any time", "start_deadline %s would skip every run", n.Value)
	}
	e.StartDeadline = d
}

func readMissedWithin(l *loader, e *entry, n *yaml.Node) {
	d, ok := l.duration(n, time.Minute)
	if ok && d > LookBack {
		l.bad(n, "", "missed_within %s is longer than the 31 days that sched looks back", n.Value)
	}
	e.MissedWithin = d
}

var retryKeys = keys[Retry]{list: []key[Retry]{
	{"attempts", 0, func(l *loader, r *Retry, n *yaml.Node) { r.Attempts, _ = l.whole(n, 1, math.MaxInt32) }},
	{"delay", 0, func(l *loader, r *Retry, n *yaml.Node) { r.Delay, _ = l.duration(n, 0) }},
	{"backoff", 0, func(l *loader, r *Retry, n *yaml.Node) { r.Backoff, _ = l.number(n, 1) }},
	{"max_delay", 0, func(l *loader, r *Retry, n *yaml.Node) {
		d, ok := l.duration(n, time.Nanosecond)
		if ok && d < r.Delay {
			l.bad(n, "", "retry.max_delay %s is shorter than the delay", n.Value)
		}
		r.MaxDelay = d
	}},
}}

func readRetry(l *loader, e *entry, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		l.bad(n, "write {attempts: "+shorten(n.Value)+"}", "retry must be a mapping, not %s", found(n))
		return
	}
	if !l.isMapping(n, "retry") {
		return
	}
	r := Retry{Attempts: -1, Backoff: 1}
	retryKeys.decode(l, &r, n, 0)
	if r.Attempts == -1 {
		l.bad(n, "add attempts: the first try and all that follow it", "retry has no attempts")
	}
	e.Retry = r
}

func readCodes(l *loader, e *entry, n *yaml.Node) {
	if !l.notEmpty(n, "") {
		return
	}
	var codes []int
	l.each(n, func(item *yaml.Node) bool {
		code, ok := l.whole(item, 0, 255)
		codes = append(codes, code)
		return ok
	})
	e.SuccessCodes = codes
}

func readEnvironments(l *loader, e *entry, n *yaml.Node) {
	if !l.notEmpty(n, "leave the key out for every environment, or switch the task off with `enabled: false`") {
		return
	}
	var all []string
	l.each(n, func(item *yaml.Node) bool {
		text, ok := l.filledExpanded(item)
		all = append(all, text)
		return ok
	})
	e.Environments = all
}

var outputKeys = keys[Output]{list: []key[Output]{
	{"file", 0, func(l *loader, o *Output, n *yaml.Node) {
		o.File = "?" // given, if perhaps wrong
		if path, ok := l.path(n); ok {
			o.File = path
		}
	}},
	{"append", 0, func(l *loader, o *Output, n *yaml.Node) { o.Append, _ = l.boolean(n) }},
}}

func readOutput(l *loader, e *entry, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		var o Output
		outputKeys.decode(l, &o, n, 0)
		if o.File == "" {
			l.bad(n, "write {file: PATH}", "output has no file")
		}
		e.Output = o
	case yaml.SequenceNode:
		l.bad(n, "write {file: PATH, append: true}", "output must be a file or a mapping, not a list")
	default:
		file, _ := l.path(n)
		e.Output = Output{File: file}
	}
}
