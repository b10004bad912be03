package load

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/calendar"
	"sched/schedule/cron"
	"sched/schedule/yamldoc"
)

// Options is what File, Text and Archive need to know of the world around the file.
type Options struct {
	// Getenv looks up the variables that ${VAR} stands for. Nil means that none is set.
	Getenv func(string) (string, bool)

	// Root says that the tasks run as root: a file that another user could write or replace is
	// refused (statedir.CheckAbove), because that user would be root.
	Root bool

	// CheckStore says what is wrong with URLs of a store, without passwords. Nil accepts any.
	CheckStore func(servers []string) (problem, hint string)

	// CheckNotification says what is wrong with an expanded notification, without a secret. Nil
	// accepts any, unexpanded.
	CheckNotification func(schedule.Notification) (problem, hint string)

	// Origins asks for what Task.Settings and Task.PlaceOf return. It makes a map for each task,
	// and ticks do without.
	Origins bool

	// Texts are taken for the files at those absolute paths, after an edit; nil is a missing file.
	Texts map[string][]byte

	// Server returns the name of this machine for `spread` and `servers`, given the one of the file
	// or "". Nil means no name.
	Server func(named string) string

	// Labels returns the labels of this machine, and what is wrong with them. It is called only
	// when a task needs one. Nil means none.
	Labels func() (all []string, wrong string)

	// Home returns the home folder of a user of this machine. Nil knows no users. Crontabs with
	// users need it.
	Home func(user string) (dir string, ok bool)

	// System says that the lines of a crontab have a user, as far as the file does not say it.
	System bool

	// Local is the zone of a schedule that names none. Nil means UTC.
	Local *time.Location
}

// A loader turns one schedule.yaml into a Schedule. The Schedule is used only if there are no
// problems.
type loader struct {
	*yamldoc.Reader
	options  Options
	folder   string // of the main file, absolute
	medium   medium
	archived []*yamldoc.Source // the sources of an archive that are still to be read

	schedule  *schedule.Schedule
	mail      mailSettings
	names     map[string]yamldoc.Place // the places of the names of tasks
	wrong     wrongEntries
	bare      *taskDraft // a task that sets and inherits nothing; nil while the top of the file is read
	isCrontab bool       // the main file is one
	hasStore  bool       // the file has the key store, even if its value is empty
	chains    chains
	secrets   []mention // the variables of env that hold a secret
	zones     map[string]*time.Location
	rules     map[string]*calendar.Rule // by their calendars and their move
	presets   map[string]*presetDraft   // by the text that names them; nil for one that is wrong
}

// mentionOf returns the mention of a name at a node of the task that is read now.
func (l *loader) mentionOf(name string, n *node) mention {
	return mention{name: name, place: l.PlaceOf(n), task: l.Task, section: l.Section, entry: l.chains.reading}
}

// problemOf records a problem of a mention, wherever the loader is by now.
func (l *loader) problemOf(m mention, hint, format string, args ...any) {
	task, section, before := l.Task, l.Section, l.ProblemCount()
	l.Task, l.Section = m.task, m.section
	l.ProblemAt(m.place, hint, format, args...)
	if m.entry != nil {
		l.addWrong(before, m.entry)
	}
	l.Task, l.Section = task, section
}

// nextArchived returns the next source for the value n. If no source is left, it records a problem
// and returns nil.
func (l *loader) nextArchived(n *node) *yamldoc.Source {
	if len(l.archived) == 0 {
		l.Problemf(n, "", "%s: the archive lacks a file", l.Key)
		return nil
	}
	next := l.archived[0]
	l.archived = l.archived[1:]
	path := next.Name
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.folder, path)
	}
	return l.Add(path, next.Data)
}

// addWrong notes that the problems after the first `before` ones concern the task alone. The task
// is nil if the entry is no task.
func (l *loader) addWrong(before int, t *schedule.Task) {
	if l.ProblemCount() == before {
		return
	}
	l.wrong.problems += l.ProblemCount() - before
	if l.wrong.tasks == nil {
		l.wrong.tasks = map[*schedule.Task]bool{}
	}
	l.wrong.tasks[t] = true
}

