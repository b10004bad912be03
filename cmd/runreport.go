package cmd

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// longestName is how wide the column of the names may become in a report.
const longestName = 40

// mostBuffered is how much of a report is buffered until it is written, in bytes.
const mostBuffered = 64 << 10

type reporter struct {
	app      *app
	tick     *tick.Tick
	opts     runOptions
	terminal *terminalReport // nil if the report is not for a terminal
	logs     *logStream      // nil without --logs

	mu       sync.Mutex
	width    int // of the longest name
	lines    int
	buffered []byte // lines about background runs, for a pipe: they are written together
	tasks    []runJSON
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

func newReporter(a *app, tick *tick.Tick, o runOptions, onTerminal *terminalReport) *reporter {
	r := &reporter{app: a, tick: tick, opts: o, terminal: onTerminal, tasks: []runJSON{}}
	for _, t := range tick.Schedule.Tasks {
		r.width = max(r.width, len(t.Name))
	}
	r.width = min(r.width, longestName)
	return r
}

func (r *reporter) begun(row state.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logs != nil {
		r.logs.follower.Add(row)
	} else {
		r.terminal.running(row)
	}
}

func (r *reporter) started(row state.Row) {
	if r.logs != nil {
		r.logs.follower.Add(row)
	}
	words := inBackground(row)
	if row.Attempt.Number > 0 { // a deferred retry: the next attempt
		words = fmt.Sprintf("attempt %d %s", row.Attempt.Number+1, words)
	}
	if row.Origin != "" {
		words += " (" + row.Origin + ")"
	}
	r.line(row, "started", words, false)
}

func (r *reporter) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeKept()
}

func (r *reporter) writeKept() {
	if len(r.buffered) > 0 {
		r.app.out.Write(r.buffered)
		r.buffered = nil
	}
}

func inBackground(row state.Row) string {
	if wait := row.Wait; !wait.Until.IsZero() {
		return "waits in the background, " + humanize.Duration(wait.Until.Sub(wait.Since)) + " at most"
	}
	return "started in the background"
}

func (r *reporter) done(row state.Row) {
	r.line(row, string(row.Outcome), view.Describe(row), row.Outcome.Failure() || len(row.Notes) > 0)
}

func (r *reporter) skipped(rows []state.Row) {
	first := rows[0]
	if r.opts.json {
		for _, row := range rows {
			r.done(row)
		}
		return
	}
	if len(rows) > 1 {
		first.Reason += " (" + humanize.Count(len(rows), "slot") + ")"
	}
	r.done(first)
	if r.terminal != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.terminal.count(string(first.Outcome), toneOf(first.Result), len(rows)-1)
	}
}

func (r *reporter) line(row state.Row, outcome, words string, wrong bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if outcome != "started" {
		r.logs.catchUp(row.ID)
	}
	r.lines++
	if r.terminal != nil {
		r.terminal.ended(row)
	}
	if r.opts.json {
		r.tasks = append(r.tasks, runJSON{
			row.Task, row.Slot.UTC().Format(time.RFC3339), row.Origin, row.ID, row.Background,
			outcome, row.Reason, row.ExitCode, row.Duration().Seconds(), row.Notes,
		})
		return
	}
	if r.opts.quiet && !wrong {
		return
	}
	if r.terminal != nil {
		r.terminal.line(row)
	} else {
		r.plain(row, words)
	}
	if outcome != "started" || len(row.Notes) > 0 || len(r.buffered) >= mostBuffered {
		r.writeKept()
	}
	for _, note := range row.Notes {
		r.app.problem("%s: %s", row.Task, note)
	}
	if row.Outcome.Failure() && row.Output != "" {
		fmt.Fprintln(r.app.err, r.app.stderr().Paint(terminal.Faint, fmt.Sprintf("hint: sched logs%s %s", r.app.configFlag(), humanize.ShortRun(row.ID))))
	}
}

func (r *reporter) plain(row state.Row, words string) {
	if r.opts.verbose {
		words += " (run " + row.ID + ")"
	}
	clock := humanize.SlotOfDay(row.Slot, r.tick.Schedule.Location)
	if r.opts.from != "" { // several days
		clock = humanize.Slot(row.Slot, r.tick.Schedule.Location)
	}
	r.buffered = fmt.Appendf(r.buffered, "%s  %-*s  %s\n", clock, r.width, row.Task, words)
}

