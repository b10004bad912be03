package main

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// Older versions can damage a write-ahead log that several processes write
// (https://sqlite.org/releaselog/3_51_3.html).
func TestSQLiteIsNewEnoughForManyWriters(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text string
	if err := db.QueryRow("SELECT sqlite_version()").Scan(&text); err != nil {
		t.Fatal(err)
	}
	version := make([]int, 3)
	fmt.Sscanf(text, "%d.%d.%d", &version[0], &version[1], &version[2])
	if slices.Compare(version, []int{3, 51, 3}) < 0 {
		t.Errorf("SQLite is %s", text)
	}
}

// modernc.org/sqlite is generated code for one version of its C library, and breaks with others.
func TestLibcIsTheVersionThatSQLiteIsMadeFor(t *testing.T) {
	t.Parallel()
	pinned, err := os.ReadFile(goList(t, "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`modernc\.org/libc (\S+)`).FindSubmatch(pinned)
	if match == nil {
		t.Fatal("modernc.org/sqlite names no libc")
	}
	if ours := goList(t, "-m", "-f", "{{.Version}}", "modernc.org/libc"); ours != string(match[1]) {
		t.Errorf("libc is %s, and sqlite is made for %s", ours, match[1])
	}
}

func TestModulesForTestsAreInNoProgram(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(text(t, "go.mod"), "// For tests alone")
	_, block, _ := strings.Cut(after, "require (\n")
	block, _, _ = strings.Cut(block, ")")
	inProgram := strings.Fields(goList(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	count := 0
	for line := range strings.Lines(block) {
		count++
		if module := strings.Fields(line)[0]; slices.Contains(inProgram, module) {
			t.Errorf("%s is for tests, and sched has it", module)
		}
	}
	if count == 0 {
		t.Error("go.mod has no modules for tests alone")
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	list := exec.Command("go", append([]string{"list"}, args...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