// lackOf returns what the entries lack if each problem after the first `before` ones is a variable
// or a file that is not there, and says where: the first of them. It returns "" for any other
// problem, and if the entries' times or the place of their history depend on it.
func (l *loader) lackOf(before int, entries ...*node) string {
	problems, ok := l.ProblemsFrom(before)
	if !ok {
		return ""
	}
	for _, p := range problems {
		isKnown := func(key string) bool {
			return !slices.ContainsFunc(entries, func(n *node) bool {
				return n != nil && n.Lookup(key) != nil && l.PlaceOf(n.Lookup(key)) == p.Place
			})
		}
		if p.Lacks == "" || !isKnown("timezone") || !isKnown("name") || !isKnown("state_dir") {
			return ""
		}
	}
	return problems[0].Place.String() + ": " + problems[0].Lacks
}

// A medium is where the text of a schedule comes from, and of the files that it names.
type medium int

const (
	inFiles   medium = iota
	inText           // no files: to name a file is a problem
	inArchive        // each file is the next of loader.archived
)

func newLoader(file string, opts Options) (*loader, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("%s: the working directory is unknown: %w", file, err)
	}
	if opts.Local == nil {
		opts.Local = time.UTC
	}
	folder := filepath.Dir(path)
	l := &loader{
		Reader: yamldoc.NewReader(yamldoc.Options{
			Folder:   folder,
			Getenv:   opts.Getenv,
			Root:     opts.Root,
			Texts:    opts.Texts,
			Synonyms: synonyms,
			Written:  written,
		}),
		options:  opts,
		folder:   folder,
		schedule: &schedule.Schedule{File: path},
		names:    map[string]yamldoc.Place{},
		zones:    map[string]*time.Location{},
		rules:    map[string]*calendar.Rule{},
		presets:  map[string]*presetDraft{},
	}
	l.File = filepath.Base(path)
	if opts.Origins {
		l.Origins = yamldoc.Origins{}
	}
	return l, nil
}

// firstOf returns the value of the first of the keys that the mapping has, else the mapping.
func firstOf(n *node, keys ...string) *node {
	for _, key := range keys {
		if at := n.Lookup(key); at != nil {
			return at
		}
	}
	return n
}

// placeText names the place of a value, for a message about two values. It returns "" for an
// inherited value, whose node is nil.
func placeText(l *loader, n *node) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(" (at %s)", l.PlaceOf(n))
}

// wrongEntries are the entries of `tasks:` that have problems, while a schedule is read.
type wrongEntries struct {
	problems int // of these entries and of assertions; a file with more problems has other problems, too
	tasks    map[*schedule.Task]bool
}

// chains has the triggers that are found while a schedule is read. They are checked at the end.
type chains struct {
	triggers []mention // each once, as the file has it, even if many tasks inherit it
	timeless []mention // the tasks without a time of their own

	hasDefaultTime bool // defaults have a time, which is a problem already: no task is timeless

	reading *schedule.Task // the task that is read now; nil for none
}

// A mention is a place at which the name of a task or a variable stands, or at which a task begins.
type mention struct {
	name          string
	place         yamldoc.Place
	task, section string         // for problems; see yamldoc.Reader
	entry         *schedule.Task // the task that has the mention; nil if several tasks inherit it
}

// mailSettings are what `mail` at the top of the file has, unexpanded.
type mailSettings struct{ url, from string }

// A taskDraft is a task, a group or the defaults, while it is read. It begins as a copy of the
// draft from which it inherits.
type taskDraft struct {
	schedule.Task
	isGroup       bool   // so `group` is its own name
	hasWrongGroup bool   // a group that it is in has problems of its own
	group         string // the name of a group

	hasCommand bool
	shell      []string
	timing     timing // in effect
	ownTiming  timing // of this level

	from, until moment // of the keys from and until, on a wall clock
	calendars   calendar.Set
	onHoliday   calendar.Move

	hasAttempts      bool     // retry.attempts was given, here or above
	ownEnv           []string // the variables that env of this level sets
	waitsForMutex    bool     // without_overlapping: wait
	noOverlapByMutex bool     // a mutex set without_overlapping; if the mutex is taken away, so is this
}

