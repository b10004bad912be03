package terminal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
)

func ExampleTable() {
	table := NewTable(Of(os.Stdout, os.Getenv))
	table.Head("TASK", "LAST")
	table.Row("report", "succeeded")
	table.Row("prune-sessions", "failed")
	table.Flush()
	// Output:
	// TASK            LAST
	// report          succeeded
	// prune-sessions  failed
}

func TestATableIsNoWiderThanItsTerminal(t *testing.T) {
	rows := [][]string{{"NAME", "WHEN", "", "DOES"}, {"a", "* * * * *", "\x1b[2mnow\x1b[0m", "echo a long 日本"},
		{"", "0 0 * * *", "", ""}}
	shrinks := []Shrink{{3, 6}, {2, 0}, {3, 0}, {1, 5}}
	table := &Table{Stream{terminal: os.Stdin, utf8: true, colour: true}, shrinks, rows}
	for _, row := range []struct {
		limit int
		want  string
	}{
		// no limit
		{0, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo a long 日本|      0 0 * * *"},
		{38, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo a long 日本|      0 0 * * *"},
		// the last column becomes narrower, then the third goes, then the last
		{37, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo a long 日…|      0 0 * * *"},
		{28, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo …|      0 0 * * *"},
		{27, "NAME  WHEN       DOES|a     * * * * *  echo a lo…|      0 0 * * *"}, // and gives back what it had
		{23, "NAME  WHEN       DOES|a     * * * * *  echo …|      0 0 * * *"},
		{22, "NAME  WHEN|a     * * * * *|      0 0 * * *"},
		// then the second becomes narrower
		{13, "NAME  WHEN|a     * * * …|      0 0 * …"},
		// and at last lines are cut
		{9, "NAME  WH…|a     * …|      0 …"},
		{1, "…|…|…"},
	} {
		want := strings.ReplaceAll(row.want, "|", "\n") + "\n"
		if got := table.layOut(row.limit); got != want {
			t.Errorf("%d columns:\n%q\n%q", row.limit, got, want)
		}
	}
}

// Scripts may count on the columns in a pipe. So a table in a pipe stays what text/tabwriter
// prints, which wrote it once.
func TestATableInAPipeIsThatOfTabwriter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var got, want bytes.Buffer
		table := NewTable(Of(&got, os.Getenv), Shrink{0, 0})
		tabbed := tabwriter.NewWriter(&want, 0, 0, Gap, ' ', 0)
		columns := 1 + random.IntN(5)
		for range random.IntN(5) {
			row := make([]string, columns)
			for i := range row {
				row[i] = strings.Repeat("x", max(0, random.IntN(8)-2))
			}
			table.Row(row...)
			fmt.Fprintln(tabbed, strings.Join(row, "\t"))
		}
		table.Flush()
		tabbed.Flush()
		if got.String() != want.String() {
			t.Fatalf("%q, not %q", got.String(), want.String())
		}
	}
}
