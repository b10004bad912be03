package cmd

import (
	"fmt"
	"sync"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
	"sched/schedule/work"

	"github.com/spf13/pflag"
)

// maxNameWidth is how wide the column of the names may become in a report.
const maxNameWidth = 40

// maxBuffered is how much of a report is buffered until it is written, in bytes.
const maxBuffered = 64 << 10

// reportOptions say what a report of ticks has, and in which form.
type reportOptions struct {
	json        bool
	quiet       bool
	verbose     bool
	logs        bool
	only        string // the only task that the ticks run; empty for all
	severalDays bool   // the slots are of several days
}

func (o *reportOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only what went wrong")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more: what each run is called, and when nothing was due")
}

// check refuses flags that do not go together.
func (o reportOptions) check() error {
	if o.quiet && o.verbose {
		return usage("", "--quiet and --verbose exclude each other")
	}
	return nil
}

// A reporter prints what a tick does: as text, as one JSON object, or in lines of JSON. Its methods
// foregroundBegun, backgroundStarted, flush, done and skipped are for tick.Report, whose callers
// may be several goroutines.
type reporter struct {
	app      *app
	tick     *tick.Tick
	opts     reportOptions
	terminal *terminalReport // nil if the report is not for a terminal; then most of its methods do nothing
	logs     *logStream      // nil without --logs: its methods do nothing; never there with terminal

	mu        sync.Mutex
	nameWidth int    // of the longest name; at most maxNameWidth
	reported  int    // how many lines the report has, also those that --quiet leaves out
	buffered  []byte // lines about background runs, for a pipe: they are written together
	tasks     []runJSON
}

type tickJSON struct {
	Minute string    `json:"minute"`
	Tasks  []runJSON `json:"tasks"`
}

type runJSON struct {
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

func newReporter(a *app, t *tick.Tick, o reportOptions, onTerminal *terminalReport) *reporter {
	r := &reporter{app: a, tick: t, opts: o, terminal: onTerminal, tasks: []runJSON{}}
	for _, task := range t.Schedule.Tasks {
		r.nameWidth = min(max(r.nameWidth, len(task.Name)), maxNameWidth)
	}
	return r
}

// attach makes the tick report to r. With --logs it begins to print what runs print.
func (r *reporter) attach() {
	if r.opts.logs {
		r.logs = newLogStream(&r.app.console, r.tick.Schedule.StateDir, r.nameWidth, r.opts.json, nil,
			func(task string) bool { return r.app.isForeign(r.tick.Schedule, task) })
	}
	report := &r.tick.Report
	report.Started, report.Flush = r.backgroundStarted, r.flush
	report.Done, report.Skipped = r.done, r.skipped
	if r.terminal != nil || r.logs != nil {
		report.Begun = r.foregroundBegun
	}
}

// foregroundBegun shows that a foreground run goes on.
func (r *reporter) foregroundBegun(row state.Row) {
	r.logs.addRun(row)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.terminal.showRunning(row)
}

// backgroundStarted reports a run that went to the background.
func (r *reporter) backgroundStarted(row state.Row) {
	r.logs.addRun(row)
	text := inBackground(row)
	if row.Attempt.Number > 0 { // a deferred retry: the next attempt
		text = fmt.Sprintf("attempt %d %s", row.Attempt.Number+1, text)
	}
	if row.Origin != "" {
		text += " (" + row.Origin + ")"
	}
	r.report(reportLine{row: row, text: text, isStart: true})
}

// flush writes what backgroundStarted has buffered.
func (r *reporter) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeBuffered()
}

// writeBuffered writes the buffered lines. Its caller holds mu.
func (r *reporter) writeBuffered() {
	if len(r.buffered) > 0 {
		r.app.out.Write(r.buffered)
		r.buffered = nil
	}
}

// inBackground says of a run that it started in the background, or waits there.
func inBackground(row state.Row) string {
	if wait := row.Wait; !wait.Until.IsZero() {
		return "waits in the background, " + humanize.Duration(wait.Until.Sub(wait.Since)) + " at most"
	}
	return "started in the background"
}

// done reports the end of a run, or a skipped slot.
func (r *reporter) done(row state.Row) {
	r.report(reportLine{
		row:     row,
		text:    view.Describe(row),
		isWrong: row.Outcome.Failure() || len(row.Notes) > 0,
	})
}

