// Package flags reads arguments, and the flags that several commands share.
package flags

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sched/cmd/exit"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// Unlimited is for commands that take as many arguments as a person writes.
const Unlimited = math.MaxInt

// NoArguments refuses arguments. The hint says what people may have meant.
func NoArguments(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return exit.Usage(hint, "%s takes no arguments", c.Name())
		}
		return nil
	}
}

// Arguments checks the number of arguments, and that none is empty.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return exit.Usage(SeeHelp(c), "an argument of %s is empty", c.Name())
		}
		if least <= len(args) && len(args) <= most {
			return nil
		}
		if most == 0 {
			return exit.Usage(SeeHelp(c), "%s takes no arguments", c.Name())
		}
		var takes string
		switch {
		case most == Unlimited:
			takes = "at least " + humanize.Count(least, "argument")
		case least == 0:
			takes = "at most " + humanize.Count(most, "argument")
		case least < most:
			takes = fmt.Sprintf("%d or %s", least, humanize.Count(most, "argument"))
		default:
			takes = humanize.Count(most, "argument")
		}
		return exit.Usage(SeeHelp(c), "%s takes %s: sched %s", c.Name(), takes, c.Use)
	}
}

// Optional returns the argument of a command that takes one or none; "" for none.
func Optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// File returns the file that --output names; "" for stdout, which is - by convention.
func File(output string) string {
	if output == "-" {
		return ""
	}
	return output
}

// RefuseEmpty refuses a flag with an empty value. `--only "$TASK"` has one if the variable is
// not set, and would mean every task. A reason may be empty.
func RefuseEmpty(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		isEmpty := f.Value.String() == "" || f.Value.String() == "[]" // pflag prints an empty list so
		if err == nil && isEmpty && f.Name != "reason" {
			err = exit.Usage(SeeHelp(c), "--%s is empty", f.Name)
		}
	})
	return err
}

// SeeHelp is the hint to read the help of a command.
func SeeHelp(c *cobra.Command) string { return "see `" + c.CommandPath() + " --help`" }

// Hint is the hint for an error of cobra about a flag.
func Hint(c *cobra.Command, err error) string {
	if !c.HasParent() && strings.HasSuffix(err.Error(), " -v") {
		return "`sched --version` prints the version; `sched run -v` says more"
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return SeeHelp(c)
	}
	if c.Name() == "uninstall" && unknown.GetSpecifiedName() == "systemd" {
		return "leave it out: what is installed is removed, units too"
	}
	isCount := slices.Contains([]string{"last", "tail", "head", "count"}, unknown.GetSpecifiedName())
	if count := c.Flags().ShorthandLookup("n"); isCount && count != nil {
		return "did you mean `-n`?"
	}
	for _, name := range []string{unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()} {
		if hint := foreignHint(c, name); hint != "" {
			return hint
		}
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden || IsSeldom(f) {
			names = append(names, f.Name)
		}
	})
	if near := humanize.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return "did you mean `--" + near + "`?"
	}
	return SeeHelp(c)
}

// AddTag adds --tag for commands that choose tasks.
func AddTag(c *cobra.Command, tags *[]string) {
	c.Flags().StringSliceVar(tags, "tag", nil, "the tasks that have one of these tags now")
}

// AddReason adds --reason, which history and pages show.
func AddReason(c *cobra.Command, reason *string) {
	c.Flags().StringVar(reason, "reason", "", "why, for those who wonder")
}

// AddEnv adds --env, whose values ReadValues reads.
func AddEnv(c *cobra.Command, env *[]string) {
	c.Flags().StringArrayVar(env, "env", nil, "KEY=VALUE: a value for this run, of a param of the task; repeatable")
}

// ReadValues reads what AddEnv takes.
func ReadValues(env []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		if _, twice := values[name]; twice {
			return nil, exit.Usage("", "--env gives %s twice", yamldoc.Quote(name))
		}
		if !ok {
			return nil, exit.Usage("write --env KEY=VALUE", "--env %s has no value", yamldoc.Quote(pair))
		}
		values[name] = value
	}
	return values, nil
}
