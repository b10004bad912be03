// Package completion is the command `sched completion`, and what it asks sched for: the words that
// complete a line.
package completion

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/view"
)

// New replaces the command of cobra, so that its help reads as the help of the
// other commands.
func New(a *app.App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script by which a shell completes commands, tasks, runs and tags",
		Long: `completion prints a script for bash (which needs its package bash-completion), zsh, fish or
powershell. The shell then completes commands and flags, and asks sched for the tasks, runs and
tags of the schedule.

zsh has a builtin of the name sched, which knows nothing of schedules: write ` + "`disable sched`" + ` into
~/.zshrc.`,
		Example: `  sched completion bash > ~/.local/share/bash-completion/completions/sched
  sched completion zsh > "${fpath[1]}/_sched"
  sched completion fish > ~/.config/fish/completions/sched.fish
  sched completion powershell >> $PROFILE`,
		Args:      flags.Arguments(1, 1),
		ValidArgs: shells,
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return c.Root().GenBashCompletionV2(a.Out, true)
			case "zsh":
				return zshCompletion(c.Root(), a.Out)
			case "fish":
				return c.Root().GenFishCompletion(a.Out, true)
			case "powershell":
				return c.Root().GenPowerShellCompletionWithDesc(a.Out)
			}
			return exit.Usage("the shells are "+strings.Join(shells, ", "), "there is no completion for %q", args[0])
		},
	}
}

// zshCompletion first keeps zsh from taking sched for its builtin (zshmodules(1), zsh/sched).
func zshCompletion(root *cobra.Command, to io.Writer) error {
	var script bytes.Buffer
	if err := root.GenZshCompletion(&script); err != nil {
		return err
	}
	const head = "compdef _sched sched\n"
	text := strings.Replace(script.String(), head, head+"disable sched 2>/dev/null # the builtin of zsh\n", 1)
	_, err := io.WriteString(to, text)
	return err
}

// A wordList finds words that may complete what a person types.
type wordList func(completer) []string

// An argumentCompletion offers words for the next argument of a command, while the command takes
// more arguments.
type argumentCompletion struct {
	most          int // how many arguments the command takes
	words         wordList
	unlimitedWith string // a flag with which the command takes any number of arguments; may be empty
}

// argumentCompletions maps each command to the completion of its arguments.
func argumentCompletions() map[string]argumentCompletion {
	tasksAndRuns := func(c completer) []string { return append(c.tasks(), c.runs(nil)...) }
	failures := func(c completer) []string { return c.runs(outcome.Failures) }
	return map[string]argumentCompletion{
		"list":    {most: flags.Unlimited, words: completer.tasks},
		"ics":     {most: flags.Unlimited, words: completer.tasks},
		"test":    {most: 1, words: completer.tasks},
		"show":    {most: 1, words: completer.tasks},
		"why":     {most: 1, words: completer.tasks},
		"history": {most: 1, words: completer.tasks},
		"trigger": {most: 1, words: completer.tasks, unlimitedWith: "cancel"},
		"pause":   {most: flags.Unlimited, words: completer.tasks},
		"resume":  {most: flags.Unlimited, words: completer.tasks},
		"logs":    {most: 1, words: tasksAndRuns, unlimitedWith: "grep"},
		"retry":   {most: flags.Unlimited, words: failures},
		"stop":    {most: flags.Unlimited, words: completer.live},
		"unlock":  {most: 1, words: completer.tasks},
		"finish":  {most: 1, words: completer.mutexes},
	}
}

// flagCompletions maps each flag to its words. A flag means the same in each command.
func flagCompletions() map[string]wordList {
	return map[string]wordList{
		"only":    completer.tasks,
		"tag":     completer.tags,
		"run":     func(c completer) []string { return c.runs(nil) },
		"outcome": func(completer) []string { return outcome.Words(outcome.Filters) },
	}
}

