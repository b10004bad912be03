// Package report prints what a tick does: on a terminal, in a pipe, and as JSON.
package report

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/follow"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
	"sched/schedule/work"
)

// maxBuffered is how much of a report is buffered until it is written, in bytes.
const maxBuffered = 64 << 10

// A Reporter prints what a tick does: as text, as one JSON object, or in lines of JSON. Its methods
// foregroundBegun, backgroundStarted, flush, done and skipped are for tick.Report, whose callers
// may be several goroutines.
type Reporter struct {
	app      *app.App
	tick     *tick.Tick
	opts     Options
	terminal *terminalReport // nil if the report is not for a terminal; then most of its methods do nothing
	logs     *follow.Stream  // nil without --logs: its methods do nothing; never there with terminal

	mu        sync.Mutex
	nameWidth int    // of the longest name; at most MaxNameWidth
	reported  int    // how many lines the report has, also those that --quiet leaves out
	buffered  []byte // lines about background runs, for a pipe: they are written together
	tasks     []Run
}

// A Tick is what --json prints of a tick.
type Tick struct {
	Minute string `json:"minute"`
	Tasks  []Run  `json:"tasks"`
}

// A Run is what --json prints of a run or a slot of a tick.
type Run struct {
	Name       string   `json:"name"`
	Slot       string   `json:"slot"`
	Origin     string   `json:"origin,omitempty"`
	Run        string   `json:"run"`
	Background bool     `json:"background"`
	Outcome    string   `json:"outcome"` // "started" for what went to the background
	Reason     string   `json:"reason"`
	ExitCode   *int     `json:"exit_code"`
	Duration   float64  `json:"duration"` // seconds
	Notes      []string `json:"notes,omitempty"`
}

// Attach makes a tick report to a new Reporter. With --logs it begins to print what runs print.
// Until restore is called, all that the App prints goes around a live line. stopping is done when a
// signal has told sched to end.
func Attach(a *app.App, t *tick.Tick, o Options, stopping context.Context) (r *Reporter, restore func()) {
	onTerminal, restore := newTerminalReport(a, t, o, stopping)
	r = &Reporter{app: a, tick: t, opts: o, terminal: onTerminal, nameWidth: NameWidth(t.Schedule), tasks: []Run{}}
	if o.Logs {
		r.logs = follow.NewStream(&a.Console, t.Schedule.StateDir, t.Host.Environ, r.nameWidth, o.JSON, nil,
			func(task string) bool { return a.IsForeign(t.Schedule, task) })
	}
	t.Report.Started, t.Report.Flush = r.backgroundStarted, r.flush
	t.Report.Done, t.Report.Skipped = r.done, r.skipped
	if r.terminal != nil || r.logs != nil {
		t.Report.Begun = r.foregroundBegun
	}
	return r, restore
}

// Collect lets a tick collect the background runs that failed or were stopped, and prints them:
// with
// --json in one line, if there are any.
func Collect(a *app.App, t *tick.Tick, o Options) {
	r := &Reporter{app: a, tick: t, opts: o, nameWidth: NameWidth(t.Schedule)}
	t.Report.Started, t.Report.Done = r.backgroundStarted, r.done
	t.Collect()
	if len(r.tasks) > 0 {
		console.PrintJSONLine(a.Out, r.toJSON())
	}
}

func (r *Reporter) foregroundBegun(row state.Row) {
	r.logs.AddRun(row)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.terminal.showRunning(row)
}

// backgroundStarted reports a run that went to the background.
func (r *Reporter) backgroundStarted(row state.Row) {
	r.logs.AddRun(row)
	text := inBackground(row)
	if row.Attempt.Number > 0 { // a deferred retry: the next attempt
		text = fmt.Sprintf("attempt %d %s", row.Attempt.Number+1, text)
	}
	if row.Origin != "" {
		text += " (" + row.Origin + ")"
	}
	r.report(reportLine{row: row, text: text, isStart: true})
}

func (r *Reporter) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeBuffered()
}

func (r *Reporter) writeBuffered() {
	if len(r.buffered) > 0 {
		r.app.Out.Write(r.buffered)
		r.buffered = nil
	}
}

// done reports the end of a run, or a skipped slot.
func (r *Reporter) done(row state.Row) {
	r.report(reportLine{
		row:     row,
		text:    view.Describe(row),
		isWrong: row.Outcome.Failure() || len(row.Notes) > 0,
	})
}

// skipped reports slots of one task that were skipped together, in one line of text.
func (r *Reporter) skipped(rows []state.Row) {
	if r.opts.JSON {
		for _, row := range rows {
			r.done(row)
		}
		return
	}
	first := rows[0]
	if len(rows) > 1 {
		first.Reason += " (" + humanize.Count(len(rows), "slot") + ")"
	}
	r.done(first)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.terminal.count(string(first.Outcome), console.ToneOf(first.Result), len(rows)-1)
}

// report prints a line, or collects it for --json. --quiet leaves it out unless something is wrong.
func (r *Reporter) report(line reportLine) {
	row := line.row
	r.mu.Lock()
	defer r.mu.Unlock()
	if !line.isStart {
		r.logs.CatchUp(row.ID)
	}
	r.reported++
	r.terminal.hideIfShown(row)
	switch {
	case r.opts.JSON:
		r.tasks = append(r.tasks, line.toJSON())
	case !r.opts.Quiet || line.isWrong:
		r.print(line)
	}
}

