package cmd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sched/cmd/flags"
)

func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	root := Commands()
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		all = append(append(all, c), c.Commands()...)
	}
	return all
}

// A letter stands for one thing, whatever the command.
func TestAFlagMeansTheSameInEachCommand(t *testing.T) {
	letters := map[string][]string{
		"n": {"limit", "lines", "next"}, // how many
		"v": {"verbose"}, "q": {"quiet"}, "f": {"follow"}, "o": {"output"}, "y": {"yes"},
		"c": {"config"}, "h": {"help"},
	}
	words := map[string]string{"strict": "let nothing pass: ", "reason": "why, for those who wonder",
		"no-wait": "do not wait", "all": "of every task|list the commands"}
	for _, c := range commands(t) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand != "" && !slices.Contains(letters[f.Shorthand], f.Name) {
				t.Errorf("sched %s: -%s is --%s", c.Name(), f.Shorthand, f.Name)
			}
			says := func(begin string) bool { return strings.HasPrefix(f.Usage, begin) }
			if want := words[f.Name]; want != "" && !slices.ContainsFunc(strings.Split(want, "|"), says) {
				t.Errorf("sched %s: --%s is %q", c.Name(), f.Name, f.Usage)
			}
		})
	}
}

// A span of time is given with --since and --until, the span of slots that run makes up for with
// --from and --to, and a change has a reason. import names its source with --from,
// export its aim with --to.
func TestCommandsThatAreAlikeHaveTheSameFlags(t *testing.T) {
	changes := []string{"trigger", "retry", "stop", "pause", "resume", "interrupt", "unlock", "forget",
		"propose", "approve", "reject"}
	spans := []string{"history", "logs", "forecast"}
	for _, c := range commands(t) {
		has := func(name string) bool { return c.Flags().Lookup(name) != nil }
		if slices.Contains(changes, c.Name()) != has("reason") {
			t.Errorf("sched %s: --reason is %t", c.Name(), has("reason"))
		}
		if span := slices.Contains(spans, c.Name()); span != has("since") || span && !has("until") ||
			(has("from") || has("to")) && !slices.Contains([]string{"run", "pause", "import", "export"}, c.Name()) {
			t.Errorf("sched %s has no --since and --until, or other names of them", c.Name())
		}
	}
}

// A flag that help leaves out is in the row of its command in docs/commands.md.
func TestSeldomFlagsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	seldom := 0
	for _, c := range commands(t) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !flags.IsSeldom(f) {
				return
			}
			seldom++
			documented := c.Name() == "sched" && strings.Contains(string(page), "`--"+f.Name)
			for line := range strings.Lines(string(page)) {
				isRow := strings.HasPrefix(line, "| `sched "+c.Name())
				documented = documented || isRow && strings.Contains(line, "--"+f.Name)
			}
			if !documented {
				t.Errorf("docs/commands.md has no --%s of sched %s", f.Name, c.Name())
			}
		})
	}
	if seldom < 10 {
		t.Errorf("%d flags are seldom", seldom)
	}
}
