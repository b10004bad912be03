//go:build linux

package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A table has a cell for each target and fault.
type table struct {
	rows    []target
	columns []fault
	mu      sync.Mutex
	cells   map[[2]string]string
	figures []string             // lines of the table of figures
	before  map[[2]string]string // cells of the page that another run wrote
}

func newTable(rows []target, columns []fault) *table {
	return &table{rows: rows, columns: columns, cells: map[[2]string]string{}}
}

func (t *table) set(row target, f fault, cell, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cells[[2]string{row.name, f.name}] = cell
	if cell != notApplicable {
		log.Printf("%s, %s: %s %s", row.name, f.name, cell, why)
	}
}

// notApplicable is a cell of a fault that a target cannot suffer.
const notApplicable = "–"

// noisy is before a cell that came out otherwise in an earlier run.
const noisy = "~"

// cell is what a cell of the page says.
func (t *table) cell(row target, f fault) string {
	key := [2]string{row.name, f.name}
	if old := t.before[key]; old != "" && old != t.cells[key] {
		return noisy + t.cells[key]
	}
	return t.cells[key]
}

// remember reads the cells of a page, if there is one.
func (t *table) remember(path string) {
	text, _ := os.ReadFile(path)
	var head []string
	t.before = map[[2]string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) > 1 && cells[1] == "":
			head = cells
		case len(cells) == len(head):
			for i := 2; i < len(cells); i++ {
				t.before[[2]string{cells[1], head[i]}] = cells[i]
			}
		}
	}
}

// changed lists the cells that are otherwise on the page and not noisy there.
func (t *table) changed() (all []string) {
	for _, row := range t.rows {
		for _, f := range t.columns {
			key := [2]string{row.name, f.name}
			if old := t.before[key]; old != t.cells[key] && !strings.HasPrefix(old, noisy) {
				all = append(all, fmt.Sprintf("%s, %s: %s, and on the page %q", row.name, f.name, t.cells[key], old))
			}
		}
	}
	return all
}

// ticks is the table of the page that compares schedulers: what holds under all faults of a process
// and of a disk.
func (t *table) ticks() string {
	var b strings.Builder
	b.WriteString("||all that was lost is named|none beside itself|none twice|\n|---|---|---|---|\n")
	for _, row := range t.rows {
		if row.settings == "" {
			continue
		}
		fmt.Fprintf(&b, "|%s|", row.name)
		for _, words := range []string{"lost|cut off", "overlapped", "twice"} {
			tick := "✓"
			for _, f := range t.columns {
				cell := t.cells[[2]string{row.name, f.name}]
				if f.night == nil && regexp.MustCompile(words).MatchString(cell) && (words[0] != 'l' || !strings.Contains(cell, saidSo)) {
					tick = "–"
				}
			}
			fmt.Fprintf(&b, "%s|", tick)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// compare writes the ticks between two marks of a page.
func (t *table) compare(path string) {
	const begin, end = "<!-- bench/field writes this -->\n", "<!-- to here -->"
	text, err := os.ReadFile(path)
	must(err)
	before, rest, _ := strings.Cut(string(text), begin)
	if _, after, found := strings.Cut(rest, end); found {
		must(os.WriteFile(path, []byte(before+begin+t.ticks()+end+after), 0o644))
	}
}

// markdown is a part of the table, with the faults as columns.
func (t *table) markdown(title string, belongs func(fault) bool) string {
	var b strings.Builder
	head, line := "||", "|---|"
	for _, f := range t.columns {
		if belongs(f) {
			head, line = head+f.name+"|", line+"---|"
		}
	}
	fmt.Fprintf(&b, "\n%s\n\n%s\n%s\n", title, head, line)
	for _, row := range t.rows {
		cells, tested := "|"+row.name+"|", false
		for _, f := range t.columns {
			if belongs(f) {
				cell := t.cell(row, f)
				cells, tested = cells+cell+"|", tested || cell != notApplicable
			}
		}
		if tested {
			fmt.Fprintln(&b, cells)
		}
	}
	return b.String()
}

const introduction = `# The field under faults

*What does each scheduler lose, and does it say so?*

[bench/field](../bench/field/README.md) wrote this on %s, in %.0f minutes on %d cores:
` + "`go -C bench/field run . -page ../../docs/field.md`" + `.

A job of each minute and one of 80 seconds, which must not run beside itself, ran for four minutes.
✓: each minute once, none beside itself. *Late*: the scheduler made up for the minute. *Lost*: it
never ran. *Cut off*: it ran when the scheduler was killed. *Said so*: a line of the scheduler names
each of these minutes. *Left behind*: a job ran on when its scheduler had ended. –: does not apply.
~: came out otherwise in another run.
`

const figuresTitle = `
Alone on the machine, 100 lines due at once: when half and all had started, the memory (PSS) before
and while they ran, and how late a job of every second was, in the median and at worst:

||half|all|at rest|100 running|every second|
|---|---|---|---|---|---|
`

// page is docs/field.md. Its last section is from the README of this folder, where it runs.
func (t *table) page(begun time.Time, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, introduction, begun.Format("2 January 2006"), took.Minutes(), runtime.NumCPU())
	b.WriteString(t.markdown("Processes, disks and jobs:", func(f fault) bool { return f.night == nil && !f.store }))
	b.WriteString(t.markdown("With a store:", func(f fault) bool { return f.store }))
	b.WriteString(t.markdown("Clocks, thirty times as fast, of sched in a build for tests, else by libfaketime.\n"+
		"✓: the job ran once:", func(f fault) bool { return f.night != nil }))
	b.WriteString(figuresTitle + strings.Join(t.figures, "\n") + "\n\n|fault||\n|---|---|\n")
	for _, f := range t.columns {
		fmt.Fprintf(&b, "|%s|%s|\n", f.name, f.about)
	}
	b.WriteString("\n|scheduler|version|settings|\n|---|---|---|\n")
	for _, row := range t.rows {
		if row.settings != "" {
			fmt.Fprintf(&b, "|%s|%s|%s|\n", row.name, versionOf(row.version), row.settings)
		}
	}
	readme, err := os.ReadFile("README.md")
	must(err)
	_, unfair, _ := strings.Cut(string(readme), "## What is unfair\n")
	return b.String() + "\n## What is unfair\n" + unfair
}

// versionOf is the version of a Debian package, of a module in go.mod, or of a package of npm.
func versionOf(name string) string {
	command := []string{"dpkg-query", "-W", "-f", "${Version}", name}
	switch {
	case name == "sched":
		return "this repository"
	case strings.HasSuffix(name, "supercronic"):
		return strings.TrimPrefix(supercronicVersion, "v")
	case name == "busybox":
		command = []string{"sh", "-c", bin + "/busybox | sed -n '1s/.* v\\([0-9.]*\\) .*/\\1/p'"}
	case strings.Contains(name, "/"):
		command = []string{"go", "list", "-m", "-f", "{{.Version}}", name}
	case name == "node-cron", name == "croner":
		command = []string{"npm", "pkg", "get", "version", "--prefix", bin + "/node/node_modules/" + name}
	}
	out, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		return "?"
	}
	return strings.Trim(strings.TrimSpace(string(out)), `v"`)
}
