//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A target is a scheduler with its settings: a row of the table.
type target struct {
	name     string
	settings string // for the page
	version  string // a name for versionOf
	servers  int
	store    func(dir string) (*store, error) // or nil
	clock    *fakeClock                       // or nil: its clock cannot be set
	command  func(t *trial, server int) (*exec.Cmd, error)
	tells    func(*trial) string // what it says afterwards but for its log
	root     bool                // only root can run it
	half     string              // the cron of the middle of each minute, if its jobs can be due there
	second   string              // the cron of every second, if it knows one
}

// targets are all targets. If a scheduler has settings for not losing runs and for not running
// beside itself, a second row has it without them.
func targets() []target {
	all := []target{
		{name: "sched run, each minute by cron", version: "sched", command: schedRun, tells: schedTells, root: true,
			settings: "`missed: all`, `without_overlapping`, `retry: {lost: true}`"},
		{name: "sched work", version: "sched", command: schedWork(true), tells: schedTells, clock: &schedClock,
			settings: "the same", second: "* * * * * *"},
		{name: "sched work, defaults", version: "sched", command: schedWork(false), tells: schedTells, clock: &schedClock},
		{name: "sched work, two servers", version: "sched", servers: 2, store: redis, command: schedWork(true), tells: schedTells,
			settings: "the same, `one_server`, `store_down: wait`, Redis"},
		{name: "Debian's cron", version: "cron", command: debianCron(true), root: true, clock: &faketime, settings: "flock"},
		{name: "Debian's cron, plain", version: "cron", command: debianCron(false), root: true, clock: &faketime},
		{name: "busybox crond", version: "busybox", command: busybox, root: true, settings: "flock"},
		{name: "supercronic", version: "github.com/aptible/supercronic", command: supercronic, settings: "no `-overlapping`", half: "30 * * * * * *", second: "* * * * * * *"},
		{name: "robfig/cron", version: "github.com/robfig/cron/v3", command: driver("robfig", "best", nil),
			settings: "`SkipIfStillRunning`, `Recover`", half: "30 * * * * *", second: "* * * * * *"},
	}
	for _, d := range []struct {
		name, version, program, settings string
		arguments                        []string
		store                            func(string) (*store, error)
		servers                          int
		clock                            *fakeClock
		alone                            bool // it has no second row
	}{
		{name: "gocron", version: "github.com/go-co-op/gocron/v2", program: "gocron", settings: "singleton mode", alone: true},
		{name: "gocron, two servers", version: "github.com/go-co-op/gocron/v2", program: "gocron", store: redis, servers: 2,
			settings: "the same, a redsync locker", alone: true},
		{name: "river, SQLite", version: "github.com/riverqueue/river", program: "river", arguments: []string{"-store", "sqlite:STATE/river.db"},
			settings: "`UniqueOpts`, `RescueStuckJobsAfter`"},
		{name: "river, PostgreSQL, two servers", version: "github.com/riverqueue/river", program: "river", store: postgres, servers: 2,
			settings: "the same", alone: true},
		{name: "asynq", version: "github.com/hibiken/asynq", program: "asynq", store: redis, settings: "`TaskID`, `Unique`"},
		{name: "node-cron", version: "node-cron", program: "nodecron", settings: "`noOverlap`, `missedExecutionTolerance`", clock: &faketime},
		{name: "node-cron, two servers", version: "node-cron", program: "nodecron", store: redis, servers: 2,
			settings: "the same, `distributed` with a key in Redis", alone: true},
		{name: "croner", version: "croner", program: "croner", settings: "`protect`", clock: &faketime},
		{name: "APScheduler 3", version: "python3-apscheduler", program: "apscheduler", arguments: []string{"-store", "sqlite:STATE/jobs.db"},
			settings: "SQLite, `misfire_grace_time`, `coalesce=False`"},
	} {
		t := target{name: d.name, version: d.version, settings: d.settings, store: d.store, servers: d.servers, clock: d.clock,
			command: driver(d.program, "best", d.arguments)}
		switch d.program {
		case "asynq": // it knows no seconds
		case "river": // with UniqueOpts of a minute
			t.half = "30 * * * * *"
		default:
			t.half, t.second = "30 * * * * *", "* * * * * *"
		}
		all = append(all, t)
		if !d.alone {
			t.name, t.settings, t.command = d.name+", defaults", "", driver(d.program, "default", d.arguments)
			all = append(all, t)
		}
	}
	for i := range all {
		all[i].servers = max(1, all[i].servers)
	}
	return all
}

