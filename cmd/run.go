package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/doctor"
	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/statedir"
	"sched/schedule/tick"
	"sched/schedule/view"
	"sched/schedule/work"
)

type runOptions struct {
	reportOptions
	at         string
	force      bool
	from       string // the begin of a span of slots
	to         string // the end of the span
	yes        bool   // run a span without a question
	dryRun     bool
	strict     bool
	workMinute string // the minute of a tick that `sched work` started; else empty

	triggered bool // answer what hooks have triggered, and no more
}

// An onlyTask is the flag --only. A second one would silently take the place of the first.
type onlyTask string

func (t *onlyTask) String() string { return string(*t) }
func (t *onlyTask) Type() string   { return "string" }

func (t *onlyTask) Set(name string) error {
	if *t != "" {
		return errors.New("it may be given once")
	}
	*t = onlyTask(name)
	return nil
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
		Args: noArguments("`sched test TASK` runs one task now; -c FILE names another schedule"),
		RunE: func(*cobra.Command, []string) error { return runCommand{a}.run(o) },
	}
	f := c.Flags()
	f.StringVar(&o.at, "at", "", "run the tick of this minute instead: "+timeForms)
	f.BoolVar(&o.force, "force", false, "with --at, also a minute that is yet to come: its tasks run now")
	f.Var((*onlyTask)(&o.only), "only", "leave every task but this one alone")
	f.StringVar(&o.from, "from", "",
		"with --to and --only, run each slot of the task from this time on, one after another")
	f.StringVar(&o.to, "to", "", "up to this time, which is not in the span")
	f.BoolVarP(&o.yes, "yes", "y", false, "with --from, do not ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would run, and do nothing")
	f.BoolVar(&o.json, "json", false, "print one JSON object; with --logs a line for each, the lines of tasks first")
	f.BoolVar(&o.logs, "logs", false,
		"print also what tasks print, each line with the task in front, while the tick is there")
	o.addFlags(f)
	f.BoolVar(&o.strict, "strict", false, "let nothing pass: run nothing if the schedule is invalid")
	f.StringVar(&o.workMinute, "work", "", "")
	f.MarkHidden("work")
	f.BoolVar(&o.triggered, run.TriggeredFlag, false, "")
	f.MarkHidden(run.TriggeredFlag)
	return c
}

// isSpan reports whether the flags name a span of slots.
func (o runOptions) isSpan() bool { return o.from != "" || o.to != "" }