// IsRequest reports whether a shell calls sched to complete a line.
func IsRequest(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// AddTo adds completions to the commands. It prints no errors: the person is typing.
func AddTo(a *app.App, root *cobra.Command) {
	a.ReadOnly = true
	a.Err = io.Discard
	root.SetErr(io.Discard)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.RegisterFlagCompletionFunc("config", filesNamed("yaml", "yml"))
	ofArguments, ofFlags := argumentCompletions(), flagCompletions()
	for _, c := range root.Commands() {
		if completion, ok := ofArguments[c.Name()]; ok {
			c.ValidArgsFunction = completeArgument(a, completion)
		}
		if c.Name() == "check" {
			c.ValidArgsFunction = filesNamed("yaml", "yml", "crontab", "cron")
		}
		for flag, words := range ofFlags {
			completeFlag(c, flag, completeValue(a, words))
		}
		completeFlag(c, "env", completeParam(a))
		completeFlag(c, "prometheus", filesNamed("prom"))
	}
}

func completeFlag(c *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if c.Flags().Lookup(flag) != nil {
		c.RegisterFlagCompletionFunc(flag, complete)
	}
}

// filesNamed lets the shell offer the files with one of these endings.
func filesNamed(endings ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(endings, cobra.ShellCompDirectiveFilterFileExt)
}

// completeArgument offers the words that are not among the arguments yet.
func completeArgument(a *app.App, completion argumentCompletion) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= completion.most && !c.Flags().Changed(completion.unlimitedWith) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return matches(completion.words(completer{a}), typed, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeValue offers words for the value of a flag.
func completeValue(a *app.App, words wordList) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return matches(words(completer{a}), typed, nil), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeParam completes KEY=VALUE of a param. No blank follows: a value may come behind KEY=.
func completeParam(a *app.App) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		words := completer{a}.params(args)
		return matches(words, typed, nil), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// matches returns the words that begin with what was typed and are not among the arguments yet.
func matches(words []string, typed string, args []string) []string {
	return slices.DeleteFunc(words, func(candidate string) bool {
		word, _, _ := strings.Cut(candidate, "\t")
		return !strings.HasPrefix(word, typed) || slices.Contains(args, word)
	})
}

// A completer finds words, with descriptions. It finds nothing if the schedule is broken.
type completer struct{ *app.App }

// schedule returns the schedule of --config, whose ~ no shell has expanded yet; the App keeps the
// expanded path. If no schedule can be read, it returns an empty one.
func (c completer) schedule() *schedule.Schedule {
	if rest, ok := strings.CutPrefix(c.Config, "~/"); ok {
		home, _ := os.UserHomeDir()
		c.Config = filepath.Join(home, rest)
	}
	if s, _, err := c.LoadLastValid(); err == nil {
		return s
	}
	return &schedule.Schedule{}
}

func (c completer) tasks() (words []string) {
	for _, t := range c.schedule().Tasks {
		words = append(words, described(t.Name, t.Description))
	}
	return words
}

func (c completer) tags() (words []string) {
	for _, t := range c.schedule().Tasks {
		words = append(words, t.Tags...)
	}
	return withoutTwins(words)
}

func (c completer) mutexes() (words []string) {
	for _, t := range c.schedule().Tasks {
		if t.WithoutOverlapping || t.Background {
			words = append(words, t.Mutex)
		}
	}
	return withoutTwins(words)
}

// params finds the params of the tasks among the arguments, or of all tasks if no task is there,
// with the values that they may have.
func (c completer) params(args []string) (words []string) {
	tasks := c.schedule().Tasks
	isNamed := func(t *schedule.Task) bool { return slices.Contains(args, t.Name) }
	all := !slices.ContainsFunc(tasks, isNamed)
	for _, t := range tasks {
		if !all && !isNamed(t) {
			continue
		}
		for _, p := range t.Params {
			if len(p.Values) == 0 {
				words = append(words, p.Name+"=")
			}
			for _, value := range p.Values {
				words = append(words, p.Name+"="+value)
			}
		}
	}
	return withoutTwins(words)
}

// runs finds the newest runs. If outcomes is not nil, it finds the newest runs with one of these
// outcomes, and their tasks.
func (c completer) runs(outcomes []outcome.Outcome) (words []string) {
	c.withRecords(func(ctx context.Context, s *schedule.Schedule, records *view.Records) {
		newest, _ := records.Find(ctx, past.Query{Limit: runsOffered, Outcomes: outcomes, NoTests: outcomes != nil})
		for _, r := range newest {
			if outcomes != nil && !slices.Contains(words, r.Task) {
				words = append(words, r.Task)
			}
			text := fmt.Sprintf("%s, %s at %s", r.Task, r.OutcomeText(), c.MinuteText(r.Slot, s.Location))
			words = append(words, described(humanize.ShortRun(r.ID), text))
		}
	})
	return words
}

func (c completer) live() (words []string) {
	c.withRecords(func(_ context.Context, s *schedule.Schedule, records *view.Records) {
		for _, row := range slices.DeleteFunc(records.Live, state.Row.Pending) {
			text := row.Task + " of " + c.MinuteText(row.Slot, s.Location)
			words = append(words, row.Task, described(humanize.ShortRun(row.ID), text))
		}
	})
	return withoutTwins(words)
}

// withRecords calls find with the records of the schedule, if they can be read in time.
func (c completer) withRecords(find func(context.Context, *schedule.Schedule, *view.Records)) {
	s := c.schedule()
	bounded, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	records, err := view.OpenRecords(bounded, s.StateDir)
	if err != nil {
		return
	}
	defer records.Close()
	find(bounded, s, records)
}

const (
	runsOffered       = 20
	completionTimeout = time.Second // the person waits for the key Tab
)

// described returns a candidate in the form that cobra wants.
func described(word, description string) string {
	if description == "" {
		return word
	}
	return word + "\t" + humanize.Line(description)
}

func withoutTwins(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
