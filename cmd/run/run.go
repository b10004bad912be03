// Package run is the command `sched run`: a tick, or the ticks of a span.
package run

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/cmd/report"
	"sched/cmd/terminal"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/run/triggered"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
	"sched/schedule/work"
)

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "run",
		Short: "Run what is due in this minute (for the crontab)",
		Long: `run is one tick: it forks the background tasks that are due in this minute, runs the foreground
ones one after another, and ends. It prints a line for each task that was due.

If the schedule is invalid it says why, runs the last valid one, and exits with 2. If none was valid
yet, it runs the tasks that have no problem.`,
		Example: `  * * * * * sched run          in the crontab
  sched run --dry-run          what would run in this minute
  sched run --at "2026-03-29 02:30" --dry-run --json`,
		Args: flags.NoArguments("`sched test TASK` runs one task now; -c FILE names another schedule"),
		RunE: func(*cobra.Command, []string) error { return runCommand(a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.at, "at", "", "run the tick of this minute instead: "+console.TimeForms)
	f.BoolVar(&o.force, "force", false, "with --at, also a minute that is yet to come: its tasks run now")
	f.Var((*onlyTask)(&o.Only), "only", "leave every task but this one alone")
	f.BoolVar(&o.wait, "wait", false, "with --only, end when the task has ended, also a background task")
	f.StringVar(&o.from, "from", "",
		"with --to and --only, run each slot of the task from this time on, one after another")
	f.StringVar(&o.to, "to", "", "up to this time, which is not in the span")
	f.BoolVarP(&o.yes, "yes", "y", false, "with --from, do not ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would run, and do nothing")
	f.BoolVar(&o.JSON, "json", false, "print one JSON object; with --logs a line for each, the lines of tasks first")
	f.BoolVar(&o.Logs, "logs", false,
		"print also what tasks print, each line with the task in front, while the tick is there")
	o.AddFlags(f)
	f.BoolVar(&o.strict, "strict", false, "let nothing pass: run nothing if the schedule is invalid")
	flags.Seldom(f, "force", "wait", "from", "to", "yes", "strict")
	f.StringVar(&o.workMinute, "work", "", "")
	f.MarkHidden("work")
	f.StringArrayVar(&o.held, "held", nil, "")
	f.MarkHidden("held")
	f.BoolVar(&o.triggered, triggered.Flag, false, "")
	f.MarkHidden(triggered.Flag)
	return c
}

// runCommand is one tick. The clock is read once, before anything else. With --json it prints an
// object also when nothing could run.
func runCommand(a *app.App, o options) error {
	now := a.Now()
	if err := o.check(); err != nil {
		return err
	}
	o.SeveralDays = o.isSpan()
	// The heap of 10,000 tasks is 40 MB, all of it in use. The first look for garbage is at 64 MB.
	debug.SetGCPercent(1600)
	if !o.dryRun {
		a.SurviveReaders()
		a.StartPrinters()
	}
	switch {
	case o.workMinute != "":
		return runForWork(a, o)
	case o.triggered:
		return runTriggered(a, o)
	case o.isSpan():
		return runSpan(a, o)
	}
	t, invalidExit, err := loadTick(a, o, now)
	if err != nil {
		if o.JSON {
			minute := now.UTC().Truncate(time.Minute).Format(time.RFC3339)
			a.PrintJSON(report.Tick{Minute: minute, Tasks: []report.Run{}})
		}
		return err
	}
	if o.dryRun {
		printPreview(a, t, o)
		if o.at == "" && o.Only == "" {
			completePreview(a, t)
		}
		return invalidExit
	}
	if o.Only != "" && o.at == "" && terminal.Is(a.Err) {
		if last, _ := view.LastTick(t.Storage.Dir); last.Equal(t.Minute) {
			a.Warn("a tick of %s has come already; what is due starts once more",
				humanize.SlotOfDayZone(t.Minute, t.Schedule.Location))
		}
	}
	return runTick(a, t, o, invalidExit, stopsBySignals())
}

// runTriggered starts what hooks have triggered. The next tick reports its problems.
func runTriggered(a *app.App, o options) error {
	endTurn, err := triggered.Await(os.Getenv(process.StateVariable))
	if err != nil {
		return exit.Usage("call `sched run` without --"+triggered.Flag, "%w", err)
	}
	defer endTurn()
	stops := stopsBySignals()
	a.IsTick = true
	s, _, err := a.LoadLastValid()
	if err == nil {
		err = app.CheckState(s)
	}
	if err != nil {
		return err
	}
	answer := newTick(a, s, a.Now(), o)
	answer.Report = tick.Report{Started: func(state.Row) {}, Problem: func(string, ...any) {}}
	answer.AnswerTriggered(stops.terminate, stops.kill)
	endTurn() // the next process need not wait for the store
	tellRuns(answer)
	return nil
}

// tellRuns tells the other servers of the runs that have started between two ticks. If the store
// does not answer, the next tick tells of them.
func tellRuns(answer *tick.Tick) {
	db, err := state.OpenRead(answer.Storage.Dir, state.Patience)
	if answer.Storage.Store == nil || err != nil {
		return
	}
	defer db.Close()
	announcer := &cluster.Announcer{
		Name:     answer.Host.Server,
		Dir:      answer.Storage.Dir,
		Minute:   answer.Minute,
		Schedule: answer.Schedule,
		DB:       db,
		Store:    answer.Storage.Store,
	}
	_ = announcer.TellRuns(context.Background())
}

// runForWork is a tick that `sched work` started for the minute of --work, usually a second before
// it. It reads the schedule and waits for the minute. If the wait took too long because the clock
// was set back, it reads the schedule again.
func runForWork(a *app.App, o options) error {
	link, err := work.InheritLink()
	if err != nil {
		return exit.Usage("call `sched run` without --work", "%w", err)
	}
	minute, err := time.Parse(time.RFC3339, o.workMinute)
	if err != nil {
		return exit.Usage("", "--work %q is not a time", o.workMinute)
	}
	stops := stopsBySignals()
	stops.noNewStarts = link.NoNewStarts(stops.terminate)
	for {
		now := a.Now()
		s, invalidExit, err := loadForTick(a, o)
		if err != nil {
			return err
		}
		t := newTick(a, s, minute, o)
		t.Began, t.Work = now, link
		t.StartAhead()
		reached, stale := work.Await(stops.noNewStarts, minute)
		if reached && !stale {
			return runTick(a, t, o, invalidExit, stops)
		}
		t.Withdraw()
		if !reached {
			return nil
		}
		a.Connections = app.Connections{} // the schedule may name another store and state folder now
	}
}
