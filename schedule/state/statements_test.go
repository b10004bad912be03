package state

import (
	"fmt"
	"testing"
)

// A statement is prepared once, and one whose rows are being read is executed apart from them.
func TestAStatementMayBeExecutedWhileItsRowsAreRead(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	for n := range 3 {
		must(t, db.Values().Set(ctx, fmt.Sprint("value ", n), n))
	}
	const names = "SELECT key FROM meta WHERE key LIKE 'value %' ORDER BY key"
	var read []string
	must(t, db.write(ctx, func(q querier) error {
		outer, err := q.QueryContext(ctx, names)
		must(t, err)
		defer outer.Close()
		for outer.Next() {
			var name string
			must(t, outer.Scan(&name))
			inner, err := Only[string](ctx, q, names)
			must(t, err)
			read = append(append(read, name), inner...)
		}
		return outer.Err()
	}))
	const each = " value 0 value 1 value 2"
	if want := "[value 0" + each + " value 1" + each + " value 2" + each + "]"; fmt.Sprint(read) != want {
		t.Errorf("got  %v\nwant %s", read, want)
	}
}

// A connection that keeps statements sees tables that another process has changed meanwhile.
func TestAStatementThatIsKeptSeesChangesOfTheTables(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db, other := open(t, dir), open(t, dir)
	const columns = "SELECT * FROM meta"
	count := func() (n int) {
		must(t, db.read(ctx, func(q querier) error {
			rows, err := q.QueryContext(ctx, columns)
			must(t, err)
			defer rows.Close()
			names, err := rows.Columns()
			n = len(names)
			return err
		}))
		return n
	}
	if n := count(); n != 2 {
		t.Fatalf("%d columns", n)
	}
	_, err := other.file.conn.Exec("ALTER TABLE meta ADD COLUMN note TEXT")
	must(t, err)
	if n := count(); n != 3 {
		t.Errorf("%d columns after another process has added one", n)
	}
}

// A reader has filters that make more statements than a connection keeps.
func TestAConnectionKeepsSoManyStatements(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	for n := range 2 * maxPrepared {
		got, err := askOne[int](ctx, db, fmt.Sprint("SELECT ", n))
		must(t, err)
		if got != n {
			t.Fatalf("SELECT %d is %d", n, got)
		}
	}
}
