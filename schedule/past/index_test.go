package past

import (
	"database/sql"
	"regexp"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// Queries of live rows, of a task and of the newest rows read an index: a million rows cost what a
// thousand do.
func TestQueriesReadAnIndex(t *testing.T) {
	t.Parallel()
	db, err := state.Open(t.TempDir(), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	scan := regexp.MustCompile(`^SCAN (run|r|message)$`)
	for _, query := range []Query{{}, {Limit: 10}, {Task: "t"}, {Mutex: "m"}, {Outcomes: outcome.Ran[1:]},
		{Outcomes: outcome.Ran[1:], Task: "t"}, {Outcomes: []outcome.Outcome{outcome.Warned, outcome.Failed}},
		{Since: noon}, {Since: noon, Task: "t"},
		{Slot: noon}, {Slot: noon, Task: "t"}, {Below: Position{noon, "x"}, Limit: 10}} {
		text, args := query.sql()
		plan, err := state.Ask(t.Context(), db, func(c state.Querier) ([]string, error) {
			var plan []string
			err := state.Each(t.Context(), c, func(rows *sql.Rows) error {
				var id, parent, unused int
				var detail string
				err := rows.Scan(&id, &parent, &unused, &detail)
				plan = append(plan, detail)
				return err
			}, "EXPLAIN QUERY PLAN "+text, args...)
			return plan, err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, detail := range plan {
			// ranges are few
			if scan.MatchString(detail) ||
				query.Since.IsZero() && strings.Contains(detail, "TEMP B-TREE FOR ORDER BY") {
				t.Errorf("%+v: %s", query, detail)
			}
		}
	}
}
