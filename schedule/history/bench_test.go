package history

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sched/schedule/outcome"
)

func BenchmarkOpenAddOneClose(b *testing.B) {
	dir := b.TempDir()
	for n := 0; b.Loop(); n++ {
		db, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		mustAdd(b, db, rec(n, "a", outcome.Succeeded))
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenReadLastClose(b *testing.B) {
	dir := b.TempDir()
	fill(b, dir, rec(1, "a", outcome.Succeeded))
	for b.Loop() {
		db, err := OpenRead(dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := db.Last(context.Background(), []string{"a"}); err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}

func BenchmarkAddAThousand(b *testing.B) {
	db := openTest(b, b.TempDir())
	for n := 0; b.Loop(); n++ {
		many := make([]outcome.Record, 1000)
		for i := range many {
			many[i] = rec(n*1000+i, fmt.Sprint("task-", i), outcome.Succeeded)
			many[i].Snapshot = json.RawMessage(fmt.Sprintf(`{"name":"task-%d"}`, i))
		}
		mustAdd(b, db, many...)
	}
}

// BenchmarkMillion asks a history of a million runs of 10,000 tasks, one in a hundred failed, one in ten skipped.
// The budget is 100 ms a question.
func BenchmarkMillion(b *testing.B) {
	db := openTest(b, b.TempDir())
	start := time.Now()
	million(b, db)
	b.Logf("built in %v", time.Since(start))
	ctx := context.Background()
	tasks := make([]string, 10_000)
	for i := range tasks {
		tasks[i] = fmt.Sprintf("task-%05d", i)
	}
	failed := []outcome.Outcome{outcome.Failed, outcome.TimedOut, outcome.Stopped, outcome.Lost}
	for name, ask := range map[string]func() error{
		"newest":   func() error { _, err := db.Find(ctx, Query{Limit: 50}); return err },
		"failures": func() error { _, err := db.Find(ctx, Query{Outcomes: failed, Limit: 50}); return err },
		"lost, of few": func() error {
			_, err := db.Find(ctx, Query{Outcomes: []outcome.Outcome{outcome.Lost}, Limit: 50})
			return err
		},
		"skipped": func() error {
			_, err := db.Find(ctx, Query{Outcomes: []outcome.Outcome{outcome.Skipped}, Limit: 50})
			return err
		},
		"task":             func() error { _, err := db.Find(ctx, Query{Task: tasks[5000]}); return err },
		"failures of task": func() error { _, err := db.Find(ctx, Query{Task: tasks[5000], Outcomes: failed}); return err },
		"mutex":            func() error { _, err := db.Find(ctx, Query{Mutex: tasks[77], Limit: 1}); return err },
		"slot of task":     func() error { _, err := db.Find(ctx, Query{Task: tasks[1], Slot: minute(3)}); return err },
		"window": func() error {
			_, err := db.Find(ctx, Query{Since: minute(50), Until: minute(60), Limit: 50})
			return err
		},
		"last of all tasks":  func() error { _, err := db.Last(ctx, tasks); return err },
		"usual of ten tasks": func() error { _, err := db.Usual(ctx, tasks[:10]); return err },
		"usual of all tasks": func() error { _, err := db.Usual(ctx, tasks); return err },
		"minute of task": func() error {
			_, err := db.Find(ctx, Query{Task: tasks[1], Since: minute(3), Until: minute(4)})
			return err
		},
		"around a minute":    func() error { _, err := db.Around(ctx, tasks[1], minute(3), 1000); return err },
		"summary of task":    func() error { _, err := db.Summaries(ctx, tasks[7], time.Time{}, time.Time{}); return err },
		"summary, of 80,000": func() error { _, err := db.Summaries(ctx, "", minute(92), time.Time{}); return err },
		"summary of all":     func() error { _, err := db.Summaries(ctx, "", time.Time{}, time.Time{}); return err },
		"totals":             func() error { _, err := db.Totals(ctx); return err },
		"previous":           func() error { _, _, err := db.Previous(ctx, tasks[9], "ffffffff"); return err },
		"get by id":          func() error { _, err := db.Get(ctx, runID(500_000)); return err },
		"get by end":         func() error { _, err := db.Get(ctx, runID(500_000)[28:]); return err },
		"get by vague end":   func() error { db.Get(ctx, "0000"); return nil },
		"get by vague start": func() error { db.Get(ctx, "0"); return nil },
		"prune due":          func() error { db.PruneDue(ctx, noon); return nil },
		"prune, by number":   func() error { _, err := db.Prune(ctx, noon, 0, 99, 0); return err },
		"prune, by age":      func() error { _, err := db.Prune(ctx, minute(2), time.Minute, 0, 0); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// million fills the tables in SQL, with their indexes made afterwards.
func million(b *testing.B, db *DB) {
	b.Helper()
	drop, err := texts(context.Background(), connOf(b, db), "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
	if err != nil {
		b.Fatal(err)
	}
	create, err := texts(context.Background(), connOf(b, db), "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
	if err != nil {
		b.Fatal(err)
	}
	script := []string{"PRAGMA synchronous = OFF", "INSERT INTO snapshots VALUES (1, x'00', '{}')"}
	for _, name := range drop {
		script = append(script, "DROP INDEX "+name)
	}
	script = append(script, fmt.Sprintf(`WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM n WHERE n < 999999)
		INSERT INTO runs (run, task, mutex, slot, background, server, started, ended, outcome, reason,
			exit_code, attempts, user_cpu, system_cpu, peak_memory, output, notes, snapshot) SELECT printf('%%08x-0000-7000-8000-%%012x', n, n*7919), printf('task-%%05d', n %% 10000), printf('task-%%05d', n %% 10000),
			%d + n/10000*60000000, 1, 'web-1', %[1]d + n/10000*60000000, %[1]d + n/10000*60000000 + 1000,
			CASE WHEN n = 500000 THEN 'lost' WHEN n %% 101 = 0 THEN 'failed' WHEN n %% 11 = 0 THEN 'skipped' ELSE 'succeeded' END,
			'', 0, 1, 1000, 1000, 1000000, printf('output/task-%%05d/%%d.log', n %% 10000, n), NULL, 1 FROM n`, noon.UnixMicro()))
	for _, statement := range append(append(script, create...), `INSERT INTO totals SELECT task, outcome, sum(max(slots, 1)), max(run), slot, started, ended, exit_code
		FROM runs GROUP BY task, outcome`) {
		if _, err := connOf(b, db).Exec(statement); err != nil {
			b.Fatal(statement, err)
		}
	}
}