// print prints a line of text, the notes of its run, and where its output is. Its caller holds mu.
func (r *Reporter) print(line reportLine) {
	row := line.row
	if r.terminal != nil {
		r.terminal.printRow(row)
	} else {
		r.buffer(line)
	}
	if !line.isStart || len(row.Notes) > 0 || len(r.buffered) >= maxBuffered {
		r.writeBuffered()
	}
	for _, note := range row.Notes {
		r.app.Warn("%s: %s", row.Task, note)
	}
	if row.Outcome.Failure() && row.Output != "" {
		hint := fmt.Sprintf("hint: sched logs%s %s", r.app.ConfigFlag(), humanize.ShortRun(row.ID))
		fmt.Fprintln(r.app.Err, r.app.Stderr().Paint(terminal.Faint, hint))
	}
}

// buffer adds a line of text for a reader that is no terminal.
func (r *Reporter) buffer(line reportLine) {
	text := line.text
	if r.opts.Verbose {
		text += " (run " + line.row.ID + ")"
	}
	slot := humanize.SlotOfDay(line.row.Slot, r.tick.Schedule.Location)
	if r.opts.SeveralDays { // several days
		slot = humanize.Slot(line.row.Slot, r.tick.Schedule.Location)
	}
	r.buffered = fmt.Appendf(r.buffered, "%s  %-*s  %s\n", slot, r.nameWidth, line.row.Task, text)
}

// End prints the JSON, that nothing was due, or the tallies, below the last logs. If another tick
// had covered the minute, nobody knows what was due.
func (r *Reporter) End(covered bool) {
	r.logs.Close()
	nothingWasDue := r.reported == 0 && !covered
	switch {
	case r.opts.JSON:
		r.endJSON()
	case nothingWasDue && (r.opts.Verbose || r.terminal != nil && !r.opts.Quiet):
		r.sayNothingDue()
	default:
		r.terminal.printTallies()
	}
}

// endJSON prints the object of the tick. Among other lines of JSON it is a line, which a tick of
// `sched work` prints only if something was due.
func (r *Reporter) endJSON() {
	switch {
	case r.logs == nil && r.tick.Work == nil:
		r.app.PrintJSON(r.toJSON())
	case r.logs != nil || len(r.tasks) > 0:
		console.PrintJSONLine(r.app.Out, r.toJSON())
	}
}

func (r *Reporter) toJSON() Tick {
	return Tick{Minute: r.tick.Minute.UTC().Format(time.RFC3339), Tasks: r.tasks}
}

// sayNothingDue prints that nothing was due, what comes next, and a pause of everything.
func (r *Reporter) sayNothingDue() {
	s, now := r.tick.Schedule, r.app.Now()
	text, next := nothingDue(s, r.tick.Minute, r.opts.Only)
	if r.opts.Only != "" && next.IsZero() {
		text += fmt.Sprintf("; `sched test%s %s` runs it now", r.app.ConfigFlag(), r.opts.Only)
	}
	if r.terminal != nil && next.After(now) {
		text += " (in " + humanize.Duration(next.Sub(now)) + ")"
	}
	if paused := view.EverythingPaused(s, r.app.View(s).Pauses(), now); paused != nil {
		text += "; everything is " + paused.Raw.Text(now, s.Location)
	}
	fmt.Fprintln(r.app.Out, text)
}

// SayCovered says that another tick had the minute, and what to do.
func (r *Reporter) SayCovered() {
	a, t, zone := r.app, r.tick, r.tick.Schedule.Location
	flag := a.ConfigFlag()
	doctorHint := "`sched doctor" + flag + "` says who else calls sched run"
	minute := humanize.SlotOfDayZone(t.Minute, zone)
	pid, works := work.Running(t.Schedule.StateDir)
	switch {
	case t.Work != nil:
		a.WarnWithHint(doctorHint,
			"another tick had %s already, and nothing starts twice; does cron call sched, too?", minute)
	case works:
		a.WarnWithHint(doctorHint,
			"sched work (process %d) had %s already, and nothing starts twice", pid, minute)
	case !r.opts.Quiet:
		hint := fmt.Sprintf("`sched test%[1]s TASK` runs a task now, and `sched run%[1]s --at %[2]s` "+
			"the minute once more", flag, t.Minute.In(zone).Format("15:04"))
		a.WarnWithHint(hint, "%s was ticked already, and nothing starts twice", minute)
	}
}

// A reportLine is what the report says about one run or slot.
type reportLine struct {
	row     state.Row
	text    string // for a report that is not for a terminal
	isStart bool   // the run went to the background
	isWrong bool   // --quiet prints the line, too
}

func (line reportLine) toJSON() Run {
	row := line.row
	word := string(row.Outcome)
	if line.isStart {
		word = "started"
	}
	return Run{
		Name:       row.Task,
		Slot:       row.Slot.UTC().Format(time.RFC3339),
		Origin:     row.Origin,
		Run:        row.ID,
		Background: row.Background,
		Outcome:    word,
		Reason:     row.Reason,
		ExitCode:   row.ExitCode,
		Duration:   row.Duration().Seconds(),
		Notes:      row.Notes,
	}
}

// nothingDue says that nothing is due in the minute, and what comes next. next is the time at which
// that comes; it is zero if nothing comes. If only is not empty, the text is about that task alone.
func nothingDue(s *schedule.Schedule, minute time.Time, only string) (text string, next time.Time) {
	text = "nothing is due at " + humanize.SlotOfDay(minute, s.Location)
	var name string
	for _, t := range s.Tasks {
		if only != "" && t.Name != only {
			continue
		}
		if !s.Active(t) && only != "" {
			return only + " is " + s.Inactive(t), next
		}
		if slot, ok := t.NextRun(minute); ok && s.Active(t) && (next.IsZero() || slot.Before(next)) {
			next, name = slot, t.Name
		}
	}
	if name == "" {
		return text, next
	}
	return fmt.Sprintf("%s; next is %s at %s", text, name, humanize.MinuteZone(next, s.Location)), next
}
