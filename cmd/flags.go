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
	"sched/schedule/state"
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
		if err == nil && f.Name != "reason" && (f.Value.String() == "" || f.Value.String() == "[]") {
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

// parseRequestTime reads --in and --at. Without both it returns the present time.
func (c *console) parseRequestTime(o requestOptions, zone *time.Location) (time.Time, error) {
	now := c.now()
	at := now
	switch {
	case o.in != "" && o.at != "":
		return at, usage("", "--in and --at exclude each other")
	case o.nextTick && o.hasTime():
		return at, usage("", "--next-tick goes with neither --in nor --at")
	case o.in != "":
		d, err := yamldoc.ParseDuration(o.in)
		if err != nil || d <= 0 {
			return at, usage("write it as 90s, 10m, 2h or 1d", "--in %q is not a time to wait", o.in)
		}
		at = now.Add(d)
	case o.at != "":
		var err error
		if at, err = c.parseAt(o.at, zone); err != nil {
			return at, err
		}
		if !at.After(now) {
			return at, usage("leave --at out to run it now",
				"--at %q is in the past: it is %s", o.at, humanize.MinuteZone(now, zone))
		}
	}
	return at.UTC().Round(0).Truncate(time.Microsecond), nil // the precision of the history
}

// chooseTask returns the name, or for "" the name of the task whose number or name a person types.
// If nobody can be asked, the error says how the command is called.
func (a *app) chooseTask(s *schedule.Schedule, name, use string) (string, error) {
	if name != "" {
		return name, nil
	}
	if !terminal.Is(a.in) || !terminal.Is(a.err) {
		return "", usage("`sched list` has the names", "name a task: sched %s", use)
	}
	if len(s.Tasks) == 0 {
		return "", failed("", "the schedule has no tasks")
	}
	for i, t := range s.Tasks {
		fmt.Fprintf(a.err, "%3d  %s\n", i+1, t.Name)
	}
	fmt.Fprint(a.err, "which one? ")
	// The whole line is read: the shell would take the rest for a command.
	line, _ := bufio.NewReader(a.in).ReadString('\n')
	line = strings.TrimSpace(line)
	if line == "" {
		return "", usage("type a number or a name", "no task has that name or number")
	}
	t, err := view.FindTask(s, line)
	n, numberErr := strconv.Atoi(line)
	switch {
	case err == nil:
		return t.Name, nil
	case numberErr != nil:
		return "", err
	case n < 1 || n > len(s.Tasks):
		hint := fmt.Sprintf("type a number from 1 to %d, or a name", len(s.Tasks))
		return "", usage(hint, "no task has that name or number")
	}
	return s.Tasks[n-1].Name, nil
}

// confirm asks a question on the terminal, and reports whether the answer was yes. It does not ask
// if yes is true, as with --yes. It is an error if there is no terminal.
func (c *console) confirm(question string, yes bool) (goOn bool, err error) {
	switch {
	case yes:
		return true, nil
	case !terminal.Is(c.in):
		return false, usage("say --yes, or --dry-run to look", "there is no terminal to ask on")
	}
	fmt.Fprint(c.err, question+" [y/N] ")
	answer, _ := bufio.NewReader(c.in).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

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

// timeForms lists for the help how a time can be written.
const timeForms = "14:30, tomorrow 9:00, 2006-01-02 15:04, 2h ago, in 2h, or as sched prints it"

// outcomeList names outcomes for a sentence: "succeeded, failed or skipped".
func outcomeList(outcomes []outcome.Outcome) string {
	words := outcome.Words(outcomes)
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
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

// toneOf returns the colour of an outcome; "" for a run that has not ended.
func toneOf(r state.Result) terminal.Tone {
	if r.Warned() {
		return terminal.Caution
	}
	switch r.Outcome {
	case outcome.Succeeded:
		return terminal.Good
	case outcome.Failed, outcome.TimedOut, outcome.Lost:
		return terminal.Bad
	case outcome.Stopped, outcome.Skipped, outcome.Missed:
		return terminal.Caution
	}
	return ""
}