// driver is a program of drivers/, whose arguments are the same in all languages.
func driver(program, row string, arguments []string) func(*trial, int) (*exec.Cmd, error) {
	return func(t *trial, _ int) (*exec.Cmd, error) {
		args := []string{"-row", row, "-jobs", t.path("lines.tsv")}
		for _, a := range arguments {
			args = append(args, strings.ReplaceAll(a, "STATE", t.path("state")))
		}
		if t.store != nil {
			args = append(args, "-store", t.store.url)
		}
		var c *exec.Cmd
		switch program {
		case "nodecron", "croner":
			c = exec.Command("node", append([]string{filepath.Join(bin, "node/main.mjs"), program}, args...)...)
		case "apscheduler":
			c = exec.Command("/usr/bin/python3", append([]string{filepath.Join(bin, "aps.py")}, args...)...)
		default:
			c = exec.Command(filepath.Join(bin, program), args...)
		}
		return t.target.fake(t, c)
	}
}

// fake gives the program the clock of the night, if there is one.
func (g target) fake(t *trial, c *exec.Cmd) (*exec.Cmd, error) {
	if t.fault.night == nil {
		return c, nil
	}
	c.Env, t.first = append(c.Env, g.clock.environment(t)...), time.Now()
	return c, g.clock.set(t, t.fault.night.begin())
}

// A crontab has a line for each job. With locks, flock(1) keeps jobs apart that must not run beside
// themselves.
func (t *trial) crontab(locks bool) string {
	var b strings.Builder
	for _, j := range t.jobs {
		lock := ""
		if j.single && locks {
			lock = "flock -n " + t.path("lock-"+j.name) + " "
		}
		fmt.Fprintf(&b, "%s %s%s\n", j.cron, lock, t.command(j))
	}
	return b.String()
}

// debianCron is a cron in a mount namespace, which has nothing but our crontab.
func debianCron(locks bool) func(*trial, int) (*exec.Cmd, error) {
	return func(t *trial, server int) (*exec.Cmd, error) {
		return t.cron(server, t.mark(server)+"\n"+t.crontab(locks))
	}
}

func (t *trial) cron(server int, crontab string) (*exec.Cmd, error) {
	if err := os.WriteFile(t.path("crontab"), []byte(crontab), 0o600); err != nil {
		return nil, err
	}
	c := exec.Command("unshare", "--mount", "sh", "-ec", `
		for dir in /run /var/spool/cron/crontabs /etc/cron.d; do mount -t tmpfs -o mode=755 tmpfs "$dir"; done
		mount --bind /dev/null /etc/crontab
		crontab "$1"
		[ -z "$FAKE" ] || export LD_PRELOAD="$FAKE"
		exec /usr/sbin/cron -f -L 15`, "sh", t.path("crontab"))
	c, err := t.target.fake(t, c)
	for i, variable := range c.Env {
		c.Env[i] = strings.Replace(variable, "LD_PRELOAD=", "FAKE=", 1) // for cron alone
	}
	return c, err
}

func busybox(t *trial, _ int) (*exec.Cmd, error) {
	tabs := t.path("crontabs")
	if err := os.MkdirAll(tabs, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tabs, "root"), []byte(t.crontab(true)), 0o600); err != nil {
		return nil, err
	}
	return t.target.fake(t, exec.Command(filepath.Join(bin, "busybox"), "crond", "-f", "-l", "0", "-L", t.path("log"), "-c", tabs))
}

func supercronic(t *trial, _ int) (*exec.Cmd, error) {
	if err := os.WriteFile(t.path("crontab"), []byte(t.crontab(false)), 0o600); err != nil {
		return nil, err
	}
	return exec.Command(filepath.Join(bin, "supercronic"), t.path("crontab")), nil
}

