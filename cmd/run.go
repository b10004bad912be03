package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/doctor"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
	"sched/schedule/work"
)

type runOptions struct {
	at      string
	force   bool
	only    string
	from    string // of a span
	to      string
	yes     bool // run a span without a question
	dryRun  bool
	json    bool
	quiet   bool
	verbose bool
	strict  bool
	logs    bool
	work    string // the minute of a tick that `sched work` started; else empty

	triggered bool // answer what hooks have triggered, and no more
}

type runCommand struct{ *app }

func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run",
		Short: "Run what is due in this minute (for the crontab)",
		Long: `run is one tick: it forks the background tasks that are due in this minute, runs the foreground
ones one after another, and ends. It prints a line for each task that was due.

If the schedule is invalid it says why, runs the last valid one, and exits with 2. If none was valid
yet, it runs the tasks that have no problem.`,
		Example: `  * * * * * sched run          in the crontab
  sched run --dry-run          what would run in this minute
  sched run --at "2026-03-29 02:30" --dry-run --json
  sched run --only report --from "2026-01-05 00:00" --to "2026-01-12 00:00"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("`sched test TASK` runs one task now; -c FILE names another schedule", "run takes no arguments")
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return runCommand{a}.run(o) },
	}
	f := c.Flags()
	f.StringVar(&o.at, "at", "", "run the tick of this minute instead: "+timeForms)
	f.BoolVar(&o.force, "force", false, "with --at, also a minute that is yet to come: its tasks run now")
	f.StringVar(&o.only, "only", "", "leave every task but this one alone")
	f.StringVar(&o.from, "from", "", "with --to and --only, run each slot of the task from this time on, one after another")
	f.StringVar(&o.to, "to", "", "up to this time, which is not in the span")
	f.BoolVarP(&o.yes, "yes", "y", false, "with --from, do not ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would run, and do nothing")
	f.BoolVar(&o.json, "json", false, "print one JSON object; with --logs a line for each, the lines of tasks first")
	f.BoolVar(&o.logs, "logs", false, "print also what tasks print, each line with the task in front, while the tick is there")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only what went wrong")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more: what each run is called, and when nothing was due")
	f.BoolVar(&o.strict, "strict", false, "let nothing pass: run nothing if the schedule is invalid")
	f.StringVar(&o.work, "work", "", "")
	f.MarkHidden("work")
	f.BoolVar(&o.triggered, run.TriggeredFlag, false, "")
	f.MarkHidden(run.TriggeredFlag)
	return c
}

// isSpan reports whether the flags name a span of slots.
func (o runOptions) isSpan() bool { return o.from != "" || o.to != "" }

// check refuses flags that do not go together.
func (o runOptions) check() error {
	switch {
	case o.quiet && o.verbose:
		return usage("", "--quiet and --verbose exclude each other")
	case o.isSpan() && (o.from == "" || o.to == "" || o.only == "" || o.at != ""):
		return usage(`sched run --only TASK --from "2026-01-05 00:00" --to "2026-01-06 00:00"`, "--from needs --to and --only, and excludes --at")
	}
	return nil
}

// run is one tick. The clock is read once, before anything else. With --json it prints an object
// also when nothing could run.
func (a runCommand) run(o runOptions) error {
	now := a.now()
	if err := o.check(); err != nil {
		return err
	}
	debug.SetGCPercent(1600) // the heap of 10,000 tasks is 40 MB, all of it in use: the first look for garbage is at 64 MB
	if !o.dryRun {
		a.surviveReaders()
		a.startPrinters()
	}
	if o.work != "" {
		return a.runWorked(o)
	}
	if o.triggered {
		return a.runTriggered(o)
	}
	if o.isSpan() {
		return a.runSpan(o)
	}
	tick, invalid, err := a.loadTick(o, now)
	if err != nil {
		if o.json {
			a.printJSON(tickJSON{now.UTC().Truncate(time.Minute).Format(time.RFC3339), []runJSON{}})
		}
		return err
	}
	if o.dryRun {
		if err := a.dryRun(tick, o.json); err != nil {
			return err
		}
		return invalid
	}
	if o.only != "" && o.at == "" && terminal.Is(a.err) {
		if last, _ := view.LastTick(tick.Storage.Dir); last.Equal(tick.Minute) {
			a.problem("a tick of %s has come already; what is due starts once more", humanize.SlotOfDayZone(tick.Minute, tick.Schedule.Location))
		}
	}
	terminate, kill, _ := signals() // never released: after a tick this process ends
	return a.runTick(tick, o, invalid, terminate, terminate, kill)
}

// loadTick returns the tick that the flags ask for. If the tick runs the last valid schedule,
// invalid is its exit.
func (a runCommand) loadTick(o runOptions, now time.Time) (tick *tick.Tick, invalid, err error) {
	s, invalid, err := a.loadSchedule(o)
	if err != nil {
		return nil, nil, err
	}
	minute, err := a.minute(o, now, s.Location)
	if err != nil {
		return nil, nil, err
	}
	if o.only != "" {
		if _, err := view.FindTask(s, o.only); err != nil {
			return nil, nil, err
		}
	}
	tick = a.tick(s, minute, o)
	tick.Began = now
	return tick, invalid, nil
}

// runWorked is a tick that `sched work` started for the minute of --work, a little ahead of it or
// late. It reads the schedule before the minute begins. If that was long before, it reads the
// schedule again.
func (a runCommand) runWorked(o runOptions) error {
	link, err := work.InheritLink()
	if err != nil {
		return usage("call `sched run` without --work", "%w", err)
	}
	minute, err := time.Parse(time.RFC3339, o.work)
	if err != nil {
		return usage("", "--work %q is not a time", o.work)
	}
	terminate, kill, _ := signals() // never released: after a tick this process ends
	noNewStarts := link.NoNewStarts(terminate)
	for {
		now := a.now()
		s, invalid, err := a.loadSchedule(o)
		if err != nil {
			return err
		}
		tick := a.tick(s, minute, o)
		tick.Began, tick.Work = now, link
		tick.Await()
		switch begun, late := work.Await(noNewStarts, minute); {
		case begun && !late:
			return a.runTick(tick, o, invalid, noNewStarts, terminate, kill)
		case !begun:
			tick.Leave()
			return nil
		}
		tick.Leave()
	}
}

// runTriggered starts what hooks have triggered. The next tick reports its problems.
func (a runCommand) runTriggered(o runOptions) error {
	endTurn, err := run.AwaitTriggered(os.Getenv(process.StateVariable))
	if err != nil {
		return usage("call `sched run` without --"+run.TriggeredFlag, "%w", err)
	}
	defer endTurn()
	terminate, kill, _ := signals() // never released: after a tick this process ends
	s, _, err := a.loadLastValid()
	if err == nil {
		err = checkState(s)
	}
	if err != nil {
		return err
	}
	answer := a.tick(s, a.now(), o)
	unread := func(state.Row) {}
	answer.Report = tick.Report{Started: unread, Done: unread, Problem: func(string, ...any) {}}
	answer.AnswerTriggered(terminate, kill)
	return nil
}

// nothingRuns prints the error of a tick that has no schedule, unless it was printed, and returns
// the exit of that tick. Each tick says in a line that nothing runs.
func (a runCommand) nothingRuns(err error, printed bool) error {
	code := exitUsage
	if !printed {
		code = a.exitCode(err)
	}
	_, is := errors.AsType[*load.InvalidError](err)
	if file, ferr := a.findConfig(); ferr == nil && is && !errors.Is(err, os.ErrNotExist) {
		a.problem("nothing runs until %s is valid", filepath.Base(file))
	}
	return &exit{code: code}
}

// loadSchedule loads the schedule of a tick, whose state folder is ours. If the schedule is
// invalid, loadSchedule prints why, the same text only once an hour. Then it returns the schedule
// that runs in its place, unless --strict is given, and in invalid the exit of the tick.
func (a runCommand) loadSchedule(o runOptions) (s *schedule.Schedule, invalid, err error) {
	var broken error
	if o.strict {
		s, err = a.load()
	} else {
		s, broken, err = a.loadLastValid()
	}
	note := a.printedNote(o, errors.Join(broken, err))
	printed := note.isRecent(a.now())
	switch {
	case err != nil:
		err = a.nothingRuns(err, printed)
	case broken != nil && !printed:
		a.exitCode(broken)
	}
	if !printed {
		note.write(a.now())
	}
	if err != nil {
		return nil, nil, err
	}
	if broken != nil && (!printed || s.Without != nil && !o.quiet) {
		a.problem("%s is invalid; running %s", filepath.Base(s.File), s.InPlace())
	}
	if broken == nil && len(s.Left) > 0 { // lines of a crontab
		broken = &load.InvalidError{Problems: s.Left, StateDir: s.StateDir}
		if o.strict {
			return nil, nil, broken
		}
		if note := a.printedNote(o, broken); !note.isRecent(a.now()) {
			a.exitCode(broken)
			lines := humanize.Count(len(s.Left), "line")
			a.problem("%s of %s cannot run; the others do", lines, filepath.Base(s.File))
			note.write(a.now())
		}
	}
	if err := checkState(s); err != nil {
		return nil, nil, err
	}
	if broken != nil {
		return s, &exit{code: exitUsage}, nil
	}
	if !o.dryRun {
		forgetPrinted(s)
	}
	return s, nil, nil
}

// mostAhead is how far ahead the minute of --at may be without --force: clocks differ.
const mostAhead = time.Minute

// minute returns the minute of the tick, from --at or from now. A future minute is usually a
// mistake: the tick would run its tasks now, and the tick that cron starts then would run them
// again.
func (a runCommand) minute(o runOptions, now time.Time, zone *time.Location) (time.Time, error) {
	if o.at == "" {
		return now.Truncate(time.Minute), nil
	}
	at, err := a.parseAt(o.at, zone)
	if err != nil {
		return at, err
	}
	minute := at.Truncate(time.Minute)
	if minute.Sub(now) > mostAhead && !o.force && !o.dryRun {
		return minute, usage("see what it would run with --dry-run; --force runs it now",
			"%s is yet to come: it is %s now", humanize.MinuteZone(minute, zone), humanize.MinuteZone(now, zone))
	}
	return minute, nil
}

// tick returns the tick of a minute. Its callbacks are for the caller to set.
func (a *app) tick(s *schedule.Schedule, minute time.Time, o runOptions) *tick.Tick {
	tick := &tick.Tick{
		Schedule: s, Minute: minute, Only: o.only, Replay: o.at != "",
		Storage: a.caller(s).Storage, Report: tick.Report{Problem: a.problem},
		Host: tick.Host{Server: serverName(s.Server), Version: Version, Self: self(), Environ: os.Environ()},
	}
	if o.verbose {
		tick.Report.Detail = a.problem
	}
	return tick
}

// runTick runs the tick, reports what it does, and returns the exit of sched. After noNewStarts is
// done nothing more may start. After terminate is done running tasks are to end, and after kill
// they are to end at once.
func (a runCommand) runTick(tick *tick.Tick, o runOptions, invalid error, noNewStarts, terminate, kill context.Context) error {
	o.logs = (o.logs || tick.Schedule.Logs) && tick.Work == nil // sched work prints the logs of its ticks
	onTerminal, restore := newTerminalReport(a.app, tick, o, terminate)
	defer restore()
	r := newReporter(a.app, tick, o, onTerminal)
	if o.logs {
		r.logs = a.newLogStream(r.width, o.json, nil)
	}
	tick.Report.Started, tick.Report.Flush, tick.Report.Done, tick.Report.Skipped = r.started, r.flush, r.done, r.skipped
	if onTerminal != nil || o.logs {
		tick.Report.Begun = r.begun
	}
	tick.Valid = invalid == nil
	tick.Parse = func(text []byte) (*schedule.Schedule, error) {
		return a.parseLastValid(text, tick.Schedule.File)
	}
	byPerson := a.noteEnvironment(tick)
	result := tick.Run(noNewStarts, terminate, kill)
	r.logs.close()
	r.end(result.Covered)
	if result.Covered {
		a.sayCovered(tick, o, byPerson)
	}
	a.writeMetrics(tick.Schedule, invalid != nil)
	switch {
	case terminate.Err() != nil:
		return &exit{exitStopped, fmt.Errorf("stopped %v", context.Cause(terminate)), ""}
	case invalid != nil:
		return invalid
	case result.Failed || result.SkippedUnknown:
		return &exit{code: exitFailed}
	}
	return nil
}

// writeMetrics writes the textfile that the schedule names, if any, with the time of now: the tick
// may have taken long.
func (a runCommand) writeMetrics(s *schedule.Schedule, invalid bool) {
	if s.Textfile == "" {
		return
	}
	if err := view.WriteTextfile(s.Textfile, view.HealthOf(s, invalid, a.now()).Metrics()); err != nil {
		a.problem("the metrics are not written: %v", err)
	}
}

// noteEnvironment writes down who called this tick and with which environment, before a task can
// take long. If a person called, or a minute or a task was asked for, it writes nothing and returns
// true.
func (a runCommand) noteEnvironment(tick *tick.Tick) (byPerson bool) {
	if tick.Replay || tick.Only != "" || terminal.Is(a.in) || a.stdout().IsTerminal() || a.stderr().IsTerminal() {
		return true
	}
	// A state folder that cannot be written is reported elsewhere, and does no harm to the tick.
	doctor.Keep(tick.Schedule.StateDir, doctor.Here(os.Environ(), localZone().String()), a.now())
	return false
}

// sayCovered says that another tick had the minute, and what to do. Unless a person called this
// tick, it writes down for `sched doctor` that two tick the schedule.
func (a runCommand) sayCovered(t *tick.Tick, o runOptions, byPerson bool) {
	if !byPerson {
		doctor.KeepDouble(t.Schedule.StateDir, t.Minute)
	}
	minute := humanize.SlotOfDayZone(t.Minute, t.Schedule.Location)
	if pid, works := work.Running(t.Schedule.StateDir); works && t.Work == nil {
		a.problem("%v", failed("`sched doctor` says who else calls sched run", "sched work (process %d) had %s already, and nothing starts twice", pid, minute))
	} else if t.Work != nil {
		a.problem("%v", failed("`sched doctor` says who else calls sched run", "another tick had %s already, and nothing starts twice; does cron call sched, too?", minute))
	} else if !o.quiet {
		hint := fmt.Sprintf("`sched test TASK` runs a task now, and `sched run --at %s` the minute once more", t.Minute.In(t.Schedule.Location).Format("15:04"))
		a.problem("%v", failed(hint, "%s was ticked already, and nothing starts twice", minute))
	}
}
