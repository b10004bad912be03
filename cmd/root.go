package cmd

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/check"
	"sched/cmd/completion"
	"sched/cmd/doctor"
	"sched/cmd/exit"
	"sched/cmd/export"
	"sched/cmd/finish"
	"sched/cmd/flags"
	"sched/cmd/forecast"
	"sched/cmd/forget"
	"sched/cmd/history"
	"sched/cmd/importcmd"
	"sched/cmd/initcmd"
	"sched/cmd/install"
	"sched/cmd/list"
	"sched/cmd/logs"
	"sched/cmd/pause"
	"sched/cmd/run"
	"sched/cmd/schema"
	"sched/cmd/serve"
	"sched/cmd/servers"
	"sched/cmd/show"
	"sched/cmd/status"
	"sched/cmd/stop"
	"sched/cmd/test"
	"sched/cmd/trigger"
	"sched/cmd/unlock"
	"sched/cmd/version"
	"sched/cmd/why"
	"sched/cmd/work"
	"sched/schedule/humanize"
)

// Commands returns sched with all its commands, for tools that write about them; they cannot run.
func Commands() *cobra.Command { return newRoot(&app.App{}) }

// newRoot returns the command sched with all its commands.
func newRoot(a *app.App) *cobra.Command {
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
  sched run --dry-run   what would run in this minute`,
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
	addCommands(root, commandGroups(a, root))
	root.AddCommand(finish.NewStart())
	return root
}

// A commandGroup is a part of `sched --help`.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// seldomTitle is the title of the commands that only `sched help --all` lists.
const seldomTitle = "Seldom needed"

// commandGroups returns all commands in the order of `sched help --all`.
func commandGroups(a *app.App, root *cobra.Command) []commandGroup {
	seldom := []*cobra.Command{
		pause.NewInterrupt(a),
		unlock.New(a),
		forget.New(a),
		finish.New(a),
		schema.New(a),
		completion.New(a),
	}
	return []commandGroup{
		{title: "Every day", commands: []*cobra.Command{
			run.New(a),
			list.New(a),
			check.New(a),
			test.New(a),
			logs.New(a),
			why.New(a),
			status.New(a),
			show.New(a),
		}},
		{title: "The past", commands: []*cobra.Command{history.New(a)}},
		{title: "Steering", commands: []*cobra.Command{
			trigger.New(a),
			trigger.NewRetry(a),
			stop.New(a),
			pause.New(a),
			pause.NewResume(a),
		}},
		{title: "Setting up", commands: []*cobra.Command{
			initcmd.New(a),
			install.New(a),
			install.NewUninstall(a),
			importcmd.New(a),
			export.New(a),
			doctor.New(a),
			forecast.New(a),
		}},
		{title: "Machines", commands: []*cobra.Command{
			servers.New(a),
			serve.New(a),
			work.New(a),
		}},
		{title: "About sched", commands: []*cobra.Command{version.New(a), newHelpCommand(root, seldom)}},
		{title: seldomTitle, commands: seldom},
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
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // Go's own words are not for people
		return exit.Usage(flags.Hint(c, err), "%s", text)
	})
}

// otherNames maps commands of other programs to ours.
var otherNames = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"ls": "list", "ps": "list", "tasks": "list", "jobs": "list", "next": "list",
		"validate": "check", "lint": "check", "verify": "check", "exec": "test",
		"kill": "stop", "cancel": "stop", "rerun": "retry", "enable": "resume", "disable": "pause",
		"daemon": "work", "up": "work", "web": "serve", "ui": "serve", "dashboard": "serve",
	}
})

// refuseUnknownCommand refuses a command that sched does not have.
func refuseUnknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	hint := flags.SeeHelp(root)
	if near := cmp.Or(otherNames()[args[0]], humanize.Nearest(args[0], names)); near != "" {
		hint = "did you mean `sched " + near + "`?"
	}
	return exit.Usage(hint, "there is no command %q", args[0])
}

// addCommands adds the commands of the groups. A command that does not say which arguments it takes
// takes none.
func addCommands(root *cobra.Command, groups []commandGroup) {
	cobra.EnableCommandSorting = false
	for _, group := range groups {
		for _, c := range group.commands {
			if c.Args == nil {
				c.Args = flags.Arguments(0, 0)
			}
			if group.title != seldomTitle {
				c.GroupID = group.title
			}
		}
		if group.title != seldomTitle {
			root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		}
		root.AddCommand(group.commands...)
	}
}

// newHelpCommand returns the help command. It also makes all help leave out the seldom commands,
// unless --all is given.
func newHelpCommand(root *cobra.Command, seldom []*cobra.Command) *cobra.Command {
	withSeldom := false
	c := &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show what a command does, or with --all every command",
		Example: `  sched help run
  sched help --all`,
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
	c.Flags().BoolVar(&withSeldom, "all", false, "list the commands, too, that are seldom needed")
	root.SetHelpCommand(c)
	show := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, args []string) {
		if withSeldom {
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
