package dialect_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sched/schedule/dialect"
)

var update = flag.Bool("update", false, "write docs/dialects.md anew")

const page = "../../docs/dialects.md"

// rows are the expressions of the table, from an instant in a zone.
var rows = []struct{ expr, zone, at string }{
	{"0 0 */2 * 1", "UTC", "2026-12-01"},
	{"0 0 */2,6 * 5", "UTC", "2026-12-01"},
	{"0 0 13 * 5", "UTC", "2026-12-01"},
	{"0 0 * * 5-7", "UTC", "2026-12-01"},
	{"*/90 * * * *", "UTC", "2026-12-01"},
	{"5/15 * * * *", "UTC", "2026-12-01"},
	{"0 30 9 1 6 *", "UTC", "2026-12-01"},
	{"0 0 0 ? * 1", "UTC", "2026-12-01"},
	{"0 0 0 ? * 6L", "UTC", "2026-12-01"},
	{"0 0 0 ? * 2#1", "UTC", "2026-12-01"},
	{"30 2 * * *", "Europe/Berlin", "2027-03-27"},
	{"*/30 * * * *", "Europe/Berlin", "2027-03-27"},
	{"30 0 * * *", "Africa/Cairo", "2027-04-01"},
}

// docs/dialects.md is what the code says. To write it anew: go test ./schedule/dialect -update
//
//go:generate go test . -run TestThePageIsWhatTheCodeSays -update
func TestThePageIsWhatTheCodeSays(t *testing.T) {
	want := pageText(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/dialects.md is old: go test ./schedule/dialect -update")
	}
}

func pageText(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# Dialects

*What does this line mean elsewhere?*

` + "`sched explain '…' --as quartz`" + ` reads an expression as another program does, and prints the line
of a schedule.yaml that means the same; ` + "`--dialects`" + ` compares all. The same code makes this page.
Tests compare it with answers of the real programs (findings/dialects).

`)
	var unasked []string
	for _, d := range dialect.All() {
		if _, err := os.Stat("testdata/evidence/" + d.Name + ".json"); err != nil && d.Name != "sched" {
			unasked = append(unasked, d.Name)
		}
		also := ""
		if d.Users != "" {
			also = " (" + d.Users + ")"
		}
		if d.Name != "sched" {
			fmt.Fprintf(&b, "- `%s`: %s%s\n", d.Name, d.Program, also)
		}
	}
	b.WriteString("\nRead from sources and manuals alone:\n" +
		strings.Join(unasked, ", ") + ".\n")
	b.WriteString(`
## Who means what

In brackets: on how many days of a year it differs from the first one. Programs that are missing
refuse it.
`)
	for _, row := range rows {
		zone, err := time.LoadLocation(row.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.ParseInLocation(time.DateOnly, row.at, zone)
		line := "`" + row.expr + "`"
		if row.zone != "UTC" {
			line += ", " + row.zone
		}
		for i, g := range dialect.Groups(row.expr, zone, zone, at) {
			if g.Reading == nil {
				continue
			}
			means := dialect.Words(g.Reading)
			if row.zone != "UTC" {
				means = changesOf(g, row.expr, zone, at)
			}
			if i > 0 {
				means += fmt.Sprintf(" (%d)", g.Days)
			}
			var names []string
			for _, d := range g.Members {
				names = append(names, d.Name)
			}
			if line != "" {
				fmt.Fprintf(&b, "\n%s\n\n", line)
				line = ""
			}
			b.WriteString(wrapped("- " + means + ": " + strings.Join(names, ", ")))
		}
	}
	b.WriteString(inexact())
	return b.String()
}

// changesOf says what becomes of the times of a group when the clocks change in the next months.
func changesOf(g *dialect.Group, expr string, zone *time.Location, at time.Time) string {
	if g.Reading.Location == time.UTC {
		return "in UTC"
	}
	short := strings.NewReplacer("comes twice: it runs ", "", "does not exist: it ", "")
	var texts []string
	for _, d := range g.Members {
		r, err := d.Parse(expr, zone)
		if err != nil || texts != nil {
			continue
		}
		for _, c := range dialect.Changes(r, at, at.AddDate(0, 8, 0)) {
			texts = append(texts, short.Replace(c.Text))
		}
	}
	return strings.Join(texts, "; ")
}

// wrapped breaks a list item into lines of at most 100 columns.
func wrapped(text string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && width+1+len(word) > 100:
			b.WriteString("\n  ")
			width = 2
		case i > 0:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String() + "\n"
}

// inexact lists the differences that stay.
func inexact() string {
	if len(known) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n## Where a reading is not exact\n\n")
	for _, k := range known {
		if k.reason == "" {
			continue
		}
		b.WriteString(wrapped("- `" + k.dialect + "` " + k.reason))
	}
	return b.String()
}
