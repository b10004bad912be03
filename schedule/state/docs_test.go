package state

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page for people who open the file with sqlite3 has each table and each column, and its
// queries work.
func TestThePageAboutTheDatabase(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/internals/state.md")
	must(t, err)
	db := open(t, folder(t))
	must(t, db.read(ctx, func(q querier) error {
		names, err := Only[string](ctx, q, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
			UNION SELECT info.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS info WHERE s.type = 'table'`)
		for _, name := range names {
			if !strings.Contains(string(text), "`"+name+"`") && name != "run" {
				t.Errorf("the page does not name %s", name)
			}
		}
		return err
	}))
	queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(queries) != 2 {
		t.Errorf("%d queries", len(queries))
	}
	for _, query := range queries {
		if _, err := db.file.conn.Exec(query[1]); err != nil {
			t.Errorf("%s: %v", query[1], err)
		}
	}
}

// A query that adds up many rows reads a covering index, and no row.
func TestSumsReadAnIndexAlone(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	for _, query := range []string{
		"SELECT slot, ended - started, iif(scheduled, started - slot, NULL) FROM run INDEXED BY run_sum WHERE task = 'x' AND outcome = 'lost' AND slot > 1 AND " + Single,
		"SELECT outcome, ended - started FROM run INDEXED BY run_ran WHERE task = 'x' AND " + Ran + " ORDER BY id DESC",
	} {
		var id, parent, unused int
		var detail string
		must(t, db.file.conn.QueryRow("EXPLAIN QUERY PLAN "+query).Scan(&id, &parent, &unused, &detail))
		if !strings.Contains(detail, "COVERING INDEX") {
			t.Errorf("%s: %s", query, detail)
		}
	}
}