// schedule writes the schedule of sched into the folder of a server, and returns the folder.
func (t *trial) schedule(server int, best bool) (string, error) {
	dir := t.path("state")
	if server > 0 {
		dir += fmt.Sprint(server + 1)
	}
	var b strings.Builder
	if t.store != nil {
		fmt.Fprintf(&b, "name: field\nstore: %s\n", t.store.url)
	}
	b.WriteString("tasks:\n")
	for _, j := range t.jobs {
		keys := ""
		if best {
			keys = ", missed: all, retry: {attempts: 2, lost: true}"
			if j.single {
				keys += ", without_overlapping: true"
			}
		}
		if t.store != nil {
			keys += ", one_server: true, store_down: wait"
		}
		fmt.Fprintf(&b, "  - {name: %s, cron: %q, background: true%s, command: %q}\n", j.name, j.cron, keys, t.command(j))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "schedule.yaml"), []byte(b.String()), 0o644)
}

func schedWork(best bool) func(*trial, int) (*exec.Cmd, error) {
	return func(t *trial, server int) (*exec.Cmd, error) {
		dir, err := t.schedule(server, best)
		c := exec.Command(filepath.Join(bin, "sched"), "work")
		c.Dir, c.Env = dir, []string{fmt.Sprintf("SCHED_TEST_SERVER=web-%d", server+1)}
		if err != nil {
			return nil, err
		}
		return t.target.fake(t, c)
	}
}

func schedRun(t *trial, server int) (*exec.Cmd, error) {
	dir, err := t.schedule(server, true)
	if err != nil {
		return nil, err
	}
	return t.cron(server, fmt.Sprintf("%s\n* * * * * cd %s && %s run >>%s 2>&1\n",
		t.mark(server), dir, filepath.Join(bin, "sched"), t.path("log")))
}

// schedTells is the history of sched, a line for each minute that a record stands for.
func schedTells(t *trial) string {
	var b strings.Builder
	for server := range t.target.servers {
		dir := t.path("state")
		if server > 0 {
			dir += fmt.Sprint(server + 1)
		}
		c := exec.Command(filepath.Join(bin, "sched"), "history", "--json", "-n", "1000")
		c.Dir, c.Env = dir, append(os.Environ(), "TZ=UTC")
		out, _ := c.Output()
		var records []struct {
			Task, Outcome, Reason string
			Slot                  time.Time
			Until                 *time.Time
		}
		if json.Unmarshal(out, &records) != nil {
			continue
		}
		for _, r := range records {
			last := r.Slot
			if r.Until != nil {
				last = *r.Until
			}
			for slot := r.Slot; !slot.After(last); slot = slot.Add(time.Minute) {
				fmt.Fprintln(&b, slot.UTC().Format(time.DateTime), r.Task, r.Outcome, r.Reason)
			}
		}
	}
	return b.String()
}

// A fakeClock is how the clock of a program is made fast, and set.
type fakeClock struct {
	name        string
	environment func(*trial) []string
	set         func(t *trial, shown time.Time) error // it shows this now
}

// faketime is libfaketime, for programs that ask the C library for the time.
var faketime = fakeClock{
	name: "libfaketime",
	environment: func(t *trial) []string {
		found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
		return []string{"LD_PRELOAD=" + strings.Join(found, ""), "FAKETIME_CACHE_DURATION=1", "FAKETIME_TIMESTAMP_FILE=" + t.path("clock")}
	},
	set: func(t *trial, shown time.Time) error { // the offset counts from the beginning of the process
		offset := shown.Sub(t.first) - pace*time.Since(t.first)
		return write(t.path("clock"), fmt.Sprintf("%+.3f x%d\n", offset.Seconds(), pace))
	},
}

// schedClock is the clock that a sched for tests has.
var schedClock = fakeClock{
	name:        "a clock of its own, in a build for tests",
	environment: func(t *trial) []string { return []string{"SCHED_TEST_CLOCK_FILE=" + t.path("clock")} },
	set: func(t *trial, shown time.Time) error {
		return write(t.path("clock"), fmt.Sprintf("%s %s %d\n",
			time.Now().UTC().Format(time.RFC3339Nano), shown.UTC().Format(time.RFC3339Nano), pace))
	},
}

// write writes a file at once: who reads it sees the old text or the new one.
func write(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
