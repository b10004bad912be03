package cmd

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule/humanize"
)

// Commands returns sched with all its commands, for tools that write about them; they cannot run.
func Commands() *cobra.Command { return newRoot(&app{}) }

// newRoot returns the command sched with all its commands.
func newRoot(a *app) *cobra.Command {
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
			a.parsed = true
			if a.system {
				os.Setenv(systemVariable, "1") // for the sched that this one starts
			}
			return refuseEmptyFlag(c)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				fmt.Fprintf(a.out, "sched %s\n", Version)
				return nil
			}
			return c.Help()
		},
	}
	addRootFlags(a, root, &version)
	addInGroups(root, commandGroups(a), seldomCommands(a))
	root.AddCommand(newStartCommand())
	return root
}

// commandGroups returns the usual commands in the order of `sched --help`.
func commandGroups(a *app) []commandGroup {
	return []commandGroup{
		{title: "Every day", commands: []*cobra.Command{
			newRunCommand(a),
			newListCommand(a),
			newCheckCommand(a),
			newTestCommand(a),
			newLogsCommand(a),
			newWhyCommand(a),
			newStatusCommand(a),
			newShowCommand(a),
		}},
		{title: "The past", commands: []*cobra.Command{newHistoryCommand(a)}},
		{title: "Steering", commands: []*cobra.Command{
			newTriggerCommand(a),
			newRetryCommand(a),
			newStopCommand(a),
			newPauseCommand(a),
			newResumeCommand(a),
		}},
		{title: "Setting up", commands: []*cobra.Command{
			newInitCommand(a),
			newInstallCommand(a),
			newUninstallCommand(a),
			newImportCommand(a),
			newExportCommand(a),
			newDoctorCommand(a),
			newForecastCommand(a),
		}},
		{title: "Machines", commands: []*cobra.Command{
			newServersCommand(a),
			newServeCommand(a),
			newWorkCommand(a),
		}},
		{title: "About sched", commands: []*cobra.Command{newVersionCommand(a)}},
	}
}

// seldomCommands returns the commands that only `sched help --all` lists.
func seldomCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		newInterruptCommand(a),
		newUnlockCommand(a),
		newForgetCommand(a),
		newFinishCommand(a),
		newSchemaCommand(a),
		newCompletionCommand(a),
	}
}

// addRootFlags adds the flags that every command has, and --version.
func addRootFlags(a *app, root *cobra.Command, version *bool) {
	// This flag is not cobra's own: cobra's templates keep the linker from leaving out methods that
	// nobody calls. With a client of Redis that makes sched half as large again, and each start of
	// it a tenth slower.
	root.Flags().BoolVar(version, "version", false, "print the version")
	f := root.PersistentFlags()
	f.StringVarP(&a.config, "config", "c", "",
		"the schedule, or a crontab (default: $SCHED_CONFIG, ./schedule.yaml, "+
			"~/.config/sched/schedule.yaml, /etc/sched/schedule.yaml)")
	f.BoolVar(&a.system, "system", os.Getenv(systemVariable) != "",
		"each line of the crontab has a user, as in /etc/crontab")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // Go's own words are not for people
		return usage(flagHint(c, err), "%s", text)
	})
}

// systemVariable is set to have --system in each call of sched.
const systemVariable = "SCHED_SYSTEM"

// otherNames maps commands of other programs to ours.
var otherNames = map[string]string{
	"ls": "list", "ps": "list", "tasks": "list", "jobs": "list", "next": "list",
	"validate": "check", "lint": "check", "verify": "check", "exec": "test",
	"kill": "stop", "cancel": "stop", "rerun": "retry", "enable": "resume", "disable": "pause",
	"daemon": "work", "up": "work", "web": "serve", "ui": "serve", "dashboard": "serve",
}

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
	hint := seeHelp(root)
	if near := cmp.Or(otherNames[args[0]], humanize.Nearest(args[0], names)); near != "" {
		hint = "did you mean `sched " + near + "`?"
	}
	return usage(hint, "there is no command %q", args[0])
}

// A commandGroup is a part of `sched --help`.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

const seldomTitle = "Seldom needed"

// addInGroups adds commands in the order of `sched --help`. Only `sched help --all` lists the
// seldom ones.
func addInGroups(root *cobra.Command, groups []commandGroup, seldom []*cobra.Command) {
	cobra.EnableCommandSorting = false
	last := &groups[len(groups)-1]
	last.commands = append(last.commands, newHelpCommand(root, seldom))
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, c := range group.commands {
			c.GroupID = group.title
		}
		root.AddCommand(group.commands...)
	}
	root.AddCommand(seldom...)
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

// Version is the version of sched (CHANGELOG.md).
const Version = "0.1.0"

// A versionJSON is what `sched version --json` prints. Commit and Date are null in a binary that
// was built outside of a git repository.
type versionJSON struct {
	Version  string     `json:"version"`
	Commit   *string    `json:"commit"`
	Date     *time.Time `json:"date"` // of the commit
	Modified bool       `json:"modified"`
	Go       string     `json:"go"`
	OS       string     `json:"os"`
	Arch     string     `json:"arch"`
}

func newVersionCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  sched version
  sched version --json`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				info, ok := debug.ReadBuildInfo()
				return a.printJSON(versionOf(info, ok))
			}
			fmt.Fprintf(a.out, "sched %s (%s/%s, %s)\n", Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON, with the commit and its date")
	return c
}

// versionOf returns the version, with what the build says of the commit if hasInfo is true.
func versionOf(info *debug.BuildInfo, hasInfo bool) versionJSON {
	v := versionJSON{Version: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if !hasInfo {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = &s.Value
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				v.Date = &at
			}
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
