package cmd

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"sched/schedule/text"
)

// unlimited is for commands that take any number of arguments.
const unlimited = math.MaxInt

// arguments checks how many arguments a command was given.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return usage(seeHelp(c), "an argument of %s is empty", c.Name())
		}
		if least <= len(args) && len(args) <= most {
			return nil
		}
		takes := text.Count(most, "argument")
		switch {
		case most == unlimited:
			takes = "at least " + text.Count(least, "argument")
		case most == 0:
			return usage(seeHelp(c), "%s takes no arguments", c.Name())
		case least == 0:
			takes = "at most " + takes
		case least < most:
			takes = fmt.Sprintf("%d or %s", least, takes)
		}
		return usage(seeHelp(c), "%s takes %s: sched %s", c.Name(), takes, c.Use)
	}
}

// noEmptyFlag refuses --only "$TASK" where the variable is not set: it would mean every task.
func noEmptyFlag(c *cobra.Command) error {
	for _, name := range []string{"at", "in", "only", "run", "since", "until", "outcome", "prometheus", "for", "tag"} {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && (f.Value.String() == "" || f.Value.String() == "[]") {
			return usage(seeHelp(c), "--%s is empty", name)
		}
	}
	return nil
}

// knownCommand refuses what is no command, and names the nearest that is.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	hint := seeHelp(root)
	if near := text.Nearest(args[0], names); near != "" {
		hint = "did you mean `sched " + near + "`?"
	}
	return usage(hint, "there is no command %q", args[0])
}

func seeHelp(c *cobra.Command) string { return "see `" + c.CommandPath() + " --help`" }
