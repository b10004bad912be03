//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A part that is measured again replaces its rows in the page, and leaves the others and the words
// around the table alone.
func TestAPageGetsTheRowsOfTheMeasuredParts(t *testing.T) {
	page := filepath.Join(t.TempDir(), "performance.md")
	before := "# Performance\n\nMeasured on an older machine.\n\n" + heading +
		"| a tick | 9 ms |  | 5 | over | `idle`, 2020-01-01 |\n" +
		"| forks | 2 × |  |  |  | `starts`, 2020-01-01 |\n" +
		"\n## Why\n"
	if err := os.WriteFile(page, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := []row{{what: "a tick", figure: "4 ms", budget: "5", verdict: "ok", part: "idle"}}
	if err := updatePage(page, rows); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Performance\n\n" + machine() + "\n\n" + heading + rows[0].markdown() +
		"| forks | 2 × |  |  |  | `starts`, 2020-01-01 |\n" +
		"\n## Why\n"
	if string(text) != want {
		t.Errorf("the page is\n%s\nand not\n%s", text, want)
	}
	if got := strings.Count(string(text), "`idle`"); got != 1 {
		t.Errorf("%d rows of the part", got)
	}
}
