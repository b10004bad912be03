//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A task is a task of the schedule, and what its command does.
type task struct {
	name        string
	every       int    // due in the minutes that this divides; 0 is 1
	seconds     []int  // of those minutes; nil is the first
	mutex       string // "-" is without_overlapping with its own
	waits       string // wait_at_most, for without_overlapping: wait; "": it is skipped
	replaces    bool   // without_overlapping: replace; waits is how long for
	pool        bool   // it needs a seat of the pool
	does        string // see taskScript; "" is works
	beats       int    // how long the command takes, in fifths of a second
	code        string // its exit code, as the shell reads it; "" is 0
	attempts    int
	timeout     string
	list        bool   // the command is a list, run without a shell
	beforeFails bool   // its before-hook fails in some minutes
	once        bool   // missed: once
	all         bool   // missed: all
	condition   bool   // it has a condition command, which says no in some minutes
	hooks       bool   // of every kind
	reports     bool   // it reports rows, none of them in some minutes, and then has failed
	budget      int    // each attempt costs 1, and so much may be spent in all; 0: no budget
	triggers    string // the task that it starts when it has ended, with any outcome; see chains
	chained     bool   // it has no time of its own
}

func (t task) background() bool { return strings.HasPrefix(t.name, "back") }

// makeTasks makes tasks of every kind. Chance decides how long they take, and how often they are
// due.
func makeTasks(r *rand.Rand) []task {
	upTo := func(n int) int { return 1 + r.IntN(n) }
	const second = "$((SCHED_ATTEMPT < 2))" // the exit code of a task that succeeds when it is tried again
	return []task{
		// In the foreground, in this order.
		{name: "front", hooks: true},
		{name: "front-fails", every: upTo(3), code: "3", hooks: true},
		{name: "front-retried", every: upTo(3), code: second, attempts: 3},
		{name: "front-hangs", every: 2 + upTo(3), does: "hangs", timeout: "300ms", hooks: true},
		{name: "front-deaf", every: 2 + upTo(3), does: "deaf", timeout: "200ms"},
		{name: "front-alone", beats: upTo(2), mutex: "-", hooks: true},
		{name: "front-shared", every: upTo(3), beats: upTo(2), mutex: "shared", hooks: true},
		{name: "front-pool", every: upTo(3), beats: upTo(2), pool: true, hooks: true},
		{name: "front-before-fails", every: upTo(3), beforeFails: true, hooks: true},
		{name: "front-condition", every: upTo(3), condition: true, once: true, hooks: true},
		{name: "front-once", every: upTo(3), once: true},
		{name: "front-seconds", every: upTo(3), seconds: []int{57, 58}, hooks: true},

		// In the background, all at once.
		{name: "back", hooks: true},
		{name: "back-list", every: upTo(3), beats: upTo(3), list: true, hooks: true},
		{name: "back-fails", every: upTo(3), code: "4", hooks: true},
		{name: "back-unsteady", does: "unsteady", hooks: true},
		{name: "back-retried", every: upTo(3), beats: upTo(2), code: second, attempts: 3, hooks: true},
		{name: "back-hangs", every: 2 + upTo(3), does: "hangs", timeout: "500ms", attempts: 2, hooks: true},
		{name: "back-deaf", every: 2 + upTo(3), does: "deaf", timeout: "300ms", mutex: "-"},
		{name: "back-before-fails", every: upTo(3), beforeFails: true, hooks: true},
		{name: "back-condition", every: upTo(3), condition: true, mutex: "-", hooks: true},
		{name: "back-daemon", every: 2 + upTo(3), does: "daemon", mutex: "-", hooks: true},
		{name: "back-long", beats: 5 + upTo(20), mutex: "-", hooks: true},
		{name: "back-longer", every: 2 + upTo(3), beats: 30 + upTo(20), hooks: true},
		{name: "back-shared-1", beats: upTo(6), mutex: "shared", hooks: true},
		{name: "back-shared-2", every: upTo(3), beats: upTo(6), mutex: "shared"},
		{name: "back-shared-3", every: upTo(3), beats: upTo(6), mutex: "shared"},
		{name: "back-pool-1", beats: upTo(6), pool: true, hooks: true},
		{name: "back-pool-2", beats: upTo(6), pool: true, mutex: "-", hooks: true},
		{name: "back-pool-3", every: upTo(2), beats: upTo(6), pool: true, code: second, attempts: 2},
		{name: "back-pool-shared", every: upTo(2), beats: upTo(6), pool: true, mutex: "shared", hooks: true},
		{name: "back-pool-daemon", every: 2 + upTo(3), does: "daemon", pool: true},
		{name: "back-wait-1", beats: upTo(4), mutex: "turns", waits: "20s", hooks: true},
		{name: "back-wait-2", every: upTo(2), beats: upTo(4), mutex: "turns", waits: "20s",
			code: second, attempts: 2, hooks: true},
		{name: "back-wait-short", every: upTo(2), beats: upTo(3), mutex: "turns", waits: "1s", hooks: true},
		{name: "back-replaces", beats: 5 + upTo(20), mutex: "-", replaces: true, waits: "20s", hooks: true},
		{name: "back-wait-3", beats: upTo(3), mutex: "turns", waits: "20s"},
		{name: "back-wait-pool", every: upTo(2), beats: upTo(4), mutex: "turns", pool: true, waits: "10s", hooks: true},
		{name: "back-wait-seat-1", every: 1 + upTo(2), beats: upTo(4), mutex: "-",
			pool: true, waits: "15s", hooks: true},
		{name: "back-wait-seat-2", every: 1 + upTo(2), beats: upTo(4), mutex: "-", pool: true, waits: "15s",
			code: second, attempts: 2},
		{name: "back-turns", every: upTo(3), beats: upTo(2), mutex: "turns"},
		{name: "back-once", every: upTo(5), beats: upTo(4), once: true, hooks: true},
		{name: "back-all", every: upTo(3), beats: upTo(2), mutex: "-", all: true, hooks: true},
		{name: "front-all", every: upTo(3), mutex: "-", all: true, hooks: true},
		{name: "front-chains", every: upTo(3), hooks: true, triggers: "back-chained"},
		{name: "back-chains", beats: upTo(2), code: second, hooks: true, triggers: "back-chained"},
		{name: "back-chains-long", every: upTo(3), beats: 3 + upTo(6), triggers: "front-chained"},
		{name: "back-chained", chained: true, beats: upTo(2), hooks: true, triggers: "front-chained"},
		{name: "front-chained", chained: true, hooks: true},
		{name: "front-reports", every: upTo(2), reports: true, hooks: true},
		{name: "back-reports", beats: upTo(3), reports: true, hooks: true},
		{name: "front-budget", mutex: "-", budget: 4 + upTo(8), hooks: true},
		{name: "back-budget", beats: upTo(4), mutex: "-", code: second, attempts: 2, budget: 4 + upTo(12), hooks: true},
		{name: "back-seconds", every: upTo(3), seconds: []int{57, 59}, mutex: "-", beats: upTo(3), hooks: true},
	}
}

