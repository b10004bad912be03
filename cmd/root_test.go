package cmd

import (
	"fmt"
	"strings"
	"testing"

	"sched/cmd/app"
)

// A command that is made alone says the same of itself as a command among all. No command does
// anything here: a flag is wrong, empty or --help.
func TestACommandAloneIsTheSame(t *testing.T) {
	t.Parallel()
	for _, group := range commandGroups() {
		for _, row := range group.rows {
			says := func(first string, args ...string) string {
				var out strings.Builder
				a := &app.App{}
				a.Out, a.Err = &out, &out
				root := newRoot(a, first)
				root.SetArgs(append([]string{row.name}, args...))
				root.SetOut(&out)
				root.SetErr(&out)
				code := a.Report(root.Execute())
				return fmt.Sprint(code, out.String())
			}
			for _, args := range [][]string{{"--help"}, {"-h"}, {"--hlep"}, {"--config"}, {"--config", ""},
				{"--config=", "1", "2", "3", "4"}} {
				if alone, among := says(row.name, args...), says("", args...); alone != among {
					t.Errorf("sched %s %s says alone\n%s, among all\n%s", row.name, args, alone, among)
				}
			}
			if c := row.command(&app.App{}); c.Name() != row.name || len(c.Aliases) > 0 {
				t.Errorf("the row of %s makes %s, with the aliases %q", row.name, c.Name(), c.Aliases)
			}
		}
	}
}
