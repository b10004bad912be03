package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sched/cmd/terminal"
	"sched/schedule/load"
	"sched/schedule/run"
	"sched/schedule/statedir"
	"sched/schedule/work"
	"sched/schedule/yamldoc"
)

type workOptions struct {
	grace string
	run   runOptions
	width int // of the names of tasks
}

type workCommand struct{ *app }

func newWorkCommand(a *app) *cobra.Command {
	var o workOptions
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
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return workCommand{a}.work(o) },
	}
	f := c.Flags()
	f.StringVar(&o.grace, "grace", "30s", "how long what runs may take to finish after a signal (90s, 10m, 1d)")
	f.BoolVarP(&o.run.quiet, "quiet", "q", false, "print only what went wrong")
	f.BoolVarP(&o.run.verbose, "verbose", "v", false, "say more: what each run is called, and when nothing was due")
	f.BoolVar(&o.run.logs, "logs", false, "print also what tasks print, each line with the task in front, as it comes")
	f.BoolVar(&o.run.json, "json", false, "with --logs, print lines of JSON: one for each line of a task, and one for each tick in which something was due")
	f.BoolVar(&o.run.strict, "strict", false, "let nothing pass: run nothing while the schedule is invalid")
	return c
}

func (a workCommand) work(o workOptions) error {
	a.surviveReaders()
	a.printAside()
	if o.run.quiet && o.run.verbose {
		return usage("", "--quiet and --verbose exclude each other")
	}
	grace, err := yamldoc.ParseDuration(o.grace)
	if err != nil {
		return usage("write it as 90s, 10m, 2h or 1d", "--grace %q is not a time to wait", o.grace)
	}
	if grace < 0 {
		return usage("", "--grace %s is negative", o.grace)
	}
	worker, dir, err := a.worker(&o, grace)
	if err != nil {
		return err
	}
	if o.run.json && !o.run.logs {
		return usage("add --logs, or `logs: true` to the schedule", "--json is for what tasks print")
	}
	release := func() {}
	if dir != "" && statedir.Check(dir) == nil { // otherwise each tick prints what is wrong
		var other *work.WorkingError
		switch held, err := work.Hold(dir); {
		case errors.As(err, &other):
			return failed("two of them would run everything twice; end that one first", "%w", err)
		case err != nil:
			a.problem("another sched work of this schedule would not be noticed: %v", err)
		default:
			release = held
		}
	}
	var logs *logStream
	if o.run.logs && dir != "" {
		logs = a.newLogStream(o.width, o.run.json, discoverOutputs(dir).In)
	}
	s := worker.Run(stopSignals(), func() {
		run.HoldTriggered(dir)
		release()
	})
	logs.close()
	a.reportLast(o.run)
	return &exit{exitStopped, fmt.Errorf("stopped by %s", unix.SignalName(s.(syscall.Signal))), ""}
}

// reportLast prints the background runs that failed or were stopped and that no tick has reported:
// no other tick comes.
func (a workCommand) reportLast(o runOptions) {
	s, _, err := a.loadLastValid()
	if err != nil || checkState(s) != nil {
		return // the ticks have said so
	}
	tick := a.tick(s, a.now().Truncate(time.Minute), runOptions{})
	r := newReporter(a.app, tick, o, nil)
	tick.Report.Started, tick.Report.Done = r.started, r.done
	tick.Collect()
	if len(r.tasks) > 0 {
		r.printJSONLine()
	}
}

// worker reads the schedule once: to print its mistakes at the start, and to learn its state folder
// and zone. Only a missing file is an error. The ticks report every other mistake, until it is
// mended.
func (a workCommand) worker(o *workOptions, grace time.Duration) (worker *work.Worker, stateDir string, err error) {
	file, err := a.findConfig()
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return nil, "", err
	}
	zone := localZone()
	switch s, err := load.File(file, a.options()); {
	case err == nil:
		stateDir, zone = s.StateDir, s.Location
		o.run.logs = o.run.logs || s.Logs
		for _, t := range s.Tasks {
			o.width = min(max(o.width, len(t.Name)), longestName)
		}
	case errors.Is(err, os.ErrNotExist):
		return nil, "", err
	default:
		if invalid, is := errors.AsType[*load.InvalidError](err); is {
			stateDir = invalid.StateDir
		}
		a.exitCode(err) // the ticks print it again, until it is mended
	}
	self, err := os.Executable()
	if err != nil {
		return nil, "", failed("", "where is sched? %w", err)
	}
	return &work.Worker{
		Argv: func(minute time.Time) []string {
			return o.tick(self, file, minute)
		},
		Environ: os.Environ(), Output: terminal.File(a.out), Errors: terminal.File(a.err),
		Grace: grace, Zone: zone, Problem: a.problem,
	}, stateDir, nil
}

func (o workOptions) tick(self, file string, minute time.Time) []string {
	argv := []string{self, "run", "--work", minute.Format(time.RFC3339), "--config", file}
	for flag, set := range map[string]bool{"--quiet": o.run.quiet, "--verbose": o.run.verbose, "--strict": o.run.strict, "--json": o.run.json} {
		if set {
			argv = append(argv, flag)
		}
	}
	return argv
}

// stopSignals receives signals that end sched, except signals that are ignored, as by nohup(1).
func stopSignals() <-chan os.Signal {
	arrived := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
	}
	return arrived
}
