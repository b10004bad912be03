package cmd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/view"
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

// timeForms lists for the help how a time can be written.
const timeForms = "14:30, tomorrow 9:00, 2006-01-02 15:04, 2h ago, in 2h, or as sched prints it"

// parseAt reads --at as parseTime does; "" is now.
func (c *console) parseAt(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return c.now(), nil
	}
	return c.parseTime("at", text, zone)
}

// parseTime reads the time of a flag, see view.ReadTime. It prints the time used for a skipped one.
func (c *console) parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	at, skipped, ok := view.ReadTime(text, c.now(), zone, c.zones...)
	if !ok {
		return time.Time{}, notATime(flag, text)
	}
	c.saySkipped(text, skipped, at, zone)
	return at, nil
}

// notATime is the error for a flag whose value is no time.
func notATime(flag, text string) error {
	return usage("write it as "+timeForms, "--%s %q is not a time", flag, text)
}

// saySkipped says which time is taken for a skipped one: the clocks skip times when summer time
// begins. It says nothing if skipped is empty.
func (c *console) saySkipped(text, skipped string, at time.Time, zone *time.Location) {
	if skipped != "" {
		c.problem("the clocks skip %s in %s; it is taken as %s", text, zone, at.Format("15:04"))
	}
}

// parseSpan reads --since and --until. An empty one is the zero time.
func (c *console) parseSpan(since, until string, zone *time.Location) (from, to time.Time, err error) {
	if from, err = c.parsePast("since", since, zone); err != nil {
		return from, to, err
	}
	if to, err = c.parsePast("until", until, zone); err != nil {
		return from, to, err
	}
	if !to.IsZero() && !from.Before(to) {
		return from, to, usage("", "--until %s is not after --since %s", until, since)
	}
	return from, to, nil
}

// parsePast reads a time, or a duration before now. It returns the zero time for "".
func (c *console) parsePast(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := yamldoc.ParseDuration(text); err == nil && ago > 0 {
		return c.now().Add(-ago), nil
	}
	if at, skipped, ok := view.ReadPast(text, c.now(), zone, c.zones...); ok {
		c.saySkipped(text, skipped, at, zone)
		return at, nil
	}
	return time.Time{}, usage("write it as 90m, 7d, "+timeForms, "--%s %q is neither a time nor a duration", flag, text)
}
