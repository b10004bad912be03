//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/state"
)

// The history of the part "million" holds 200 tasks, due in each of the last 5,000 minutes.
const (
	manyTasks   = 200
	manyMinutes = 5000
)

// million measures the commands that read a history of a million runs, as whole processes, and a
// tick that prunes it.
func (b *bench) million() {
	dir := b.due("million", manyTasks, `command: "true", background: true`)
	b.fill(filepath.Join(dir, ".sched"))
	b.sched(dir, "run") // so that all is well for status, which looks at these runs
	for _, question := range []string{"status", "status --prometheus -", "list", "history",
		"history --failed", "history task-7",
		"history task-7 --failed", "history task-7 --summary", "history --summary --since 1d",
		"history --summary --since 7d", "why task-7"} {
		b.ask(dir, manyTasks, question)
	}
	more := b.due("million-tasks", 1000, `command: "true", background: true`)
	must(os.Rename(filepath.Join(more, "schedule.yaml"), filepath.Join(dir, "schedule.yaml")))
	b.sched(dir, "run")
	for _, question := range []string{"status", "status --prometheus -", "list"} {
		b.ask(dir, 1000, question)
	}
	b.prune(dir)
}

// fill makes the history. 1 % of the runs failed, and one slot in eleven was skipped.
func (b *bench) fill(folder string) {
	must(os.Mkdir(folder, 0o700))
	db, err := state.Open(folder, state.Patience)
	must(err)
	random := rand.New(rand.NewSource(1))
	first := time.Now().UTC().Truncate(time.Minute).Add(-manyMinutes * time.Minute)
	var records []state.Row
	for n := range manyTasks * manyMinutes {
		records = append(records, past(folder, n, first.Add(time.Duration(n/manyTasks)*time.Minute), random))
		if len(records) == 10_000 {
			must(db.Runs().Record(context.Background(), records, false))
			records = records[:0]
		}
	}
	must(db.Close())
}

// past makes the n-th record.
func past(folder string, n int, slot time.Time, random *rand.Rand) state.Row {
	task, ms, code := fmt.Sprintf("task-%d", n%manyTasks), slot.UnixMilli()+int64(n%manyTasks), 0
	r := state.Row{
		ID: fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", ms>>16, ms&0xffff, n%manyTasks,
			random.Intn(1<<12), random.Int63n(1<<48)),
		Task: task, Mutex: task, Slot: slot, Background: true, Server: "web-1",
		Result: state.Result{Outcome: outcome.Succeeded, ExitCode: &code,
			UserCPU: time.Second, PeakMemory: 8 << 20},
		Started: slot.Add(20 * time.Millisecond), Attempt: state.Attempt{Number: 1},
		Snapshot: json.RawMessage(`{"name":"` + task + `","command":{"line":"true"},"env":{"PATH":"/usr/local/bin:/usr/bin:/bin"}}`),
	}
	r.Ended, r.Output = r.Started.Add(time.Duration(random.Intn(50_000))*time.Millisecond), output.Path(folder, r)
	switch {
	case n%101 == 0:
		code, r.Outcome, r.Reason = 1, outcome.Failed, "exit code 1"
	case n%11 == 0:
		r.Outcome, r.Reason, r.Started, r.ExitCode, r.Attempt.Number = outcome.Skipped,
			"still running after 5s", time.Time{}, nil, 0
	}
	return r
}

// ask measures one command that reads the history.
func (b *bench) ask(dir string, tasks int, question string) {
	var ms, busy []float64
	for range 21 {
		s := b.sched(dir, strings.Fields(question)...)
		ms, busy = append(ms, 1e3*s.first.Seconds()), append(busy, s.busyness())
	}
	limit := 100.0
	if command, _, _ := strings.Cut(question, " "); command != "history" {
		limit = 50
	}
	if tasks > manyTasks || strings.Contains(question, "--summary --since") {
		limit = none // the aim is the same; a busy machine, and a summary of all tasks, miss it
	}
	b.busyRow(fmt.Sprintf("a million runs, %d tasks: `sched %s`", tasks, question), median(ms), "ms", limit, busy)
}

// prune measures ticks that record one run, first with nothing to remove, and then with nearly all
// records to remove. A tick prunes once a day, so in between the last pass is dated back to the day
// before.
func (b *bench) prune(dir string) {
	write := func(keep string) {
		text := "timezone: UTC\nhistory: {keep: " + keep +
			", runs_per_task: 1000000}\ntasks:\n  - {name: one, every: minute, command: 'true'}\n"
		must(os.WriteFile(filepath.Join(dir, "schedule.yaml"), []byte(text), 0o600))
	}
	var busy []float64
	ticks := func(at time.Time) (ms []float64) {
		for range 11 {
			s := b.sched(dir, "run", "--at", at.Format(time.RFC3339))
			ms, busy = append(ms, 1e3*s.first.Seconds()), append(busy, s.busyness())
		}
		return ms[1:]
	}
	now := time.Now()
	write("3650d")
	without := median(ticks(now))
	db, err := state.Open(filepath.Join(dir, ".sched"), state.Patience)
	must(err)
	// no bound: it removes nothing
	_, err = db.Prune(context.Background(), now.AddDate(0, 0, -1), state.Keep{}, state.SmallStep)
	must(err)
	must(db.Close())
	write("1h")
	with := median(ticks(now))
	b.busyRow("a million runs, all to be pruned: what that adds to a tick", with-without, "ms", 100, busy)
}
