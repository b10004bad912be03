// Package work is the command `sched work`.
package work

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/cmd/follow"
	"sched/cmd/report"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/run/triggered"
	"sched/schedule/statedir"
	"sched/schedule/work"
	"sched/schedule/yamldoc"
)

type options struct {
	report.Options
	grace  string
	strict bool
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "work",
		Short: "A tick every minute in the foreground, for containers and laptops",
		Long: `work does what cron would: every minute it starts "sched run", and does not wait for it. It can be
the first process of a container. An edit counts from the next minute on, also one that makes the
schedule invalid: each tick says so, and runs what sched run would.

SIGTERM, SIGINT, SIGHUP and SIGQUIT end it: nothing more is started, and what runs may finish within --grace.
Then the rest is stopped, with its hooks. A second signal kills it at once. The exit code is 143.`,
		Example: `  sched work
  sched work -q --grace 5m -c /srv/shop/schedule.yaml`,
		RunE: func(*cobra.Command, []string) error { return tickEachMinute(a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.grace, "grace", "30s", "how long what runs may take to finish after a signal (90s, 10m, 1d)")
	o.AddFlags(f)
	f.BoolVar(&o.Logs, "logs", false, "print also what tasks print, each line with the task in front, as it comes")
	f.BoolVar(&o.JSON, "json", false, "with --logs, print lines of JSON: "+
		"one for each line of a task, and one for each tick in which something was due")
	f.BoolVar(&o.strict, "strict", false, "let nothing pass: run nothing while the schedule is invalid")
	flags.Seldom(f, "strict")
	return c
}

func tickEachMinute(a *app.App, o options) error {
	grace, err := o.parse()
	if err != nil {
		return err
	}
	a.SurviveReaders()
	a.StartPrinters()
	setup, err := readSetup(a, o)
	if err != nil {
		return err
	}
	if o.JSON && !setup.logs {
		return exit.Usage("add --logs, or `logs: true` to the schedule", "--json is for what tasks print")
	}
	release, err := hold(a, setup.stateDir)
	if err != nil {
		return err
	}
	var logs *follow.Stream
	if setup.logs && setup.stateDir != "" && statedir.Check(setup.stateDir) == nil {
		logs = follow.NewStream(&a.Console, setup.stateDir, os.Environ(), setup.nameWidth, o.JSON,
			follow.Discover(setup.stateDir, os.Environ()),
			func(task string) bool { return a.IsForeign(setup.schedule, task) })
	}
	worker := work.Worker{
		Argv:    setup.tick,
		Environ: os.Environ(),
		Output:  terminal.File(a.Out),
		Errors:  terminal.File(a.Err),
		Grace:   grace,
		Zone:    setup.zone,
		Problem: a.Warn,
	}
	// After the signal and before runs are ended: ticks start nothing more, and another sched work
	// may begin.
	received := worker.Run(app.WorkSignals(), func() {
		triggered.Hold(setup.stateDir)
		release()
	})
	logs.Close()
	reportLast(a, o.Options)
	return &exit.Error{
		Code: exit.Stopped,
		Err:  fmt.Errorf("stopped by %s", unix.SignalName(received.(syscall.Signal))),
	}
}

// parse refuses flags that do not go together, and returns the time of --grace.
func (o options) parse() (grace time.Duration, err error) {
	if err := o.Options.Check(); err != nil {
		return 0, err
	}
	grace, err = yamldoc.ParseDuration(o.grace)
	if err != nil {
		return 0, exit.Usage("write it as 90s, 10m, 2h or 1d", "--grace %q is not a time to wait", o.grace)
	}
	if grace < 0 {
		return 0, exit.Usage("", "--grace %s is negative", o.grace)
	}
	return grace, nil
}

// A setup is what `sched work` reads from the schedule at its start.
type setup struct {
	options   options
	schedule  *schedule.Schedule // nil if the file is invalid
	sched     string             // the path of the program
	file      string             // the schedule
	stateDir  string             // "" if the file is too broken to name it
	zone      *time.Location
	logs      bool // prints what tasks print
	nameWidth int  // of the names of tasks in these logs
}

// readSetup reads the schedule, and prints its mistakes. A missing file is an error, and so is a
// file that root does not trust if nothing runs in its place: in a container nobody would see it.
// The ticks report every other mistake, until it is mended.
func readSetup(a *app.App, o options) (setup, error) {
	setup := setup{options: o, zone: app.LocalZone(), logs: o.Logs}
	file, err := a.FindConfig()
	if err == nil {
		setup.file, err = filepath.Abs(file)
	}
	if err != nil {
		return setup, err
	}
	if setup.sched, err = app.Executable(); err != nil {
		return setup, err
	}
	s, err := load.File(setup.file, a.Options())
	isUntrusted := errors.Is(err, yamldoc.ErrUntrusted)
	if errors.Is(err, os.ErrNotExist) || isUntrusted && a.InPlaceOf(setup.file, err) == nil {
		return setup, err
	}
	if err != nil {
		a.Report(err) // and go on: the ticks report the error, too
		if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
			setup.stateDir = invalid.StateDir
		}
		return setup, nil
	}
	setup.schedule, setup.stateDir, setup.zone = s, s.StateDir, s.Location
	setup.logs, setup.nameWidth = o.Logs || s.Logs, report.NameWidth(s)
	return setup, nil
}

// tick returns the command line of the tick of a minute.
func (setup setup) tick(minute time.Time) []string {
	argv := []string{setup.sched, "run", "--work", minute.Format(time.RFC3339), "--config", setup.file}
	for _, flag := range []struct {
		name  string
		isSet bool
	}{
		{"--quiet", setup.options.Quiet},
		{"--verbose", setup.options.Verbose},
		{"--strict", setup.options.strict},
		{"--json", setup.options.JSON},
	} {
		if flag.isSet {
			argv = append(argv, flag.name)
		}
	}
	return argv
}

// hold refuses a second `sched work` of the same state folder until release. Each tick prints what
// is wrong with a folder that cannot be used, so hold does not.
func hold(a *app.App, stateDir string) (release func(), err error) {
	if stateDir == "" || statedir.Check(stateDir) != nil {
		return func() {}, nil
	}
	release, err = work.Hold(stateDir)
	if errors.As(err, new(*work.WorkingError)) {
		return nil, exit.Failed("two of them would run everything twice; end that one first", "%w", err)
	}
	if err != nil {
		a.Warn("another sched work of this schedule would not be noticed: %v", err)
		return func() {}, nil
	}
	return release, nil
}

// reportLast prints the background runs that failed or were stopped and that no tick has reported:
// no other tick comes.
func reportLast(a *app.App, o report.Options) {
	a.IsTick = true
	s, _, err := a.LoadLastValid()
	if err != nil || app.CheckState(s) != nil {
		return // the ticks have printed why
	}
	report.Collect(a, a.Tick(s, a.Now().Truncate(time.Minute)), o)
}
