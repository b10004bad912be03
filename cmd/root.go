package cmd

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/check"
	"sched/cmd/completion"
	"sched/cmd/doctor"
	"sched/cmd/exit"
	"sched/cmd/explain"
	"sched/cmd/export"
	"sched/cmd/finish"
	"sched/cmd/flags"
	"sched/cmd/forecast"
	"sched/cmd/forget"
	"sched/cmd/history"
	"sched/cmd/ics"
	"sched/cmd/importcmd"
	"sched/cmd/initcmd"
	"sched/cmd/install"
	"sched/cmd/list"
	"sched/cmd/logs"
	"sched/cmd/machine"
	"sched/cmd/mcp"
	"sched/cmd/pause"
	"sched/cmd/propose"
	"sched/cmd/run"
	"sched/cmd/schema"
	"sched/cmd/serve"
	"sched/cmd/show"
	"sched/cmd/status"
	"sched/cmd/stop"
	"sched/cmd/takeover"
	"sched/cmd/test"
	"sched/cmd/trigger"
	"sched/cmd/unlock"
	"sched/cmd/version"
	"sched/cmd/why"
	"sched/cmd/work"
	"sched/schedule/humanize"
)

// Commands returns sched with all its commands, for tools that write about them; they cannot run.
func Commands() *cobra.Command { return newRoot(&app.App{}, "") }

// newRoot returns the command sched. If the first argument names a command of commandGroups, sched
// has that command alone, because making all of them takes a part of a short call that counts.
// Otherwise it has all commands.
func newRoot(a *app.App, first string) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "sched",
		Short: "Run the tasks of a schedule.yaml when they are due",
		Long: `sched runs the tasks of a schedule.yaml when they are due. Cron calls it every minute:

    * * * * * sched run

These are the usual commands; sched help --all has all.

Exit codes: 0 all well (also when tasks were skipped or went to the background), 1 a foreground
task failed or what was named does not exist, 2 wrong usage or an invalid schedule, 143 stopped by
a signal.`,
		Example: `  sched check           every mistake of the schedule
  sched list            what runs, and when next
  sched run --dry-run   what would run in this minute
  sched machine         what else is scheduled here: crontabs, timers, at`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          refuseUnknownCommand,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.Parsed = true
			if a.System {
				os.Setenv(app.SystemVariable, "1") // for the sched that this one starts
			}
			return flags.RefuseEmpty(c)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				fmt.Fprintf(a.Out, "sched %s\n", app.Version)
				return nil
			}
			return c.Help()
		},
	}
	addRootFlags(a, root, &version)
	for _, group := range commandGroups() {
		for _, row := range group.rows {
			if row.name == first {
				root.CompletionOptions.DisableDefaultCmd = true
				nameSeldomFlags(root)
				root.AddCommand(row.command(a))
				return root
			}
		}
	}
	addCommands(a, root)
	root.AddCommand(finish.NewStart())
	return root
}

// A commandGroup is a part of `sched --help`.
type commandGroup struct {
	title string
	rows  []commandRow
}

// A commandRow is a command that is made when it is needed.
type commandRow struct {
	name string
	make func(*app.App) *cobra.Command
}

// command makes the command. If it does not say which arguments it takes, it takes none.
func (r commandRow) command(a *app.App) *cobra.Command {
	c := r.make(a)
	if c.Args == nil {
		c.Args = flags.Arguments(0, 0)
	}
	return c
}

const (
	aboutTitle  = "About sched" // the group to which help belongs, too
	seldomTitle = "Seldom needed"
)

// commandGroups returns the commands in the order of `sched --help`, but for help.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"Every day", []commandRow{
			{"run", run.New},
			{"list", list.New},
			{"check", check.New},
			{"explain", explain.New},
			{"test", test.New},
			{"logs", logs.New},
			{"why", why.New},
			{"status", status.New},
			{"show", show.New},
		}},
		{"The past", []commandRow{{"history", history.New}}},
		{"Steering", []commandRow{
			{"trigger", trigger.New},
			{"retry", trigger.NewRetry},
			{"stop", stop.New},
			{"pause", pause.New},
			{"resume", pause.NewResume},
			{"proposals", propose.NewProposals},
			{"approve", propose.NewApprove},
			{"reject", propose.NewReject},
		}},
		{"Setting up", []commandRow{
			{"init", initcmd.New},
			{"install", install.New},
			{"uninstall", install.NewUninstall},
			{"import", importcmd.New},
			{"takeover", takeover.New},
			{"export", export.New},
			{"doctor", doctor.New},
			{"forecast", forecast.New},
		}},
		{"Machines", []commandRow{
			{"serve", serve.New},
			{"work", work.New},
			{"mcp", mcp.New},
			{"machine", machine.New},
		}},
		{aboutTitle, []commandRow{{"version", version.New}}},
	}
}

// seldomCommands returns the commands that only `sched help --all` lists.
func seldomCommands() []commandRow {
	return []commandRow{
		{"servers", list.NewServers},
		{"interrupt", pause.NewInterrupt},
		{"unlock", unlock.New},
		{"forget", forget.New},
		{"propose", propose.New},
		{"finish", finish.New},
		{"schema", schema.New},
		{"ics", ics.New},
		{"completion", completion.New},
	}
}

