package state

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// cpu reports the processor time of each operation, because other processes of the machine do not
// change it as they change the elapsed time. It returns the function to call at the end.
func cpu(b *testing.B) (done func()) {
	used := func() time.Duration {
		var r syscall.Rusage
		must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}

// BenchmarkOpenWriteClose does what an idle tick does: it opens the database, writes the covered
// minute, and closes it.
func BenchmarkOpenWriteClose(b *testing.B) {
	dir := folder(b)
	must(b, open(b, dir).Close())
	defer cpu(b)()
	for b.Loop() {
		db, err := Open(dir, Patience)
		must(b, err)
		plan, err := db.Plan(ctx)
		must(b, err)
		must(b, plan.Values().Cover(ctx, noon))
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
			defer cpu(b)()
			for b.Loop() {
				db, err := Open(dir, Patience)
				must(b, err)
				self := db.Self(Tick)
				minute = minute.Add(time.Minute)
				rows := make([]Row, 0, slots)
				plan, err := db.Plan(ctx)
				must(b, err)
				ours, err := plan.Become(ctx, self)
				must(b, err)
				for _, task := range tasks {
					rows = append(rows, due(task, minute, ours.ID))
				}
				_, err = plan.Add(ctx, rows)
				must(b, err)
				must(b, plan.Values().Cover(ctx, minute))
				must(b, plan.Commit())
				must(b, db.Close())
				self.Close()
			}
		})
	}
}

// BenchmarkRun takes a row from ready to ended, in four transactions.
func BenchmarkRun(b *testing.B) {
	db := open(b, folder(b))
	ours := owned(b, db)
	slot := noon
	defer cpu(b)()
	for b.Loop() {
		slot = slot.Add(time.Minute)
		row := due("task", slot, ours.ID)
		_, err := db.Runs().Request(ctx, row)
		must(b, err)
		must(b, ours.Apply(ctx, Start(Attempt{Number: 1, At: slot}), &row))
		must(b, ours.Apply(ctx, Fork(4711), &row))
		must(b, ours.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Succeeded, Ended: slot}}), &row))
	}
}

// million makes a database of a thousand tasks with a thousand runs each, of 30 days. It makes the
// indexes last, which is faster.
func million(b *testing.B, dir string) {
	db := open(b, dir)
	defer db.Close()
	exec := func(text string, args ...any) {
		if _, err := db.file.conn.Exec(text, args...); err != nil {
			b.Fatalf("%s: %v", text, err)
		}
	}
	exec("DROP TRIGGER total_added")
	indexes := map[string]string{} // what makes each, by its name
	rows, err := db.file.conn.Query("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'run' AND sql IS NOT NULL")
	must(b, err)
	for rows.Next() {
		var name, text string
		must(b, rows.Scan(&name, &text))
		indexes[name] = text
	}
	must(b, rows.Close())
	for name := range indexes {
		exec("DROP INDEX " + name)
	}
	exec(`WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 999)
		INSERT INTO definition (body, digest) SELECT json_object('name', printf('task-%04d', n), 'command', './run'), printf('task-%04d', n) FROM n`)
	exec(`WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 999999),
			slot (n, run, task, slot, bad) AS (SELECT n, n / 1000, n % 1000,
				?1 - (1000 - n / 1000) * 2592000000 + n % 1000 % 43 * 60000000, (n / 1000 * 7 + n % 1000 * 13) % 1000 FROM n)
		INSERT INTO run (id, task, mutex, slot, scheduled, server, definition, phase, attempt, started, ended, outcome, output)
		SELECT printf('%08x-%04x-7%03x-8%03x-%s', slot / 65536000, slot / 1000 % 65536, n % 4096, n % 4093, lower(hex(randomblob(6)))),
			printf('task-%04d', task), printf('task-%04d', task), slot, 1, 'web-1', task + 1, 'ended', bad NOT BETWEEN 20 AND 54,
			iif(bad BETWEEN 20 AND 54, NULL, slot + 1000000), slot + 2000000,
			CASE WHEN bad < 20 THEN 'failed' WHEN bad < 50 THEN 'skipped' WHEN bad < 55 THEN 'missed' ELSE 'succeeded' END,
			printf('task-%04d/%d.log', task, n) FROM slot`, noon.UnixMicro())
	for _, text := range indexes {
		exec(text)
	}
}

// BenchmarkAMillionRuns runs the queries of commands and pages. Set STATE_BENCH_DIR to keep the
// database for the next time.
func BenchmarkAMillionRuns(b *testing.B) {
	dir := os.Getenv("STATE_BENCH_DIR")
	if dir == "" {
		dir = folder(b)
	}
	if _, err := os.Stat(dir + "/sched.db"); err != nil {
		must(b, os.MkdirAll(dir, 0o700))
		million(b, dir)
	}
	look, err := OpenRead(dir, Patience)
	must(b, err)
	rows := 0
	must(b, look.read(ctx, func(q querier) error { return q.QueryRowContext(ctx, "SELECT count(*) FROM run").Scan(&rows) }))
	must(b, look.Close())
	b.Log(rows, "rows")
	var names []string
	for task := range 1000 {
		names = append(names, fmt.Sprintf("task-%04d", task))
	}
	for _, c := range []struct {
		name string
		ask  func(*DB) error
	}{
		{"open", func(*DB) error { return nil }},
		{"live", func(db *DB) error { _, err := db.Runs().BegunOrWaiting(ctx); return err }},
		{"last of 1000 tasks", func(db *DB) error { _, err := db.Runs().Last(ctx, names); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			defer cpu(b)()
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
		defer cpu(b)()
		for b.Loop() {
			_, err := db.Prune(ctx, noon, Keep{For: 30 * 24 * time.Hour, RunsPerTask: 990}, SmallStep)
			must(b, err)
		}
	})
}