// end prints the JSON, that nothing was due, or the sums. If another tick had covered the minute,
// nobody knows what was due.
func (r *reporter) end(covered bool) {
	switch {
	case r.opts.json && (r.logs != nil || r.tick.Work != nil):
		if r.logs != nil || len(r.tasks) > 0 {
			r.printJSONLine()
		}
	case r.opts.json:
		r.app.printJSON(tickJSON{r.tick.Minute.UTC().Format(time.RFC3339), r.tasks})
	case r.lines == 0 && !covered && (r.opts.verbose || r.terminal != nil && !r.opts.quiet):
		words, next := nothingDue(r.tick.Schedule, r.tick.Minute, r.opts.only)
		if now := r.app.now(); r.terminal != nil && next.After(now) {
			words += " (in " + humanize.Duration(next.Sub(now)) + ")"
		}
		if all := view.EverythingPaused(r.tick.Schedule, r.app.view(r.tick.Schedule).Pauses(), r.app.now()); all != nil {
			words += "; everything is " + all.Raw.Text(r.app.now(), r.tick.Schedule.Location)
		}
		fmt.Fprintln(r.app.out, words)
	case r.terminal != nil:
		r.terminal.end()
	}
}

func (r *reporter) printJSONLine() {
	printJSONLine(r.app.out, tickJSON{r.tick.Minute.UTC().Format(time.RFC3339), r.tasks})
}

// nothingDue also returns what will be next, at first; only limits it to one task.
func nothingDue(s *schedule.Schedule, minute time.Time, only string) (words string, first time.Time) {
	words = "nothing is due at " + humanize.SlotOfDay(minute, s.Location)
	var name string
	for _, t := range s.Tasks {
		if only != "" && t.Name != only {
			continue
		}
		if !s.Active(t) && only != "" {
			return only + " is " + s.Inactive(t), first
		}
		if next, ok := t.NextRun(minute); ok && s.Active(t) && (first.IsZero() || next.Before(first)) {
			first, name = next, t.Name
		}
	}
	if name == "" {
		return words, first
	}
	return fmt.Sprintf("%s; next is %s at %s", words, name, humanize.MinuteZone(first, s.Location)), first
}

type planJSON struct {
	Minute string         `json:"minute"`
	Tasks  []planTaskJSON `json:"tasks"`
}

type planTaskJSON struct {
	Name       string   `json:"name"`
	Slots      []string `json:"slots"`
	Background bool     `json:"background"`
	Would      string   `json:"would"`
	Reason     string   `json:"reason"`
}

func (a runCommand) dryRun(tick *tick.Tick, asJSON bool) error {
	plan := planOf(tick)
	if asJSON {
		return a.printJSON(plan)
	}
	a.printPlan(plan, humanize.MinuteZone(tick.Minute, tick.Schedule.Location))
	return nil
}

func planOf(tick *tick.Tick) planJSON {
	plan := planJSON{tick.Minute.UTC().Format(time.RFC3339), []planTaskJSON{}}
	for _, p := range tick.DryRun() {
		t := planTaskJSON{p.Task.Name, nil, p.Task.Background, "run", p.Reason}
		if p.Reason != "" {
			t.Would = "skip"
		} else {
			t.Reason = cmp.Or(p.Waits, view.ConditionCommands(p.Task))
		}
		for _, slot := range p.Slots {
			t.Slots = append(t.Slots, slot.UTC().Format(time.RFC3339))
		}
		plan.Tasks = append(plan.Tasks, t)
	}
	return plan
}

func (a runCommand) printPlan(plan planJSON, minute string) {
	if len(plan.Tasks) == 0 {
		fmt.Fprintf(a.out, "nothing is due at %s\n", minute)
		return
	}
	fmt.Fprintf(a.out, "at %s:\n", minute)
	out := a.stdout()
	table := out.Table()
	defer table.Flush()
	for _, t := range plan.Tasks {
		how, tone := "would run", terminal.Good
		if t.Background {
			how, tone = "would run in the background", terminal.Active
		}
		switch {
		case t.Would == "skip":
			how, tone = "would be skipped: "+t.Reason, terminal.Caution
		case t.Reason != "":
			how += "; " + t.Reason
		}
		if len(t.Slots) > 1 {
			how += fmt.Sprintf(" (%d times in this minute)", len(t.Slots))
		}
		table.Row(t.Name, out.Paint(tone, how))
	}
}
