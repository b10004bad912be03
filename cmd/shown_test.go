package cmd_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sched/testing/schedtest"
)

// A page shows commands and what they print in blocks of "console": lines that begin with "$ ",
// each with its output below it. TestShown runs a story for each page, and the command `shown` of
// these stories checks that the output is what sched prints. The check ignores parts that the page
// cannot know (durations, ids, pids, sizes) and the width of columns.

// A shown is a command of a page with its output.
type shown struct{ page, command, output string }

// shownIn returns the commands that a page shows with an output.
func shownIn(page string) (found []shown, err error) {
	text, err := os.ReadFile(filepath.Join("..", page))
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(part, "\n")
			if strings.TrimSpace(output) != "" {
				found = append(found, shown{page, command, output})
			}
		}
	}
	return found, err
}

// yamlIn returns the n-th block of YAML in a page.
func yamlIn(page string, n int) (string, error) {
	text, err := os.ReadFile(filepath.Join("..", page))
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(text), -1)
	if err == nil && (n < 1 || n > len(blocks)) {
		err = fmt.Errorf("%s has %d blocks of YAML", page, len(blocks))
	}
	if err != nil {
		return "", err
	}
	return blocks[n-1][1], nil
}

// varies are the parts of an output that a page cannot know.
var varies = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "RUN"},
	{regexp.MustCompile(`\bpid \d+`), "pid PID"},
	{regexp.MustCompile(`compared, until \d{4}-\d\d-\d\d`), "compared, until DATE"}, // 28 years from today
	{regexp.MustCompile(`\b\d+(\.\d+){3}:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\b\d+(\.\d+)? [KMG]iB`), "SIZE"},
	{regexp.MustCompile(`\b\d+(\.\d+)? (ms|s|m|h|d)( \d+ (s|m|h))?\b`), "DURATION"},
	{regexp.MustCompile(`\b(\d+[hms])+(\.\d+s)?\b`), "DURATION"},
	{regexp.MustCompile(`[+-]DURATION`), "OFFSET"},
	{regexp.MustCompile(`(?m)[^ \n]*…$`), "…"}, // cut to the width of the terminal
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// shape is an output without what varies.
func shape(output string) string {
	for _, v := range varies {
		output = v.pattern.ReplaceAllString(output, v.name)
	}
	// stdout and stderr are written by several parts of a tick at the same time, so only the order
	// within each counts.
	var out, errs []string
	for line := range strings.Lines(strings.TrimSpace(output) + "\n") {
		if strings.HasPrefix(line, "sched: ") || strings.HasPrefix(line, "hint: ") {
			errs = append(errs, line)
		} else {
			out = append(out, line)
		}
	}
	return strings.Join(append(out, errs...), "")
}

// notRun are commands whose output only a person can see.
var notRun = []shown{
	{page: "README.md", command: "go build"},
}