// check refuses flags that do not go together.
func (o runOptions) check() error {
	if err := o.reportOptions.check(); err != nil {
		return err
	}
	if o.isSpan() && (o.from == "" || o.to == "" || o.only == "" || o.at != "") {
		return usage(`sched run --only TASK --from "2026-01-05 00:00" --to "2026-01-06 00:00"`,
			"--from needs --to and --only, and excludes --at")
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
	o.severalDays = o.isSpan()
	// The heap of 10,000 tasks is 40 MB, all of it in use. The first look for garbage is at 64 MB.
	debug.SetGCPercent(1600)
	if !o.dryRun {
		a.surviveReaders()
		a.startPrinters()
	}
	switch {
	case o.workMinute != "":
		return a.runForWork(o)
	case o.triggered:
		return a.runTriggered(o)
	case o.isSpan():
		return a.runSpan(o)
	}
	t, invalidExit, err := a.loadTick(o, now)
	if err != nil {
		if o.json {
			minute := now.UTC().Truncate(time.Minute).Format(time.RFC3339)
			a.printJSON(tickJSON{Minute: minute, Tasks: []runJSON{}})
		}
		return err
	}
	if o.dryRun {
		a.printPreview(t, o)
		if o.at == "" && o.only == "" {
			a.completePreview(t)
		}
		return invalidExit
	}
	if o.only != "" && o.at == "" && terminal.Is(a.err) {
		a.warnOfRepetition(t)
	}
	return a.runTick(t, o, invalidExit, stopsBySignals())
}

// warnOfRepetition says that a tick of the same minute has come already, if one has.
func (a runCommand) warnOfRepetition(t *tick.Tick) {
	if last, _ := view.LastTick(t.Storage.Dir); last.Equal(t.Minute) {
		a.warn("a tick of %s has come already; what is due starts once more",
			humanize.SlotOfDayZone(t.Minute, t.Schedule.Location))
	}
}

// runTriggered starts what hooks have triggered. The next tick reports its problems.
func (a runCommand) runTriggered(o runOptions) error {
	endTurn, err := run.AwaitTriggered(os.Getenv(process.StateVariable))
	if err != nil {
		return usage("call `sched run` without --"+run.TriggeredFlag, "%w", err)
	}
	defer endTurn()
	stops := stopsBySignals()
	s, _, err := a.loadLastValid()
	if err == nil {
		err = checkState(s)
	}
	if err != nil {
		return err
	}
	answer := a.newTick(s, a.now(), o)
	answer.Report = tick.Report{Started: func(state.Row) {}, Problem: func(string, ...any) {}}
	answer.AnswerTriggered(stops.terminate, stops.kill)
	return nil
}

// runForWork is a tick that `sched work` started for the minute of --work, usually a second before
// it. It reads the schedule and waits for the minute. If the wait took too long because the clock
// was set back, it reads the schedule again.
func (a runCommand) runForWork(o runOptions) error {
	link, err := work.InheritLink()
	if err != nil {
		return usage("call `sched run` without --work", "%w", err)
	}
	minute, err := time.Parse(time.RFC3339, o.workMinute)
	if err != nil {
		return usage("", "--work %q is not a time", o.workMinute)
	}
	stops := stopsBySignals()
	stops.noNewStarts = link.NoNewStarts(stops.terminate)
	for {
		now := a.now()
		s, invalidExit, err := a.loadForTick(o)
		if err != nil {
			return err
		}
		t := a.newTick(s, minute, o)
		t.Began, t.Work = now, link
		t.StartAhead()
		reached, stale := work.Await(stops.noNewStarts, minute)
		if reached && !stale {
			return a.runTick(t, o, invalidExit, stops)
		}
		t.Withdraw()
		if !reached {
			return nil
		}
		a.connections = connections{} // the schedule may name another store and state folder now
	}
}

// runTick runs the tick, reports what it does, and returns the exit of sched. invalidExit is the
// exit of a tick that runs although the file is not all valid; else nil.
func (a runCommand) runTick(t *tick.Tick, o runOptions, invalidExit error, stops tickStops) error {
	process.AdoptOrphans()
	o.logs = (o.logs || t.Schedule.Logs) && t.Work == nil // sched work prints the logs of its ticks
	onTerminal, restore := newTerminalReport(a.app, t, o.reportOptions, stops.terminate)
	defer restore()
	r := newReporter(a.app, t, o.reportOptions, onTerminal)
	r.attach()
	t.Valid = invalidExit == nil || t.Schedule.Lacking
	t.Parse = func(text []byte) (*schedule.Schedule, error) {
		return a.parseLastValid(text, t.Schedule.File)
	}
	byPerson := a.isByPerson(t)
	if !byPerson {
		// The note is written before a task can take long. A folder that cannot be written does no
		// harm to the tick.
		doctor.KeepNote(t.Schedule.StateDir, ownEnvironment(), a.now())
	}
	result := t.Run(stops.noNewStarts, stops.terminate, stops.kill)
	if !t.Replay && t.Only == "" {
		statedir.ForgetUnloaded(t.Schedule.StateDir)
	}
	sharesFolder := result.CoveredBy != "" && result.CoveredBy != t.Schedule.File &&
		!samePath(result.CoveredBy, t.Schedule.File)
	r.end(result.Covered)
	if result.Covered && !sharesFolder {
		r.sayCovered()
	}
	if result.Covered && !byPerson {
		doctor.NoteDoubleTick(t.Schedule.StateDir, t.Minute) // two callers tick the schedule
	}
	a.writeMetrics(t, invalidExit != nil)
	if text, hint := zoneProblem(t.Schedule); text != "" {
		t.ProblemHourly("zone-variable", "%s; %s", text, hint)
	}
	switch {
	case stops.terminate.Err() != nil:
		return &exit{code: exitStopped, err: fmt.Errorf("stopped %v", context.Cause(stops.terminate))}
	case sharesFolder:
		return usage("give each schedule a `state_dir` of its own", "nothing starts: %s has the same state folder, "+
			"and had %s already", result.CoveredBy, humanize.SlotOfDayZone(t.Minute, t.Schedule.Location))
	case invalidExit != nil:
		return invalidExit
	case result.Failed || result.SkippedUnknown || o.isSpan() && result.SkippedHeld:
		return &exit{code: exitFailed}
	}
	return nil
}

// isByPerson reports whether a person called this tick, or asked for its minute or its task.
func (a runCommand) isByPerson(t *tick.Tick) bool {
	onTerminal := terminal.Is(a.in) || a.stdout().IsTerminal() || a.stderr().IsTerminal()
	return t.Replay || t.Only != "" || onTerminal
}

// writeMetrics writes the textfile that the schedule names, if any, with the time of now: the tick
// may have taken long.
func (a runCommand) writeMetrics(t *tick.Tick, invalid bool) {
	s := t.Schedule
	if s.Textfile == "" {
		return
	}
	if rival := view.RivalTextfile(s); rival != "" {
		t.ProblemHourly("metrics", "the metrics are hidden: %s has a schedule of the same name, %s, "+
			"and the node exporter shows one of the two", rival, s.Name)
	}
	if err := view.WriteTextfile(s.Textfile, view.HealthOf(s, invalid, a.now()).Metrics()); err != nil {
		a.warn("the metrics are not written: %v", err)
	}
}

type previewJSON struct {
	Minute string            `json:"minute"`
	Tasks  []previewTaskJSON `json:"tasks"`
}

type previewTaskJSON struct {
	Name       string   `json:"name"`
	Slots      []string `json:"slots"`
	Background bool     `json:"background"`
	Would      string   `json:"would"`  // run or skip
	Reason     string   `json:"reason"` // why it would be skipped, or may wait
}

// previewOf returns what the tick would do.
func previewOf(t *tick.Tick) previewJSON {
	preview := previewJSON{Minute: t.Minute.UTC().Format(time.RFC3339), Tasks: []previewTaskJSON{}}
	for _, p := range t.DryRun() {
		task := previewTaskJSON{Name: p.Task.Name, Background: p.Task.Background}
		if p.Reason != "" {
			task.Would, task.Reason = "skip", p.Reason
		} else {
			task.Would, task.Reason = "run", cmp.Or(p.Waits, view.ConditionCommands(p.Task))
		}
		for _, slot := range p.Slots {
			task.Slots = append(task.Slots, slot.UTC().Format(time.RFC3339))
		}
		preview.Tasks = append(preview.Tasks, task)
	}
	return preview
}

// printPreview prints what the tick would do, for people or as JSON.
func (a runCommand) printPreview(t *tick.Tick, o runOptions) {
	preview := previewOf(t)
	if o.json {
		a.printJSON(preview)
		return
	}
	minute := humanize.MinuteZone(t.Minute, t.Schedule.Location)
	if len(preview.Tasks) == 0 {
		fmt.Fprintf(a.out, "nothing is due at %s\n", minute)
		return
	}
	fmt.Fprintf(a.out, "at %s:\n", minute)
	out := a.stdout()
	table := out.Table()
	defer table.Flush()
	for _, task := range preview.Tasks {
		text, tone := "would run", terminal.Good
		if task.Background {
			text, tone = "would run in the background", terminal.Active
		}
		switch {
		case task.Would == "skip":
			text, tone = "would be skipped: "+task.Reason, terminal.Caution
		case task.Reason != "":
			text += "; " + task.Reason
		}
		if len(task.Slots) > 1 {
			text += fmt.Sprintf(" (%d times in this minute)", len(task.Slots))
		}
		table.Row(task.Name, out.Paint(tone, text))
	}
}

// completePreview says what the preview leaves out: that a tick has had this minute already, or
// which tasks may run slots between the last tick and this one. Only a tick reads which of those
// slots have an outcome.
func (a runCommand) completePreview(t *tick.Tick) {
	last, err := view.LastTick(t.Storage.Dir)
	if err != nil || last.IsZero() {
		return
	}
	if last.Equal(t.Minute) {
		a.warn("%s was ticked already, and nothing starts twice",
			humanize.SlotOfDayZone(last, t.Schedule.Location))
	}
	var names []string
	for task := range t.Schedule.ActiveTasks() {
		from := humanize.Later(last.Add(time.Minute), t.Minute.Add(-task.MissedWithin))
		slot, ok := task.When.Next(from.Add(-time.Second))
		if ok && slot.Before(t.Minute) && task.RunMissed {
			names = append(names, task.Name)
		}
	}
	if len(names) > 0 {
		a.warn("no tick came since %s, so slots that were missed may run, too, of %s",
			humanize.MinuteZone(last, t.Schedule.Location), humanize.Names(names, 5))
	}
}
