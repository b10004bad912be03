package state

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// BenchmarkOpenWriteClose is what an idle tick pays: it opens the database, writes the covered minute, and closes it.
func BenchmarkOpenWriteClose(b *testing.B) {
	dir := folder(b)
	must(b, open(b, dir).Close())
	for b.Loop() {
		db, err := Open(dir, Patience)
		must(b, err)
		plan, err := db.Plan(ctx)
		must(b, err)
		must(b, plan.Cover(ctx, noon))
		must(b, plan.Commit())
		must(b, db.Close())
	}
}

// BenchmarkPlan plans so many new slots: open, owner, rows, covered minute, commit, close.
func BenchmarkPlan(b *testing.B) {
	for _, slots := range []int{100, 1000} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			dir := folder(b)
			minute := noon
			tasks := make([]string, slots)
			for i := range tasks {
				tasks[i] = fmt.Sprintf("task-%04d", i)
			}
			for b.Loop() {
				db, err := Open(dir, Patience)
				must(b, err)
				owner, err := db.NewOwner(Tick)
				must(b, err)
				minute = minute.Add(time.Minute)
				rows := make([]Row, 0, slots)
				for _, task := range tasks {
					rows = append(rows, due(task, minute, owner.ID))
				}
				plan, err := db.Plan(ctx)
				must(b, err)
				_, err = plan.Enroll(ctx, owner)
				must(b, err)
				_, err = plan.Add(ctx, rows)
				must(b, err)
				must(b, plan.Cover(ctx, minute))
				must(b, plan.Commit())
				must(b, owner.Release())
				must(b, db.Close())
			}
		})
	}
}

// BenchmarkRun takes a row from ready to ended, in four transactions.
func BenchmarkRun(b *testing.B) {
	db := open(b, folder(b))
	ours := owned(b, db)
	slot := noon
	for b.Loop() {
		slot = slot.Add(time.Minute)
		row := due("task", slot, ours.ID())
		_, err := db.Runs().Request(ctx, row)
		must(b, err)
		must(b, ours.Start(ctx, row.ID, Attempt{Number: 1, At: slot}))
		must(b, ours.Forked(ctx, row.ID, Attempt{Number: 1, PID: 4711}))
		must(b, ours.End(ctx, row.ID, Result{Outcome: outcome.Succeeded, Ended: slot}, Also{}))
	}
}

// million makes a database of a thousand tasks with a thousand runs each, of 30 days.
func million(b *testing.B, dir string) {
	db := open(b, dir)
	defer db.Close()
	const tasks, runs = 1000, 1000
	step := 30 * 24 * time.Hour / runs
	for i := range runs {
		rows := make([]Row, 0, tasks)
		for task := range tasks {
			slot := noon.Add(-time.Duration(runs-i) * step).Add(time.Duration(task%43) * time.Minute)
			became := outcome.Succeeded
			switch n := (i*7 + task*13) % 1000; {
			case n < 20:
				became = outcome.Failed
			case n < 50:
				became = outcome.Skipped
			case n < 55:
				became = outcome.Missed
			}
			r := ended(fmt.Sprintf("task-%04d", task), slot, became)
			r.Snapshot = json.RawMessage(fmt.Sprintf(`{"name":"task-%04d","command":"./run"}`, task))
			r.Output = fmt.Sprintf("task-%04d/%s.log", task, r.ID)
			rows = append(rows, r)
		}
		add(b, db, rows...)
	}
	must(b, db.Values().Set(ctx, "made", true))
}

// BenchmarkAMillionRuns asks what commands and pages ask. Set STATE_BENCH_DIR to keep the database for the next time.
func BenchmarkAMillionRuns(b *testing.B) {
	if testing.Short() {
		b.Skip("a minute is needed to make the database")
	}
	dir := os.Getenv("STATE_BENCH_DIR")
	if dir == "" {
		dir = folder(b)
	}
	if _, err := os.Stat(dir + "/sched.db"); err != nil {
		must(b, os.MkdirAll(dir, 0o700))
		million(b, dir)
	}
	var names []string
	var spans []Span
	for task := range 1000 {
		names = append(names, fmt.Sprintf("task-%04d", task))
		spans = append(spans, Span{names[task], noon.AddDate(0, 0, -7)})
	}
	week := noon.AddDate(0, 0, -7)
	for _, c := range []struct {
		name string
		ask  func(*DB) error
	}{
		{"open", func(*DB) error { return nil }},
		{"live", func(db *DB) error { _, err := db.Runs().Live(ctx); return err }},
		{"newest 100", func(db *DB) error { _, err := db.Runs().Find(ctx, Query{Limit: 100}); return err }},
		{"newest 100 of a task", func(db *DB) error { _, err := db.Runs().Find(ctx, Query{Task: "task-0500", Limit: 100}); return err }},
		{"newest 100 failures", func(db *DB) error {
			_, err := db.Runs().Find(ctx, Query{Outcomes: []outcome.Outcome{outcome.Failed, outcome.TimedOut, outcome.Lost}, Limit: 100})
			return err
		}},
		{"a run by its end", func(db *DB) error {
			_, err := db.Runs().Get(ctx, "zzzz")
			return ignoreNotFound(err)
		}},
		{"last of 1000 tasks", func(db *DB) error { _, err := db.Runs().Last(ctx, names); return err }},
		{"usual of 1000 tasks", func(db *DB) error { _, err := db.Past().Usual(ctx, names); return err }},
		{"newest 20 of 1000 tasks", func(db *DB) error { _, err := db.Past().Newest(ctx, spans, time.Time{}, 20); return err }},
		{"counts of 1000 tasks", func(db *DB) error { _, err := db.Past().Counts(ctx, spans, time.Time{}, 100); return err }},
		{"hours of a week", func(db *DB) error { _, err := db.Past().Hours(ctx, week, noon); return err }},
		{"totals of a day", func(db *DB) error { _, err := db.Past().Totals(ctx, noon.AddDate(0, 0, -1)); return err }},
		{"totals of all", func(db *DB) error { _, err := db.Past().Totals(ctx, time.Time{}); return err }},
		{"summaries of a week", func(db *DB) error { _, err := db.Past().Summaries(ctx, "", week, noon); return err }},
		{"took of all", func(db *DB) error { _, err := db.Past().Took(ctx); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				db, err := OpenRead(dir, Patience)
				must(b, err)
				must(b, c.ask(db))
				must(b, db.Close())
			}
		})
	}
	b.Run("a step of pruning", func(b *testing.B) {
		db := open(b, dir)
		for b.Loop() {
			_, err := db.Prune(ctx, noon, Keep{For: 30 * 24 * time.Hour, RunsPerTask: 990}, SmallStep)
			must(b, err)
		}
	})
}

func ignoreNotFound(err error) error {
	if err != nil && err.Error() == `no such run: "zzzz"` {
		return nil
	}
	return err
}