// skipped reports slots of one task that were skipped together, in one line of text.
func (r *reporter) skipped(rows []state.Row) {
	if r.opts.json {
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
	r.terminal.count(string(first.Outcome), toneOf(first.Result), len(rows)-1)
}

// A reportLine is what the report says about one run or slot.
type reportLine struct {
	row     state.Row
	text    string // for a report that is not for a terminal
	isStart bool   // the run went to the background
	isWrong bool   // --quiet prints the line, too
}

// report prints a line, or collects it for --json. --quiet leaves it out unless something is wrong.
func (r *reporter) report(line reportLine) {
	row := line.row
	r.mu.Lock()
	defer r.mu.Unlock()
	if !line.isStart {
		r.logs.catchUp(row.ID)
	}
	r.reported++
	r.terminal.hideIfShown(row)
	switch {
	case r.opts.json:
		r.tasks = append(r.tasks, line.toJSON())
	case !r.opts.quiet || line.isWrong:
		r.print(line)
	}
}

// print prints a line of text, the notes of its run, and where its output is. Its caller holds mu.
func (r *reporter) print(line reportLine) {
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
		r.app.warn("%s: %s", row.Task, note)
	}
	if row.Outcome.Failure() && row.Output != "" {
		hint := fmt.Sprintf("hint: sched logs%s %s", r.app.configFlag(), humanize.ShortRun(row.ID))
		fmt.Fprintln(r.app.err, r.app.stderr().Paint(terminal.Faint, hint))
	}
}

func (line reportLine) toJSON() runJSON {
	row := line.row
	word := string(row.Outcome)
	if line.isStart {
		word = "started"
	}
	return runJSON{
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

// buffer adds a line of text for a reader that is no terminal.
func (r *reporter) buffer(line reportLine) {
	text := line.text
	if r.opts.verbose {
		text += " (run " + line.row.ID + ")"
	}
	slot := humanize.SlotOfDay(line.row.Slot, r.tick.Schedule.Location)
	if r.opts.severalDays { // several days
		slot = humanize.Slot(line.row.Slot, r.tick.Schedule.Location)
	}
	r.buffered = fmt.Appendf(r.buffered, "%s  %-*s  %s\n", slot, r.nameWidth, line.row.Task, text)
}

// end prints the JSON, that nothing was due, or the tallies, below the last logs. If another tick
// had covered the minute, nobody knows what was due.
func (r *reporter) end(covered bool) {
	r.logs.close()
	nothingWasDue := r.reported == 0 && !covered
	switch {
	case r.opts.json:
		r.endJSON()
	case nothingWasDue && (r.opts.verbose || r.terminal != nil && !r.opts.quiet):
		r.sayNothingDue()
	default:
		r.terminal.printTallies()
	}
}

// endJSON prints the object of the tick. Among other lines of JSON it is a line, which a tick of
// `sched work` prints only if something was due.
func (r *reporter) endJSON() {
	switch {
	case r.logs == nil && r.tick.Work == nil:
		r.app.printJSON(r.toJSON())
	case r.logs != nil || len(r.tasks) > 0:
		printJSONLine(r.app.out, r.toJSON())
	}
}

func (r *reporter) toJSON() tickJSON {
	return tickJSON{Minute: r.tick.Minute.UTC().Format(time.RFC3339), Tasks: r.tasks}
}

// sayNothingDue prints that nothing was due, what comes next, and a pause of everything.
func (r *reporter) sayNothingDue() {
	s, now := r.tick.Schedule, r.app.now()
	text, next := nothingDue(s, r.tick.Minute, r.opts.only)
	if r.terminal != nil && next.After(now) {
		text += " (in " + humanize.Duration(next.Sub(now)) + ")"
	}
	if paused := view.EverythingPaused(s, r.app.view(s).Pauses(), now); paused != nil {
		text += "; everything is " + paused.Raw.Text(now, s.Location)
	}
	fmt.Fprintln(r.app.out, text)
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

// sayCovered says that another tick had the minute, and what to do.
func (r *reporter) sayCovered() {
	a, t, zone := r.app, r.tick, r.tick.Schedule.Location
	flag := a.configFlag()
	doctorHint := "`sched doctor" + flag + "` says who else calls sched run"
	minute := humanize.SlotOfDayZone(t.Minute, zone)
	pid, works := work.Running(t.Schedule.StateDir)
	switch {
	case t.Work != nil:
		a.warnWithHint(doctorHint,
			"another tick had %s already, and nothing starts twice; does cron call sched, too?", minute)
	case works:
		a.warnWithHint(doctorHint,
			"sched work (process %d) had %s already, and nothing starts twice", pid, minute)
	case !r.opts.quiet:
		hint := fmt.Sprintf("`sched test%[1]s TASK` runs a task now, and `sched run%[1]s --at %[2]s` "+
			"the minute once more", flag, t.Minute.In(zone).Format("15:04"))
		a.warnWithHint(hint, "%s was ticked already, and nothing starts twice", minute)
	}
}
