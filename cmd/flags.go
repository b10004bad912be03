package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// This file reads what people type: arguments, flags that several commands share, their times, and
// answers to questions.

// unlimited is for commands that take as many arguments as a person writes.
const unlimited = math.MaxInt

// noArguments refuses arguments. The hint says what people may have meant.
func noArguments(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage(hint, "%s takes no arguments", c.Name())
		}
		return nil
	}
}

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

// parseTime reads the time of a flag, see view.ReadTime. If the clocks skip that time, it prints
// which time it takes instead.
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

// saySkipped says which time is taken for a time that the clocks skip, as when summer time begins.
// It says nothing if skipped is empty.
func (c *console) saySkipped(text, skipped string, at time.Time, zone *time.Location) {
	if skipped != "" {
		c.warn("the clocks skip %s in %s; it is taken as %s", text, zone, at.Format("15:04"))
	}
}

// parseSpan reads --since and --until. A flag that is empty is the zero time.
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

// chooseTask returns the name, or for "" the name of the task whose number or name a person types.
// If nobody can be asked, the error says how the command is called.
func (a *app) chooseTask(s *schedule.Schedule, name, use string) (string, error) {
	if name != "" {
		return name, nil
	}
	if !terminal.Is(a.in) || !terminal.Is(a.err) {
		return "", usage("`sched list"+a.configFlag()+"` has the names", "name a task: sched %s", use)
	}
	if len(s.Tasks) == 0 {
		return "", failed("", "the schedule has no tasks")
	}
	for i, t := range s.Tasks {
		fmt.Fprintf(a.err, "%3d  %s\n", i+1, t.Name)
	}
	answer := a.ask("which one? ")
	t, err := view.FindTask(s, answer)
	if err == nil {
		return t.Name, nil
	}
	const unknown = "no task has that name or number"
	if answer == "" {
		return "", usage("type a number or a name", unknown)
	}
	number, numberErr := strconv.Atoi(answer)
	if numberErr != nil {
		return "", err
	}
	if number < 1 || number > len(s.Tasks) {
		return "", usage(fmt.Sprintf("type a number from 1 to %d, or a name", len(s.Tasks)), unknown)
	}
	return s.Tasks[number-1].Name, nil
}

// confirm asks a question on the terminal, and reports whether the answer was yes. With saidYes
// (the flag --yes) it does not ask. It is an error if there is no terminal.
func (c *console) confirm(question string, saidYes bool) (goOn bool, err error) {
	if saidYes {
		return true, nil
	}
	if !terminal.Is(c.in) {
		return false, usage("say --yes, or --dry-run to look", "there is no terminal to ask on")
	}
	answer := strings.ToLower(c.ask(question + " [y/N] "))
	return answer == "y" || answer == "yes", nil
}

// ask returns what a person types. It reads the whole line: the shell would take the rest for a
// command.
func (c *console) ask(question string) string {
	fmt.Fprint(c.err, question)
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	return strings.TrimSpace(line)
}
