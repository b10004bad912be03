package cmd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sched/schedule/humanize"
)

const unlimited = math.MaxInt

// arguments checks the number of arguments, and that none is empty.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return usage(seeHelp(c), "an argument of %s is empty", c.Name())
		}
		if least <= len(args) && len(args) <= most {
			return nil
		}
		takes := humanize.Count(most, "argument")
		switch {
		case most == unlimited:
			takes = "at least " + humanize.Count(least, "argument")
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

// noEmptyFlag refuses a flag without a value, as with --only "$TASK" if the variable is not set: it
// would mean every task. A reason may be empty.
func noEmptyFlag(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Name != "reason" && (f.Value.String() == "" || f.Value.String() == "[]") {
			err = usage(seeHelp(c), "--%s is empty", f.Name)
		}
	})
	return err
}

func seeHelp(c *cobra.Command) string { return "see `" + c.CommandPath() + " --help`" }

func flagHint(c *cobra.Command, err error) string {
	if !c.HasParent() && strings.HasSuffix(err.Error(), " -v") {
		return "`sched --version` prints the version; `sched run -v` says more"
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return seeHelp(c)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, strings.ReplaceAll(f.Name, "-", "_")) // as Nearest compares
		}
	})
	if near := humanize.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return "did you mean `--" + strings.ReplaceAll(near, "_", "-") + "`?"
	}
	return seeHelp(c)
}

func tagFlag(c *cobra.Command, tags *[]string) {
	c.Flags().StringSliceVar(tags, "tag", nil, "the tasks that have one of these tags now")
}
