// Package cmd is the command line of sched: it turns arguments into calls, and results into text
// and exit codes. Only this package knows cobra, flags, the standard streams and the environment.
// It decides nothing about schedules or runs; cmd/terminal knows how text looks. A command has a
// file with its name, or stands beside its counterpart, as retry in trigger.go; help and version
// are in main.go. It is a constructor, its options, and a type that embeds app (listCommand) and
// knows no cobra.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/run"
)

// A console is what a command shares with the person who typed it: the streams and a clock.
type console struct {
	in       io.Reader
	out, err io.Writer
	results  *output    // what out writes to
	printers []*printer // of out and err, after startPrinters
	now      func() time.Time
	zones    []*time.Location // in which times of the schedule are printed; nil before it was read
}

// A scheduleFile finds and reads the schedule that the flags name.
type scheduleFile struct {
	console
	config  string // --config
	system  bool   // --system
	looks   bool   // the command only reads: see look
	origins bool   // the command asks where values come from
}

// An app is one call of sched. Commands embed it, and so have the methods of three types, each of
// which embeds the one before:
//
//	console       reads and prints            streams.go, errors.go
//	scheduleFile  finds and reads a schedule  config.go
//	app           opens what a schedule uses  storage.go
type app struct {
	scheduleFile
	connections
	parsed bool // cobra has accepted the arguments: further errors are no wrong usage
}

// Main runs sched with the arguments, without the name of the program, and returns its exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	if code, ok := become(args); ok {
		return code
	}
	if run.IsWitness(args) {
		return run.Witness(os.Args[0], args[1], os.Environ())
	}
	results := &output{Writer: out}
	a := &app{}
	a.console = console{in: in, out: results, err: errs, results: results, now: clock.Now}
	defer a.close()
	if code, ok := a.background(args); ok {
		return code
	}
	process.CloseOnExecFrom(3) // what the caller has open is not for commands: `flock 9` would be held as long as a background run lives
	debug.SetGCPercent(400)    // these commands live for a moment: time counts, and memory is given back soon
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(results)
	root.SetErr(errs)
	if isCompletion(args) {
		a.addCompletions(root)
	}
	return a.finishOutput(a.exitCode(root.Execute()))
}

// Commands returns sched with all its commands, for tools that write about them; they cannot run.
func Commands() *cobra.Command { return (&app{}).root() }

func (a *app) root() *cobra.Command {
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
		Args:          knownCommand,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.parsed = true
			if a.system {
				os.Setenv(systemVariable, "1") // for the sched that this one starts
			}
			return noEmptyFlag(c)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				fmt.Fprintf(a.out, "sched %s\n", Version)
				return nil
			}
			return c.Help()
		},
	}
	a.rootFlags(root, &version)
	addInGroups(root, []commandGroup{
		{"Every day", []*cobra.Command{newRunCommand(a), newListCommand(a), newCheckCommand(a), newTestCommand(a), newLogsCommand(a), newWhyCommand(a), newStatusCommand(a), newShowCommand(a)}},
		{"The past", []*cobra.Command{newHistoryCommand(a)}},
		{"Steering", []*cobra.Command{newTriggerCommand(a), newRetryCommand(a), newStopCommand(a), newPauseCommand(a), newResumeCommand(a)}},
		{"Setting up", []*cobra.Command{newInitCommand(a), newInstallCommand(a), newUninstallCommand(a), newImportCommand(a), newExportCommand(a), newDoctorCommand(a), newForecastCommand(a)}},
		{"Machines", []*cobra.Command{newServersCommand(a), newServeCommand(a), newWorkCommand(a)}},
		{"About sched", []*cobra.Command{newVersionCommand(a)}},
	}, []*cobra.Command{newInterruptCommand(a), newUnlockCommand(a), newForgetCommand(a), newFinishCommand(a), newSchemaCommand(a), newCompletionCommand(a)})
	root.AddCommand(newStartCommand())
	return root
}

func (a *app) rootFlags(root *cobra.Command, version *bool) {
	// This flag is not cobra's own: cobra's templates keep the linker from leaving out methods that
	// nobody calls. With a client of Redis that makes sched half as large again, and each start of
	// it a tenth slower.
	root.Flags().BoolVar(version, "version", false, "print the version")
	root.PersistentFlags().StringVarP(&a.config, "config", "c", "",
		"the schedule, or a crontab (default: $SCHED_CONFIG, ./schedule.yaml, ~/.config/sched/schedule.yaml, /etc/sched/schedule.yaml)")
	root.PersistentFlags().BoolVar(&a.system, "system", os.Getenv(systemVariable) != "", "each line of the crontab has a user, as in /etc/crontab")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // Go's own words are not for people
		return usage(flagHint(c, err), "%s", text)
	})
}

// systemVariable is --system for all commands.
const systemVariable = "SCHED_SYSTEM"

// otherNames are what people call our commands who come from other programs.
var otherNames = map[string]string{
	"ls": "list", "ps": "list", "tasks": "list", "jobs": "list", "next": "list",
	"validate": "check", "lint": "check", "verify": "check", "exec": "test",
	"kill": "stop", "cancel": "stop", "rerun": "retry", "enable": "resume", "disable": "pause",
	"daemon": "work", "up": "work", "web": "serve", "ui": "serve", "dashboard": "serve",
}

func knownCommand(root *cobra.Command, args []string) error {
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

// ctx bounds nothing: databases and stores have their own time limits.
var ctx = context.Background()

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

func newHelpCommand(root *cobra.Command, seldom []*cobra.Command) *cobra.Command {
	all := false
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
			c, rest, err := root.Find(args)
			if err != nil || c == root && len(rest) > 0 {
				return knownCommand(root, args)
			}
			return c.Help()
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list the commands, too, that are seldom needed")
	root.SetHelpCommand(c)
	show := root.HelpFunc()
	root.SetHelpFunc(func(of *cobra.Command, args []string) {
		if all {
			root.AddGroup(&cobra.Group{ID: seldomTitle, Title: seldomTitle + ":"})
		}
		for _, c := range seldom {
			if c.Hidden = !all; all {
				c.GroupID = seldomTitle
			}
		}
		show(of, args)
	})
	return c
}

// signals returns two contexts. The first signal that tells sched to end ends terminate, and the
// second ends kill. Their causes name the signal ("by SIGTERM"). Until release the signals do
// nothing else. Ignored SIGHUPs stay ignored, as by nohup(1). SIGINT counts even if a shell ignores
// it for &: `sched work` uses it.
func signals() (terminate, kill context.Context, release func()) {
	terminate, cancelTerminate := context.WithCancelCause(context.Background())
	kill, cancelKill := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(arrived, syscall.SIGHUP)
	}
	go func() {
		for _, cancel := range []context.CancelCauseFunc{cancelTerminate, cancelKill} {
			s, ok := <-arrived
			if !ok {
				return
			}
			cancel(errors.New("by " + unix.SignalName(s.(syscall.Signal))))
		}
	}()
	return terminate, kill, func() {
		signal.Stop(arrived)
		close(arrived)
	}
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
				return a.printJSON(versionOf(debug.ReadBuildInfo()))
			}
			fmt.Fprintf(a.out, "sched %s (%s/%s, %s)\n", Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON, with the commit and its date")
	return c
}

func versionOf(info *debug.BuildInfo, ok bool) versionJSON {
	v := versionJSON{Version: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if !ok {
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