// A timing is cron:, every: or schedule: as one level of the file has it.
type timing struct {
	crons   []*node
	every   *node
	entries []timeDraft
	broken  bool // a problem has been recorded
}

func (t timing) isSet() bool {
	return t.crons != nil || t.every != nil || t.entries != nil || t.broken
}

// A timeDraft is an entry of the key schedule.
type timeDraft struct {
	crons  []*node
	words  string // of every, or what at means in words
	params map[string]*node
	node   *node
}

// A moment is a time of the file: an instant, or a time on the wall clock of a zone that is not
// known yet. The zero value is no time.
type moment struct {
	at     time.Time
	isWall bool // at is the wall clock, as if that were UTC
}

// in returns the moment in a zone. A skipped time stands for the end of the gap.
func (m moment) in(zone *time.Location) time.Time {
	if m.isWall {
		at, _ := cron.WallClock(m.at, zone)
		return at
	}
	return m.at
}

// synonyms are keys that users of other schedulers write, with our key for each. In a hook
// "command" stands for run, and "then" for trigger. In a task, the one is a key, and the other has
// a hint of its own (misplacedTaskKey). A whole number that is written as the value stands for the
// number in <…>.
var synonyms = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"cmd": "command", "script": "command", "exec": "command", "run": "command", "command": "run",
		"interval": "every", "frequency": "every", "tz": "timezone", "time_zone": "timezone",
		"cwd": "dir", "workdir": "dir", "working_directory": "dir", "working_dir": "dir",
		"work_dir": "dir", "directory": "dir", "folder": "dir", "chdir": "dir",
		"retries": "retry", "max_attempts": "retry", "stdout": "output", "singleton": "without_overlapping: true", "lock": "without_overlapping: true",
		"only_if": "when", "if": "when", "secrets_file": "env_file",
		"no_overlap": "without_overlapping", "overlapping": "without_overlapping",
		"without_overlap": "without_overlapping", "then": "trigger", "chain": "trigger", "start": "trigger",
		"on_error": "on_failure", "on_fail": "on_failure", "run_in_background": "background",
		"on_one_server": "one_server", "even_in_maintenance_mode": "even_in_maintenance", "run_as": "user",
		"username": "user", "user_name": "user", "overlap": "without_overlapping: true",
		"allow_overlap": "without_overlapping: true", "prevent_overlap": "without_overlapping: true",
		"notify": "on_failure: {mail: ADDRESS}",
		"mail":   "on_failure: {mail: ADDRESS}", "email": "on_failure: {mail: ADDRESS}",
		"mailto": "after: {mail: ADDRESS, when: output}", "jitter": "spread", "random_delay": "spread",
		"memory_limit": "limits: {memory: 512MB}", "mem_limit": "limits: {memory: 512MB}",
		"memory": "limits: {memory: 512MB}", "cpu": "limits: {cpu: 80%}", "resources": "limits", "ulimit": "limits",
		"parameters": "params", "inputs": "params", "max_runtime": "timeout", "time_limit": "timeout",
		"jobs": "tasks", "log": "output", "log_file": "output", "disabled": "enabled: false", "suspend": "enabled: false", "weekdays": "days", "server": "servers",
		"host": "servers", "hosts": "servers", "nodes": "servers", "labels": "servers", "roles": "servers",

		"on_timeout": "on_failure",

		// Words of systemd, Kubernetes and GitHub Actions; docs/from-others.md has the same lines.
		"on_calendar": "every: day at 2:30", "on_boot_sec": "every: boot", "on_startup_sec": "every: boot",
		"persistent": "missed: once", "randomized_delay_sec": "spread", "exec_start": "command",
		"environment_file": "env_file", "timeout_start_sec": "timeout", "runtime_max_sec": "timeout",
		"starting_deadline_seconds": "start_deadline", "active_deadline_seconds": "timeout",
		"backoff_limit": "retry: {attempts: 4}", "timeout_minutes": "timeout: <20>m",

		// Words of Celery, APScheduler, Airflow and others, and what people guess.
		"attempts": "retry: {attempts: <3>}", "retry_delay": "retry: {attempts: N, delay: 10s}",
		"start_date": "from", "starts_at": "from", "end_date": "until", "ends_at": "until", "day_of_week": "days",
		"hour": "every: day at 2:30", "minute": "every: day at 2:30", "seconds": "every: 90 seconds",
		"minutes": "every: 5 minutes", "hours": "every: 2 hours", "zone": "timezone",
		"misfire_grace_time": "start_deadline", "expires": "start_deadline",
		"coalesce": "missed: once", "run_missed": "missed: once", "active": "enabled", "paused": "enabled: false",
		"vars": "env", "variables": "env", "environment_variables": "env", "logfile": "output", "stderr": "output",
		"desc": "description", "comment": "description", "priority": "nice", "soft_time_limit": "timeout",
		"ttl": "timeout", "execution_timeout": "timeout", "kill_timeout": "kill_after", "grace_period": "kill_after",
		"args": "command: [PROGRAM, ARGUMENT]", "arguments": "command: [PROGRAM, ARGUMENT]", "queue": "pool",
		"run_on": "servers", "failure": "on_failure", "success": "on_success", "on_complete": "after",
		"on_finish": "after", "finally": "after",
		"heartbeat":    "after: {ping: URL, on: [start, success, failure]}",
		"healthcheck":  "after: {ping: URL, on: [start, success, failure]}",
		"health_check": "after: {ping: URL, on: [start, success, failure]}",
		"expect_every": "expect: {every: 26h}", "max_age": "expect: {every: 26h}",
		"alert_if_not_run": "expect: {every: 26h}", "expected_within": "expect: {within: 30m, every: 26h}",
		"sla": "expect: {within: 30m, every: 26h}", "min_rows": "report: {rows: {at_least: <1>}}",

		// Words of cron, flock(1), supercronic and yacron, and more of systemd and ofelia.
		"flock": "without_overlapping: true", "lockfile": "without_overlapping: true",
		"lock_file": "without_overlapping: true", "solo": "without_overlapping: true",
		"exclusive": "without_overlapping: true", "unique": "without_overlapping: true",
		"no_overlapping": "without_overlapping: true", "overlap_policy": "without_overlapping: true",
		"lock_wait": "without_overlapping", "mutex_name": "mutex", "lock_name": "mutex",
		"nohup": "background: true", "detach": "background: true", "daemon": "background: true",
		"async": "background: true", "daemonize": "background: true",
		"cron_expression": "cron", "crontab": "cron", "cronexpr": "cron", "schedule_expression": "cron",
		"cron_tz": "timezone", "env_vars": "env", "path": "env: {PATH: /usr/local/bin:/usr/bin:/bin}",
		"home": "env: {HOME: /srv/shop}", "start_hours_range": "between: ['3:00', '22:00']",
		"container": "command: docker exec CONTAINER PROGRAM", "image": "command: docker run --rm IMAGE",
		"slack_webhook": "on_failure: {webhook: URL, format: slack}", "webhook_url": "on_failure: {webhook: URL}",
		"email_to": "on_failure: {mail: ADDRESS}", "mail_only_on_error": "on_failure: {mail: ADDRESS}",
		"notifications": "on_failure: {mail: ADDRESS}", "notification": "on_failure: {mail: ADDRESS}",
		"alerts": "on_failure: {mail: ADDRESS}", "alert": "on_failure: {mail: ADDRESS}",
		"notifiers": "on_failure: {mail: ADDRESS}", "on_permanent_failure": "on_failure",
		"maximum_retries": "retry: {attempts: <3>}", "initial_delay": "retry: {attempts: N, delay: 10s}",
		"fails_when": "fail_if: {output: ERROR}", "exec_start_pre": "before", "exec_start_post": "on_success",
		"exec_stop_post": "after", "exec_condition": "when", "on_unit_active_sec": "every: 5 minutes",
		"fixed_random_delay": "spread", "cpuquota": "limits: {cpu: 80%}", "memory_max": "limits: {memory: 512MB}",
		"restart": "retry: {attempts: 3}", "restart_policy": "retry: {attempts: 3}",
		"timeout_stop_sec": "kill_after", "standard_output": "output", "standard_error": "output",

		// Methods of Laravel; docs/from-laravel.md has the same lines.
		"last_day_of_month": "every: month on last day at 15:00",
		"append_output_to":  "output: {file: report.log, append: true}",
		"email_output_to":   "after: {mail: ADDRESS, when: output}", "email_written_output_to": "after: {mail: ADDRESS, when: output}",
		"email_output_on_failure": "on_failure: {mail: ADDRESS}", "ping_on_failure": "on_failure: {ping: URL}",
		"then_with_output": "after", "on_success_with_output": "on_success", "on_failure_with_output": "on_failure",
		"always_on_one_server": "one_server: true", "use_cache": "store: redis://localhost:6379/2",
		"every_second": "every: second", "every_two_seconds": "every: 2 seconds",
		"every_five_seconds": "every: 5 seconds", "every_ten_seconds": "every: 10 seconds",
		"every_fifteen_seconds": "every: 15 seconds", "every_twenty_seconds": "every: 20 seconds",
		"every_thirty_seconds": "every: 30 seconds", "every_minute": "every: minute",
		"every_two_minutes": "every: 2 minutes", "every_three_minutes": "every: 3 minutes",
		"every_four_minutes": "every: 4 minutes", "every_five_minutes": "every: 5 minutes",
		"every_ten_minutes": "every: 10 minutes", "every_fifteen_minutes": "every: 15 minutes",
		"every_thirty_minutes": "every: 30 minutes", "hourly": "every: hour", "hourly_at": "every: hour at :17",
		"every_odd_hour": "every: odd hours", "every_two_hours": "every: 2 hours",
		"every_three_hours": "every: 3 hours", "every_four_hours": "every: 4 hours",
		"every_six_hours": "every: 6 hours", "daily": "every: day", "at": "every: day at 13:00",
		"time":     "every: day at 13:00",
		"daily_at": "every: day at 13:00", "twice_daily": "every: day at 1:00, 13:00",
		"twice_daily_at": "every: day at 1:15, 13:15", "weekly": "every: week",
		"weekly_on": "every: week on monday at 8:00", "weekends": "days: weekends", "mondays": "days: monday",
		"tuesdays": "days: tuesday", "wednesdays": "days: wednesday", "thursdays": "days: thursday",
		"fridays": "days: friday", "saturdays": "days: saturday", "sundays": "days: sunday",
		"monthly": "every: month", "monthly_on": "every: month on 4 at 15:00",
		"twice_monthly": "every: month on 1, 16 at 13:00", "days_of_month": "every: month on 1, 10, 20",
		"quarterly": "every: quarter", "quarterly_on": "every: quarter on 4 at 14:00", "yearly": "every: year",
		"yearly_on": "every: year on 1 June at 17:00", "create_mutex_name_using": "mutex: reports",
		"catch_up": "missed: once", "catchup": "missed: once",
		"with_attributes": "env: {TEAM: shop}", "send_output_to": "output: report.log",
		"ping_before": "before: {ping: URL}", "purpose": "description",
		"then_ping": "after: {ping: URL}", "ping_on_success": "on_success: {ping: URL}",
	}
})

type (
	reader = yamldoc.Reader
	node   = yamldoc.Node
)