// due returns the slots of a task in a minute. It is a rule of its own: sched has no part in it.
func (t task) due(minute time.Time) (slots []time.Time) {
	if t.chained || minute.Minute()%max(1, t.every) != 0 {
		return nil
	}
	if t.seconds == nil {
		return []time.Time{minute}
	}
	for _, s := range t.seconds {
		slots = append(slots, minute.Add(time.Duration(s)*time.Second))
	}
	return slots
}

func (t task) cron() string {
	var seconds []string
	for _, s := range t.seconds {
		seconds = append(seconds, fmt.Sprint(s))
	}
	minutes := fmt.Sprintf("*/%d * * * *", max(1, t.every))
	return strings.TrimSpace(strings.Join(seconds, ",") + " " + strings.Replace(minutes, "*/1 ", "* ", 1))
}

// lock names the mutex that the task takes; "" if it takes no mutex.
func (t task) lock() string {
	if t.mutex == "-" {
		return t.name
	}
	return t.mutex
}

// hooksFor names the hooks that must fire after an outcome.
func (t task) hooksFor(outcome string) []string {
	switch {
	case !t.hooks:
		return nil
	case outcome == "succeeded":
		return []string{"on_success 1", "after 1", "after 2"}
	case outcome == "skipped":
		return []string{"on_skip 1"}
	case isFailure(outcome):
		return []string{"on_failure 1", "on_failure 2", "after 1", "after 2"}
	}
	return nil
}

