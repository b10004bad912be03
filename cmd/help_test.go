package cmd_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sched/testing/schedtest"
)

// help runs sched --help for a command, and returns what it prints.
func help(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(schedtest.Binary, append(command, "--help")...).Output()
	if err != nil {
		t.Fatalf("sched %v --help: %v", command, err)
	}
	return string(out)
}

// section returns the lines of a help page under a title, without their indent.
func section(page, title string) (lines []string) {
	_, rest, _ := strings.Cut(page, "\n"+title+":\n")
	body, _, _ := strings.Cut(rest, "\n\n")
	for line := range strings.Lines(body) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// allHelp returns what sched help --all prints, of a command or of sched itself.
func allHelp(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(schedtest.Binary, append([]string{"help", "--all"}, command...)...).Output()
	if err != nil {
		t.Fatalf("sched help --all %v: %v", command, err)
	}
	return string(out)
}

// The first page has what people use.
func TestHelpLeavesOutWhatIsSeldomNeeded(t *testing.T) {
	t.Parallel()
	seldom := section(allHelp(t), "Seldom needed")
	if len(seldom) != 9 {
		t.Errorf("sched help --all has %q under %q", seldom, "Seldom needed")
	}
	for _, args := range [][]string{{"help"}, {"--help"}, {}} {
		page, err := exec.Command(schedtest.Binary, args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range seldom {
			if strings.Contains(string(page), "\n  "+line) {
				t.Errorf("sched %v has %s", args, line)
			}
		}
		if !strings.Contains(string(page), "sched help --all") || !strings.Contains(string(page), "\n  trigger ") {
			t.Errorf("sched %v prints\n%s", args, page)
		}
	}
	if out, err := exec.Command(schedtest.Binary, "kill", "x").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "did you mean `sched stop`?") {
		t.Errorf("sched kill x: %v, %s", err, out)
	}
	if out, err := exec.Command(schedtest.Binary, "help", "unlok").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "did you mean `sched unlock`?") {
		t.Errorf("sched help unlok: %v, %s", err, out)
	}
}

// commands returns the commands that sched help --all names in its groups.
func commands(t *testing.T) (names []string) {
	t.Helper()
	page := allHelp(t)
	for _, group := range []string{"Every day", "The past", "Steering", "Setting up", "Machines",
		"About sched", "Seldom needed"} {
		lines := section(page, group)
		if len(lines) == 0 {
			t.Errorf("sched help --all has no commands under %q", group)
		}
		for _, line := range lines {
			names = append(names, strings.Fields(line)[0])
		}
	}
	return names
}

// docs/json.md begins with a table that has a row for each command with --json.
func TestEveryCommandWithJSONIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands(t) {
		row := regexp.MustCompile("(?m)^\\| `sched " + command + "[ A-Z.]*( --[a-z]+ [A-Z]+)? --json` \\|")
		if hasFlag := strings.Contains(help(t, command), " --json "); hasFlag != row.Match(page) {
			t.Errorf("sched %s has --json: %v, and docs/json.md does not agree", command, hasFlag)
		}
	}
}

func TestEveryCommandIsInAGroup(t *testing.T) {
	t.Parallel()
	if rest := section(allHelp(t), "Additional Commands"); len(rest) > 0 {
		t.Errorf("commandGroups lacks %s", rest)
	}
}

func TestEveryHelpPageHasExamplesThatExist(t *testing.T) {
	t.Parallel()
	root, commands := help(t), commands(t)
	called := regexp.MustCompile(`^(?:\* \* \* \* \* )?sched ([a-z]+)`)
	flag := regexp.MustCompile(` (--?[a-z-]+)`)
	for _, command := range append([]string{""}, commands...) {
		if command == "help" {
			continue
		}
		page := root
		if command != "" {
			page = help(t, command)
		}
		examples := section(page, "Examples")
		if !slices.ContainsFunc(examples,
			func(line string) bool { return strings.HasPrefix(line, strings.TrimSpace("sched "+command)) }) {
			t.Errorf("sched %s --help has no example that starts with its own name:\n%s", command, page)
		}
		for _, line := range examples {
			line, _, _ = strings.Cut(line, "   ") // what follows is what it does
			match := called.FindStringSubmatch(line)
			if match == nil || !slices.Contains(commands, match[1]) {
				t.Errorf("sched %s --help: the example %q calls no command", command, line)
				continue
			}
			for _, f := range flag.FindAllStringSubmatch(line, -1) {
				if !strings.Contains(help(t, match[1]), f[1]) {
					t.Errorf("sched %s --help: the example %q has a flag that does not exist", command, line)
				}
			}
		}
	}
}

// Every page fits a terminal of 100 columns, the lines of flags aside.
func TestHelpPagesAreNarrow(t *testing.T) {
	t.Parallel()
	for _, command := range commands(t) {
		for line := range strings.Lines(help(t, command)) {
			if len(line) > 101 && !strings.Contains(line, "--") {
				t.Errorf("%s", line)
			}
		}
	}
}

// Help leaves out flags that are seldom needed, and says how to see them. Typos of them get a hint.
func TestHelpLeavesOutSeldomFlags(t *testing.T) {
	t.Parallel()
	page := help(t, "run")
	if strings.Contains(page, "--strict") || strings.Contains(page, "--system") ||
		!strings.HasSuffix(page, "\nMore flags, seldom needed: sched help --all run\n") {
		t.Errorf("sched run --help prints\n%s", page)
	}
	all := allHelp(t, "run")
	if !strings.Contains(all, " --strict ") || !strings.Contains(all, " --system ") ||
		strings.Contains(all, "--work") || strings.Contains(all, "More flags") {
		t.Errorf("sched help --all run prints\n%s", all)
	}
	if page := help(t, "init"); strings.Contains(page, "More flags") {
		t.Errorf("sched init --help prints\n%s", page)
	}
	if out, err := exec.Command(schedtest.Binary, "run", "--strit").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "did you mean `--strict`?") {
		t.Errorf("sched run --strit: %v, %s", err, out)
	}
}