func TestShown(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	proven := map[shown]bool{}
	prove := func(ts *testscript.TestScript, page, command, out string) {
		all, err := shownIn(page)
		ts.Check(err)
		mu.Lock()
		defer mu.Unlock()
		said := ""
		for _, one := range all {
			if one.command == command && shape(one.output) == shape(out) {
				proven[one] = true
				return
			}
			if one.command == command {
				said += one.output
			}
		}
		ts.Fatalf("%s does not show what `%s` prints:\n%s\nit shows:\n%s", page, command, out, said)
	}
	// shown PAGE COMMAND... runs each command with the shell, stdout and stderr together, and
	// checks that the page shows it with this output; shown-on-terminal does it on a terminal.
	plain := func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: shown PAGE COMMAND...")
		}
		for _, command := range args[1:] {
			out, _ := shell(ts, command).CombinedOutput()
			prove(ts, args[0], command, string(out))
		}
	}
	terminal := func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: shown-on-terminal PAGE COMMAND...")
		}
		for _, command := range args[1:] {
			c := shell(ts, command)
			c.Env = append(c.Env, "TERM=xterm", "LC_ALL=C.UTF-8")
			prove(ts, args[0], command, schedtest.ScreenOf(ts, c, 100))
		}
	}
	// yaml PAGE N FILE copies the n-th block of YAML of a page into a file.
	yaml := func(ts *testscript.TestScript, neg bool, args []string) {
		var n int
		if neg || len(args) != 3 {
			ts.Fatalf("usage: yaml PAGE N FILE")
		} else if _, err := fmt.Sscan(args[1], &n); err != nil {
			ts.Fatalf("N is %s", args[1])
		}
		text, err := yamlIn(args[0], n)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text), 0o644))
	}
	t.Run("stories", func(t *testing.T) { // it ends with its parallel tests
		p := schedtest.Scripts("testdata/docs")
		setup := p.Setup
		p.Setup = func(e *testscript.Env) error {
			root, err := filepath.Abs("..")
			e.Setenv("REPOSITORY", root)
			e.Setenv("SCHED", schedtest.Binary)
			return errors.Join(err, setup(e))
		}
		p.Cmds["shown"], p.Cmds["shown-on-terminal"], p.Cmds["yaml"] = plain, terminal, yaml
		testscript.Run(t, p)
	})
	if t.Failed() {
		// a second run of the failed parts does not check it either
		t.Log("whether every command that a page shows has a story is not checked")
		return
	}
	if runtime.GOOS != "linux" || strings.Contains(flag.Lookup("test.run").Value.String(), "/") { // not all of them ran
		return
	}
	for _, page := range documentation(t) {
		all, err := shownIn(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			if !proven[one] && !slices.ContainsFunc(notRun,
				func(not shown) bool { return not.page == page && not.command == one.command }) {
				t.Errorf("%s: no story in testdata/docs proves what `%s` prints:\n%s", page, one.command, one.output)
			}
		}
	}
}

// shell runs a command in the folder of a script, in its environment as far as sched looks at it.
func shell(ts *testscript.TestScript, command string) *exec.Cmd {
	c := exec.Command("/bin/sh", "-c", command)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TZ", "NO_COLOR", "GORACE", "REDIS_URL",
		"SCHED_TEST_PERSON", "SCHED_TEST_CLOCK", "SCHED_TEST_CLOCK_OFFSET", "SCHED_TEST_SERVER"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	return c
}

// documentation lists the pages for users, from the root of the repository.
func documentation(t *testing.T) []string {
	found, err := filepath.Glob("../docs/*.md")
	if err != nil || len(found) < 15 {
		t.Fatalf("%d pages: %v", len(found), err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(filepath.ToSlash(found[i]), "../")
	}
	return append(found, "README.md")
}

// Each command that a page names exists, with its flags.
func TestCommandsInTheDocsExist(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for _, name := range commands(t) {
		pages[name] = allHelp(t, name)
	}
	pages["serve"] += help(t, "serve", "token")
	pages["pause"] += help(t, "pause", "list")
	named := regexp.MustCompile("(?:`|^\\$ |^    |\n\\$ |\n    |/bin/)sched ([a-z]+)([^`\n]*)")
	option := regexp.MustCompile(` (--[a-z-]+|-[a-z])\b`)
	for _, page := range documentation(t) {
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			name, rest := found[1], found[2]
			rest, _, _ = strings.Cut(rest, " | ")
			rest, _, _ = strings.Cut(rest, "$(")
			rest, _, _ = strings.Cut(rest, " && ")
			switch of, ok := pages[name]; {
			case name == "start" || name == "become" || name == "run" && strings.HasPrefix(rest, " --work "),
				// hidden
				name == "run" && strings.HasPrefix(rest, " --triggered"), name == "finish" && strings.HasPrefix(rest, " --tick "):
			case !ok:
				t.Errorf("%s: there is no command sched %s", page, name)
			default:
				for _, f := range option.FindAllStringSubmatch(rest, -1) {
					if !regexp.MustCompile(`(?m)(^|[ ,])` + regexp.QuoteMeta(f[1]) + `\b`).MatchString(of) {
						t.Errorf("%s: sched %s has no flag %s", page, name, f[1])
					}
				}
			}
		}
	}
}
