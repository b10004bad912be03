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
	"sched/schedule/outcome"
	"sched/schedule/yamldoc"
)

// unlimited is for commands that take as many arguments as a person writes.
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
		if most == 0 {
			return usage(seeHelp(c), "%s takes no arguments", c.Name())
		}
		var takes string
		switch {
		case most == unlimited:
			takes = "at least " + humanize.Count(least, "argument")
		case least == 0:
			takes = "at most " + humanize.Count(most, "argument")
		case least < most:
			takes = fmt.Sprintf("%d or %s", least, humanize.Count(most, "argument"))
		default:
			takes = humanize.Count(most, "argument")
		}
		return usage(seeHelp(c), "%s takes %s: sched %s", c.Name(), takes, c.Use)
	}
}

// optionalArgument returns the argument of a command that takes one or none; "" for none.
func optionalArgument(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// refuseEmptyFlag refuses a flag with an empty value. `--only "$TASK"` has one if the variable is
// not set, and would mean every task. A reason may be empty.
func refuseEmptyFlag(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		isEmpty := f.Value.String() == "" || f.Value.String() == "[]" // pflag prints an empty list so
		if err == nil && isEmpty && f.Name != "reason" {
			err = usage(seeHelp(c), "--%s is empty", f.Name)
		}
	})
	return err
}

// seeHelp is the hint to read the help of a command.
func seeHelp(c *cobra.Command) string { return "see `" + c.CommandPath() + " --help`" }

// flagHint is the hint for an error of cobra about a flag.
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

// addTagFlag adds --tag for commands that choose tasks.
func addTagFlag(c *cobra.Command, tags *[]string) {
	c.Flags().StringSliceVar(tags, "tag", nil, "the tasks that have one of these tags now")
}

// addReasonFlag adds --reason, which history and pages show.
func addReasonFlag(c *cobra.Command, reason *string) {
	c.Flags().StringVar(reason, "reason", "", "why, for those who wonder")
}

// addEnvFlag adds --env, whose values readValues reads.
func addEnvFlag(c *cobra.Command, env *[]string) {
	c.Flags().StringArrayVar(env, "env", nil, "KEY=VALUE: a value for this run, of a param of the task; repeatable")
}

// readValues reads what addEnvFlag takes.
func readValues(env []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		if _, twice := values[name]; twice {
			return nil, usage("", "--env gives %s twice", yamldoc.Quote(name))
		}
		if !ok {
			return nil, usage("write --env KEY=VALUE", "--env %s has no value", yamldoc.Quote(pair))
		}
		values[name] = value
	}
	return values, nil
}

// requestOptions are the flags of trigger and retry. A requested run starts after --in, at --at,
// with the next tick, or else at once.
type requestOptions struct {
	in       string
	at       string
	nextTick bool
	env      []string
	noChain  bool
	reason   string
	json     bool
}

// hasTime reports whether the flags name a time.
func (o *requestOptions) hasTime() bool { return o.in != "" || o.at != "" }

// check refuses flags that do not go together.
func (o *requestOptions) check() error {
	switch {
	case o.in != "" && o.at != "":
		return usage("", "--in and --at exclude each other")
	case o.nextTick && o.hasTime():
		return usage("", "--next-tick goes with neither --in nor --at")
	}
	return nil
}

func (o *requestOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.in, "in", "", "with the first tick after so long (10m, 2h)")
	f.StringVar(&o.at, "at", "", "with the tick at this time: "+timeForms)
	f.BoolVar(&o.nextTick, "next-tick", false, "with the next tick, and not at once")
	addEnvFlag(c, &o.env)
	f.BoolVar(&o.noChain, "no-chain", false, "trigger no other task when it has ended")
	addReasonFlag(c, &o.reason)
	f.BoolVar(&o.json, "json", false, "print JSON")
}

// outcomeList names outcomes for a sentence: "succeeded, failed or skipped".
func outcomeList(outcomes []outcome.Outcome) string {
	return humanize.Or(outcome.Words(outcomes))
}

// parseOutcome reads an outcome, in upper or lower case, its words separated by blanks, - or _.
func parseOutcome(word string) (outcome.Outcome, error) {
	parsed, ok := outcome.Parse(word)
	if ok {
		return parsed, nil
	}
	hint := "the outcomes are " + outcomeList(outcome.Filters)
	if near := humanize.Nearest(string(parsed), outcome.Words(outcome.Filters)); near != "" {
		hint = `did you mean "` + near + `"?`
	}
	return "", usage(hint, "--outcome %q is not an outcome", word)
}