// addRootFlags adds the flags that every command has, and --version.
func addRootFlags(a *app.App, root *cobra.Command, version *bool) {
	// This flag is not cobra's own: cobra's templates keep the linker from leaving out methods that
	// nobody calls. With a client of Redis that makes sched half as large again, and each start of
	// it a tenth slower.
	root.Flags().BoolVar(version, "version", false, "print the version")
	f := root.PersistentFlags()
	f.StringVarP(&a.Config, "config", "c", "",
		"the schedule, or a crontab (default: $SCHED_CONFIG, ./schedule.yaml, "+
			"~/.config/sched/schedule.yaml, /etc/sched/schedule.yaml)")
	f.BoolVar(&a.System, "system", os.Getenv(app.SystemVariable) != "",
		"each line of the crontab has a user, as in /etc/crontab")
	flags.Seldom(f, "system")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // Go's own words are not for people
		return exit.Usage(flags.Hint(c, err), "%s", text)
	})
}

// otherNames maps commands of other programs to ours.
var otherNames = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"stat": "status", "ls": "list", "ps": "list", "tasks": "list", "jobs": "list", "next": "list",
		"calendar": "ics", "ical": "ics",
		"crontab-guru": "explain", "describe": "show", "info": "show", "cat": "show", "cron": "explain", "running": "list",
		"failed": "history --failed", "failures": "history --failed", "errors": "history --failed",
		"yesterday": "history --since 24h", "today": "history --since 0:00", "tomorrow": "forecast",
		"health": "status", "healthcheck": "status", "locks": "list", "down": "pause", "maintenance": "pause",
		"alert": "test TASK --as failed", "notify": "test TASK --as failed", "dry-run": "run --dry-run",
		"validate": "check", "lint": "check", "verify": "check", "exec": "test",
		"crontabs": "machine", "timers": "machine", "kill": "stop", "cancel": "stop", "rerun": "retry", "enable": "resume", "disable": "pause",
		"run-now": "trigger", "fire": "trigger", "tail": "logs -f TASK", "follow": "logs -f TASK",
		"schedule:list": "list", "schedule:run": "run", "schedule:work": "work", "schedule:test": "test",
		"schedule:interrupt": "interrupt", "schedule:finish": "finish", "crontab": "import", "schedule:pause": "pause", "schedule:resume": "resume",
		"daemon": "work", "up": "work", "web": "serve", "ui": "serve", "dashboard": "serve",
	}
})

// explained are commands of other programs for which we need none, with the reason.
var explained = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"schedule:clear-cache": "nothing is needed: a lock ends with its run; `sched unlock TASK` breaks one",
		"drain":                "comment out this server's crontab line or stop its `sched work`; `sched list` has the runs that go on",
		"prune":                "nothing is needed: `history:` in the schedule says what is kept",
		"clean":                "nothing is needed: `history:` in the schedule says what is kept",
		"edit":                 "nothing is needed: edit schedule.yaml; `sched check` says whether it is right",
	}
})

// reloaders are the commands of programs that run all the time, to read their files again.
var reloaders = []string{"reload", "restart", "refresh", "apply"}

// refuseUnknownCommand refuses a command that sched does not have.
func refuseUnknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := args[0]
	if len(args) > 1 && (name == "artisan" || name == "schedule") {
		name = args[1]
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	hint := cmp.Or(explained()[name], flags.SeeHelp(root))
	near := cmp.Or(otherNames()[name], humanize.Nearest(name, names))
	if near != "" && explained()[name] == "" {
		hint = "did you mean `sched " + near + "`?"
	}
	if slices.Contains(reloaders, name) {
		hint = "nothing is needed: each tick reads the file; `sched check` says whether it is right"
	}
	return exit.Usage(hint, "there is no command %q", args[0])
}

// addCommands adds all commands.
func addCommands(a *app.App, root *cobra.Command) {
	cobra.EnableCommandSorting = false
	var seldom []*cobra.Command
	for _, row := range seldomCommands() {
		seldom = append(seldom, row.command(a))
	}
	for _, group := range commandGroups() {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, row := range group.rows {
			c := row.command(a)
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	help := newHelpCommand(root, seldom)
	help.GroupID = aboutTitle
	root.AddCommand(help)
	root.AddCommand(seldom...)
}

// nameSeldomFlags makes the help of each command say how to see the flags that it leaves out.
func nameSeldomFlags(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		show(c, args)
		if flags.HasHidden(c) {
			call := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
			fmt.Fprintf(c.OutOrStdout(), "\nMore flags, seldom needed: sched help --all %s\n", call)
		}
	})
}

// newHelpCommand returns the help command. It also makes all help leave out the seldom commands and
// flags, unless --all is given.
func newHelpCommand(root *cobra.Command, seldom []*cobra.Command) *cobra.Command {
	withSeldom := false
	c := &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show what a command does, or with --all every command and flag",
		Example: `  sched help run
  sched help --all
  sched help --all run`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, unknown, err := root.Find(args)
			if err != nil || c == root && len(unknown) > 0 {
				return refuseUnknownCommand(root, args)
			}
			return c.Help()
		},
	}
	c.Flags().BoolVar(&withSeldom, "all", false, "list the commands and flags, too, that are seldom needed")
	root.SetHelpCommand(c)
	nameSeldomFlags(root)
	show := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, args []string) {
		if withSeldom {
			flags.ShowSeldom(command)
			root.AddGroup(&cobra.Group{ID: seldomTitle, Title: seldomTitle + ":"})
		}
		for _, c := range seldom {
			c.Hidden = !withSeldom
			if withSeldom {
				c.GroupID = seldomTitle
			}
		}
		show(command, args)
	})
	return c
}