// yaml writes the task. Each hook gets its name, and how long it takes.
func (t task) yaml() string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	does, code := "works", "0"
	if t.does != "" {
		does = t.does
	}
	if t.code != "" {
		code = t.code
	}
	line("  - name: %s\n    background: %t\n    kill_after: 300ms", t.name, t.background())
	if !t.chained {
		line("    cron: %q", t.cron())
	}
	if t.list {
		line(`    command: [./task, %s, "%d", %q]`, does, t.beats, code)
	} else {
		line("    command: exec ./task %s %d %s", does, t.beats, code)
	}
	if t.mutex == "-" && t.waits == "" {
		line("    without_overlapping: true")
	} else if t.mutex != "-" && t.mutex != "" {
		line("    mutex: %s", t.mutex)
	}
	if t.waits != "" {
		word := "wait"
		if t.replaces {
			word = "replace"
		}
		line("    without_overlapping: %s\n    wait_at_most: %s", word, t.waits)
	}
	if t.pool {
		line("    pool: %s", poolName)
	}
	if t.reports {
		line("    report: {rows: {at_least: 1}}")
	}
	if t.budget > 0 {
		line("    report: {cost: {budget: {at_most: %d, per: 31d, then: pause}}}", t.budget)
	}
	if t.timeout != "" {
		line("    timeout: %s", t.timeout)
	}
	if t.attempts > 1 {
		line("    retry: {attempts: %d, delay: 100ms, backoff: 2}", t.attempts)
	}
	if t.once {
		line("    missed: once")
	}
	if t.all {
		line("    missed: all\n    missed_at_most: 6")
	}
	if t.condition {
		line(`    when: [./condition]`)
	}
	if t.beforeFails {
		line(`    before: exec ./hook "before 1" 0 fails`)
	} else if t.hooks {
		line(`    before: exec ./hook "before 1" 0`)
	}
	if t.hooks {
		line(`    on_success: exec ./hook "on_success 1" 0.1`)
		line(`    on_failure: [exec ./hook "on_failure 1" 0.1, {run: [./hook, on_failure 2, "0"]}]`)
		line(`    on_recovery: exec ./hook "on_recovery 1" 0`)
		line(`    on_skip: exec ./hook "on_skip 1" 0`)
	}
	var after []string
	if t.hooks {
		after = append(after, `exec ./hook "after 1" 0.2`, `exec ./hook "after 2" 0`)
	}
	if t.triggers != "" {
		after = append(after, "{trigger: "+t.triggers+"}")
	}
	if len(after) > 0 {
		line("    after: [%s]", strings.Join(after, ", "))
	}
	return b.String()
}

// say writes a line of the journal with one write(2).
const say = `#!/bin/sh
say() {
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$SCHED_RUN" "$SCHED_TASK" "$SCHED_SLOT" "$CRASH_TICK" \
    "$SCHED_ATTEMPT" "$2" "$SCHED_OUTCOME" >>"$CRASH_JOURNAL"
}
`

// taskScript is every command: ./task DOES BEATS CODE.
const taskScript = say + `
does=$1 beats=$2 code=$3 n=0
case $does in
  deaf) trap '' TERM; beats=1000 ;;
  hangs) beats=1000 ;;
  unsteady) case $SCHED_SLOT in *[258]:??Z) code=5 ;; esac ;;
esac
say begin
# What the first attempt reports must not count for the next one, which says nothing.
if [ -n "$SCHED_REPORT" ] && [ "$SCHED_ATTEMPT" = 1 ]; then
  case $SCHED_SLOT in *[258]:??Z) rows=0 ;; *) rows=5 ;; esac
  printf 'rows=%s\ncost=1\n' $rows >"$SCHED_REPORT"
  say reported
fi
[ $does != daemon ] || setsid sleep ` + daemonSleeps + ` &
while [ $n -lt $beats ]; do
  sleep 0.2
  n=$((n + 1))
  say beat
done
say end "$code"
exit "$code"
`

// poolName names the pool of tasks with a pool.
const poolName = "few"

// seats is how many runs of tasks with a pool may go on at once.
const seats = 2

// daemonSleeps is an argument by which the daemon that a task leaves behind is recognised.
const daemonSleeps = "7.5"

// hookScript is every hook, ./hook NAME SECONDS [fails].
const hookScript = say + `
say hook "$1"
[ "$2" = 0 ] || sleep "$2"
[ -z "$3" ] || case $SCHED_SLOT in *[036]:??Z) exit 1 ;; esac
`

// conditionScript is every condition command. It says no in some minutes (refuses).
const conditionScript = `#!/bin/sh
sleep 0.3
case $SCHED_SLOT in *[036]:??Z) exit 1 ;; esac
`

// reportsNothing reports whether the command of the task reports no rows for a slot.
func (t task) reportsNothing(slot time.Time) bool {
	return t.reports && strings.ContainsRune("258", rune('0'+slot.Minute()%10))
}

// refuses reports whether the condition command of the task says no to a slot.
func (t task) refuses(slot time.Time) bool {
	return t.condition && strings.ContainsRune("036", rune('0'+slot.Minute()%10))
}

func writeSchedule(dir string, tasks []task) {
	var b strings.Builder
	b.WriteString("timezone: UTC\nstate_dir: disk/state\nhistory: {runs_per_task: 100000}\n")
	fmt.Fprintf(&b, "pools: {%s: %d}\ntasks:\n", poolName, seats)
	for _, t := range tasks {
		b.WriteString(t.yaml())
	}
	must(os.WriteFile(filepath.Join(dir, "schedule.yaml"), []byte(b.String()), 0o600))
	must(os.WriteFile(filepath.Join(dir, "task"), []byte(taskScript), 0o700))
	must(os.WriteFile(filepath.Join(dir, "condition"), []byte(conditionScript), 0o700))
	must(os.WriteFile(filepath.Join(dir, "hook"), []byte(hookScript), 0o700))
}
