//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// heading begins the table. updatePage finds the table of a page by it.
const heading = "| measure | figure | beside it | budget | | repeat |\n|---|---|---|---|---|---|\n"

// table returns the rows as a table of Markdown. The last column is the part that repeats a row.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString(heading)
	for _, r := range rows {
		b.WriteString(r.markdown())
	}
	return b.String()
}

func (r row) markdown() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | `%s`, %s |\n", r.what, r.figure, r.beside, r.budget, r.verdict, r.part,
		time.Now().Format(time.DateOnly))
}

// machine says on what the figures were measured.
func machine() string {
	var name unix.Utsname
	must(unix.Uname(&name))
	model := runtime.GOARCH
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("Measured on %d × %s, Linux %s, %s.", runtime.NumCPU(), model,
		unix.ByteSliceToString(name.Release[:]), runtime.Version())
}

// updatePage writes the rows into the table of a page, in the place of older rows of the same
// parts. The line before the table says on which machine it was measured.
func updatePage(file string, rows []row) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, after, found := strings.Cut(string(text), heading)
	if !found {
		return fmt.Errorf("%s has no table that begins with %q", file, strings.TrimSpace(heading))
	}
	before = before[:strings.LastIndex(before, "Measured on ")]
	old, rest := after, ""
	if end := strings.Index(after, "\n\n"); end >= 0 {
		old, rest = after[:end+1], after[end+1:]
	}
	parts := map[string][]string{}
	for line := range strings.Lines(old) {
		parts[partOf(line)] = append(parts[partOf(line)], line)
	}
	for _, r := range rows {
		parts[r.part] = nil
	}
	for _, r := range rows {
		parts[r.part] = append(parts[r.part], r.markdown())
	}
	var lines []string
	for _, p := range (*bench)(nil).parts() {
		lines = slices.Concat(lines, parts[p.name])
	}
	page := before + machine() + "\n\n" + heading + strings.Join(lines, "") + rest
	return os.WriteFile(file, []byte(page), 0o644)
}

// partOf returns the part of a line of the table: the code in its last column.
func partOf(line string) string {
	columns := strings.Split(line, "|")
	if len(columns) < 2 {
		return ""
	}
	_, after, _ := strings.Cut(columns[len(columns)-2], "`")
	part, _, _ := strings.Cut(after, "`")
	return part
}
