package run

import (
	"context"
	"fmt"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/report"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/statedir"
	"sched/schedule/tick"
	"sched/schedule/ticknote"
	"sched/schedule/view"
	"sched/schedule/work"
)

// tickStops are the stages in which a tick is stopped. Each context is done when its stage begins.
type tickStops struct {
	noNewStarts context.Context // nothing more may start
	terminate   context.Context // running tasks are to end
	kill        context.Context // running tasks are to end at once
}

// stopsBySignals returns stops that begin with the first and with the second signal. The signals
// are never released, because this process ends after its ticks.
func stopsBySignals() tickStops {
	terminate, kill, _ := app.CatchSignals()
	return tickStops{noNewStarts: terminate, terminate: terminate, kill: kill}
}

// newTick returns the tick of a minute that the flags ask for. The caller sets what reports on
// runs.
func newTick(a *app.App, s *schedule.Schedule, minute time.Time, o options) *tick.Tick {
	t := a.Tick(s, minute)
	t.Only, t.Replay = o.Only, o.at != ""
	if o.Verbose {
		t.Report.Detail = a.Warn
	}
	return t
}

// runTick runs the tick, reports what it does, and returns the exit of sched. invalidExit is the
// exit of a tick that runs although the file is not all valid; else nil.
func runTick(a *app.App, t *tick.Tick, o options, invalidExit error, stops tickStops) error {
	process.AdoptOrphans()
	o.Logs = (o.Logs || t.Schedule.Logs) && t.Work == nil // sched work prints the logs of its ticks
	r, restore := report.Attach(a, t, o.Options, stops.terminate)
	defer restore()
	t.Valid = invalidExit == nil || t.Schedule.Lacking
	// A person called this tick, or asked for its minute or its task.
	byPerson := t.Replay || t.Only != "" || terminal.Is(a.In) || a.Stdout().IsTerminal() || a.Stderr().IsTerminal()
	if !byPerson {
		// The note is written before a task can take long. A folder that cannot be written does no
		// harm to the tick.
		ticknote.Keep(t.Schedule.StateDir, a.OwnEnvironment(), a.Now())
	}
	t.Report.Apart = byPerson && t.Work == nil && ticksCome(t.Schedule, a.Now())
	result := t.Run(stops.noNewStarts, stops.terminate, stops.kill)
	if !t.Replay && t.Only == "" {
		statedir.ForgetUnloaded(t.Schedule.StateDir)
	}
	sharesFolder := result.CoveredBy != "" && result.CoveredBy != t.Schedule.File &&
		!app.SamePath(result.CoveredBy, t.Schedule.File)
	r.End(result.Covered)
	if result.Covered && !sharesFolder {
		r.SayCovered()
	}
	if result.Covered && !byPerson {
		ticknote.KeepDouble(t.Schedule.StateDir, t.Minute) // two callers tick the schedule
	}
	writeMetrics(a, t, invalidExit != nil)
	if text, hint := app.ZoneProblem(t.Schedule); text != "" {
		t.Report.Hourly(t.Storage.Dir, "zone-variable", "%s; %s", text, hint)
	}
	switch {
	case stops.terminate.Err() != nil:
		return &exit.Error{Code: exit.Stopped, Err: fmt.Errorf("stopped %v", context.Cause(stops.terminate))}
	case sharesFolder:
		return exit.Usage("give each schedule a `state_dir` of its own",
			"nothing starts: %s has the same state folder, and had %s already", result.CoveredBy, humanize.SlotOfDayZone(t.Minute, t.Schedule.Location))
	case invalidExit != nil:
		return invalidExit
	case result.Failed || result.SkippedUnknown || o.isSpan() && result.SkippedHeld:
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

// ticksCome reports whether cron or `sched work` ticks the schedule at this time: then what is
// reported once is for the mail of cron, or for the log of `sched work`.
func ticksCome(s *schedule.Schedule, now time.Time) bool {
	_, byCron := ticknote.Read(s.StateDir)
	_, byWork := work.Running(s.StateDir)
	last, err := view.LastTick(s.StateDir)
	return err == nil && (byCron || byWork) && !last.IsZero() && view.TicksMissing(s.StateDir, last, now) == ""
}

// writeMetrics writes the textfile that the schedule names, if any, with the time of now: the tick
// may have taken long.
func writeMetrics(a *app.App, t *tick.Tick, invalid bool) {
	s := t.Schedule
	if s.Textfile == "" {
		return
	}
	if rival := view.RivalTextfile(s); rival != "" {
		t.Report.Hourly(t.Storage.Dir, "metrics", "the metrics are hidden: %s has a schedule of the same name, %s, "+
			"and the node exporter shows one of the two", rival, s.Name)
	}
	if err := view.WriteTextfile(s.Textfile, view.Metrics(view.HealthOf(s, invalid, a.Now()))); err != nil {
		a.Warn("the metrics are not written: %v", err)
	}
}
