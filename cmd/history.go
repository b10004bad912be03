package cmd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

type historyOptions struct {
	failed   bool
	outcomes []string
	since    string
	until    string
	limit    int
	json     bool
	csv      bool
	summary  bool
	all      bool
	timezone string
	counts   bool // --limit was given
	changes  bool
}

type historyCommand struct{ *app }

func newHistoryCommand(a *app) *cobra.Command {
	var o historyOptions
	c := &cobra.Command{
		Use:   "history [TASK]",
		Short: "Show what became of the slots that were due, newest first",
		Long: `history shows what became of the slots that were due, newest first. Their outcomes are
` + outcomeList(outcome.All) + `.
With --outcome warning it shows the successes with a warning.
Other commands take a run by its whole id, or by the last part of it that is shown.`,
		Example: `  sched history
  sched history nightly-report --failed
  sched history --since 7d --until 2026-01-31 --outcome skipped,missed
  sched history --since 24h --json
  sched history --since 30d -n 0 --csv > runs.csv
  sched history --since 30d --summary
  sched history --all-servers
  sched history --changes`,
		Args: arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if o.summary && (o.failed || len(o.outcomes) > 0 || c.Flags().Changed("limit")) {
				return usage("narrow it with --since and --until", "--summary is of all outcomes, and of all records of a time")
			}
			if o.summary && o.all {
				return usage("call it on each server", "--summary is of this machine")
			}
			o.counts = c.Flags().Changed("limit")
			if o.changes && (o.summary || o.all || o.csv || o.failed || len(o.outcomes) > 0) {
				return usage("narrow it with a task, --since, --until and -n", "--changes is about what people changed, and not about runs")
			}
			return historyCommand{a}.history(strings.Join(args, ""), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.failed, "failed", false, "only runs that failed, timed out, were stopped or lost")
	f.StringSliceVar(&o.outcomes, "outcome", nil, "only slots with one of these outcomes")
	f.StringVar(&o.since, "since", "", "only slots since then: 7d for so long ago, "+timeForms)
	f.StringVar(&o.until, "until", "", "only slots before then")
	f.StringVar(&o.timezone, "timezone", "", "show times in this zone, such as America/New_York or Local, and take --since and --until for times of it")
	f.IntVarP(&o.limit, "limit", "n", 20, "at most so many (0: all)")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	f.BoolVar(&o.csv, "csv", false, "print CSV with a header line (RFC 4180)")
	f.BoolVar(&o.summary, "summary", false, "print what they add up to: a line for each task")
	f.BoolVar(&o.changes, "changes", false, "what people changed on this machine: who, when and why, instead of slots")
	f.BoolVar(&o.all, "all-servers", false, "what ran on all servers of the store, without slots that were skipped or missed")
	return c
}

func (a historyCommand) history(name string, o historyOptions) error {
	if o.json && o.csv {
		return usage("", "--json and --csv exclude each other")
	}
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	if s, err = shownIn(s, o.timezone); err != nil {
		return err
	}
	q, err := a.historyQuery(name, o, s.Location)
	if err != nil {
		return err
	}
	switch {
	case o.summary:
		return a.summary(s, q, o)
	case o.changes:
		return a.changes(s, q, o)
	}
	read := a.view(s).History
	if o.all {
		read = a.view(s).HistoryOfAll
	}
	live, lost, rows, err := read(ctx, q)
	if err != nil {
		return err
	}
	waiting := a.view(s).Waiting(live, a.view(s).Pauses)
	live = slices.DeleteFunc(live, state.Row.Waits)
	if name != "" {
		maps.DeleteFunc(waiting, func(task string, _ []view.Waiting) bool { return task != name })
	}
	ofTask := func(row state.Row) bool { return row.Task == name }
	if name != "" && len(rows)+len(waiting) == 0 && !slices.ContainsFunc(slices.Concat(live, lost), ofTask) {
		if _, err := view.FindTask(s, name); err != nil {
			return err
		}
	}
	switch {
	case o.json, o.csv:
		cut := o.limit > 0 && len(rows) > o.limit
		if cut {
			rows = rows[:o.limit]
		}
		print := a.printJSON
		if o.csv {
			print = a.printCSV
		}
		if err := print(view.RecordsOf(rows)); err != nil {
			return err
		}
		a.sayCut(o, cut)
		return nil
	}
	a.printHistory(s, o, waitingIn(waiting, q), matching(live, q), matching(lost, q), rows)
	if missing := a.view(s).TicksMissing(); missing != "" && len(rows) == 0 && o.until == "" {
		a.problem("%v", failed(a.ticksHint(), "%s", missing))
	}
	return nil
}

// sayCut says that the history has more rows than the table, unless somebody asked for so many.
func (a historyCommand) sayCut(o historyOptions, cut bool) {
	if cut && !o.counts {
		a.problem("%v", failed("-n 0 shows all; --since and --until narrow them", "only the newest %d are shown", o.limit))
	}
}

// printHistory prints requests, live runs, lost runs and records, in this order and each with the
// newest first. The table has a column of servers if the history covers all servers.
// The limit counts all rows together.
func (a historyCommand) printHistory(s *schedule.Schedule, o historyOptions, waiting map[string][]view.Waiting, live, lost []state.Row, rows []state.Row) {
	if len(rows)+len(live)+len(lost)+len(waiting) == 0 {
		fmt.Fprintln(a.out, "nothing was recorded")
		return
	}
	zone := s.Location
	t := historyTable{out: a.stdout(), time: slotsIn(s, o), servers: o.all, limit: o.limit}
	t.table = t.out.Table(t.shrinks()...)
	defer func() {
		t.table.Flush()
		a.sayCut(o, t.cut)
	}()
	t.table.Head(t.columns("SLOT", "TASK", "SERVER", "RUN", "CPU", "MEMORY", "OUTCOME")...)
	here := serverName(s.Server)
	for _, task := range slices.Sorted(maps.Keys(waiting)) {
		for _, w := range slices.Backward(waiting[task]) {
			t.add(state.Row{ID: w.Run, Task: task, Slot: w.Slot, Server: here}, terminal.Active, w.Text(a.now(), zone))
		}
	}
	for _, row := range slices.Backward(live) {
		t.add(row.WithoutOutcome(), terminal.Active, a.liveText(row))
	}
	for _, row := range slices.Backward(lost) {
		t.add(row.WithoutOutcome(), terminal.Bad, "vanished; the next tick will finish it")
	}
	for _, r := range rows {
		words := view.Describe(r) + view.Late(r)
		if len(r.Notes) > 0 {
			words += "; " + strings.Join(r.Notes, "; ")
		}
		t.add(r, toneOf(r.Result), words)
	}
}

type historyTable struct {
	out     terminal.Stream
	table   *terminal.Table
	time    func(time.Time) string
	servers bool // there is a column for them
	limit   int  // of the rows; 0 for none
	rows    int
	cut     bool // there were more
}

// slotsIn returns how slots are written. They have their zone if the zones of the schedule, a task
// and the reader are not all the same.
func slotsIn(s *schedule.Schedule, o historyOptions) func(time.Time) string {
	differ := o.timezone != "" || s.Location.String() != localZone().String() ||
		slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.When.Location.String() != s.Location.String() })
	if differ {
		return func(t time.Time) string { return humanize.SecondZone(t, s.Location) }
	}
	return func(t time.Time) string { return humanize.Second(t, s.Location) }
}

// shrinks says in which order columns shrink on a narrow terminal: memory and CPU go first.
func (t historyTable) shrinks() []terminal.Shrink {
	last := len(t.columns(make([]string, 7)...)) - 1
	return []terminal.Shrink{{Column: last - 1}, {Column: last - 2}, {Column: last, Least: 28}, {Column: 1, Least: 12}, {Column: last, Least: 16}}
}

// add adds a row, unless the limit is reached. CPU and memory are known after commands have ended.
func (t *historyTable) add(r state.Row, tone terminal.Tone, became string) {
	if t.limit > 0 && t.rows == t.limit {
		t.cut = true
		return
	}
	t.rows++
	cpu, memory := "-", "-"
	if r.Outcome != "" && r.Attempt.Number > 0 && r.Outcome != outcome.Lost {
		cpu = humanize.Duration(r.UserCPU + r.SystemCPU)
		if r.PeakMemory > 0 {
			memory = humanize.Bytes(r.PeakMemory)
		}
	}
	t.table.Row(t.columns(t.time(r.Slot), r.Task, r.Server, humanize.ShortRun(r.ID),
		cpu, memory, t.out.Paint(tone, humanize.Line(became)))...)
}

// columns leaves out the third cell, the server, unless there is a column for it.
func (t historyTable) columns(cells ...string) []string {
	if t.servers {
		return cells
	}
	return slices.Delete(cells, 2, 3)
}

// liveText says how long a run has been running. The announcement of another server may be older
// than the start of the run's command.
func (a historyCommand) liveText(row state.Row) string {
	holder := run.HolderOf(row)
	switch {
	case !row.LastTold.IsZero():
		return "was running " + view.LastToldText(row, a.now())
	case !row.Attempted():
		return "starting"
	case holder.PID == 0:
		return "running for " + a.ago(holder.Since)
	}
	return fmt.Sprintf("running for %s, pid %d", a.ago(holder.Since), holder.PID)
}

// historyQuery turns the flags into a query; an empty name means all tasks.
func (a historyCommand) historyQuery(name string, o historyOptions, zone *time.Location) (q state.Query, err error) {
	q = state.Query{Task: name, Limit: o.limit}
	if o.limit > 0 {
		q.Limit++ // to know whether there are more
	}
	switch {
	case o.limit < 0:
		return q, usage("0 shows all", "--limit %d is negative", o.limit)
	case o.failed && len(o.outcomes) > 0:
		return q, usage("--failed is --outcome failed,timed-out,stopped,lost", "--failed and --outcome exclude each other")
	case o.failed:
		q.Outcomes = outcome.Failures
	}
	for _, word := range o.outcomes {
		outcome, err := parseOutcome(word)
		if err != nil {
			return q, err
		}
		q.Outcomes = append(q.Outcomes, outcome)
	}
	q.Since, q.Until, err = a.parseSpan(o.since, o.until, zone)
	return q, err
}

func matching(logs []state.Row, q state.Query) []state.Row {
	if len(q.Outcomes) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(logs), func(row state.Row) bool { return !q.Matches(row) })
}

func waitingIn(waiting map[string][]view.Waiting, q state.Query) map[string][]view.Waiting {
	in := map[string][]view.Waiting{}
	for task, all := range waiting {
		for _, w := range all {
			if len(q.Outcomes) == 0 && !w.Time.Before(q.Since) && (q.Until.IsZero() || w.Time.Before(q.Until)) {
				in[task] = append(in[task], w)
			}
		}
	}
	return in
}

func (a historyCommand) summary(s *schedule.Schedule, q state.Query, o historyOptions) error {
	all, err := a.view(s).Summaries(ctx, q.Task, q.Since, q.Until)
	if err != nil {
		return err
	}
	if q.Task != "" && len(all) == 0 {
		if _, err := view.FindTask(s, q.Task); err != nil {
			return err
		}
	}
	rows := view.SummariesOf(all)
	switch {
	case o.json:
		return a.printJSON(rows)
	case o.csv:
		return a.printCSV(rows)
	}
	a.printSummary(s.Location, all)
	return nil
}

func (a historyCommand) printSummary(zone *time.Location, all []state.Summary) {
	if len(all) == 0 {
		fmt.Fprintln(a.out, "nothing was recorded")
		return
	}
	t := a.stdout().Table()
	defer t.Flush()
	t.Head("TASK", "RUNS", "SUCCEEDED", "USUALLY", "95 %", "LATE", "LATEST", "SKIPPED", "MISSED", "LAST FAILURE")
	for _, s := range all {
		rate, usually, most, late, latest, failure := "-", "-", "-", "-", "-", "-"
		if r, ok := s.SuccessRate(); ok {
			rate = percent(r)
		}
		if s.Took.Runs > 0 {
			usually, most = humanize.Duration(s.Took.Median), humanize.Duration(s.Took.P95)
		}
		if s.Late.Runs > 0 {
			late, latest = humanize.Duration(s.Late.Median), humanize.Duration(s.Late.Max)
		}
		if s.FailedID != "" {
			failure = fmt.Sprintf("%s %s (run %s)", humanize.SecondZone(s.Failed, zone), s.FailedAs, humanize.ShortRun(s.FailedID))
		}
		t.Row(s.Task, strconv.Itoa(s.Ran()), rate, usually, most, late, latest,
			strconv.Itoa(s.Slots[outcome.Skipped]), strconv.Itoa(s.Slots[outcome.Missed]), failure)
	}
}

// percent writes a rate from 0 to 1. It is "100 %" only for 1.
func percent(rate float64) string {
	if rate < 1 && rate >= 0.9995 {
		rate = 0.999
	}
	return fmt.Sprintf("%.4g %%", float64(int(rate*1000+0.5))/10)
}

func (a historyCommand) changes(s *schedule.Schedule, q state.Query, o historyOptions) error {
	all, err := a.view(s).Changes(ctx, view.ChangeQuery{Target: q.Task, Since: q.Since, Until: q.Until, Limit: q.Limit})
	if err != nil {
		return err
	}
	named := func(c view.Change) bool { return c.Target != view.Everything }
	if q.Task != "" && !slices.ContainsFunc(all, named) {
		if _, err := view.FindTask(s, q.Task); err != nil {
			return err
		}
	}
	cut := o.limit > 0 && len(all) > o.limit
	if cut {
		all = all[:o.limit]
	}
	switch {
	case o.json:
		err = a.printJSON(all)
	case len(all) == 0:
		fmt.Fprintln(a.out, "nobody has changed anything")
	default:
		a.printChanges(s, all)
	}
	a.sayCut(o, cut)
	return err
}

func (a historyCommand) printChanges(s *schedule.Schedule, all []view.Change) {
	t := a.stdout().Table()
	t.Head("TIME", "WHO", "FROM", "DID", "TO", "REASON")
	for _, c := range all {
		at, _ := time.Parse(time.RFC3339, c.At)
		target := c.Target
		if c.Action == "stop" || c.Action == "retry" {
			target = humanize.ShortRun(target)
		}
		because := cmp.Or(c.Reason, "-")
		if c.Error != "" {
			because += " (not done: " + c.Error + ")"
		}
		t.Row(humanize.SecondZone(at, s.Location), humanize.Line(c.Who), c.From, c.Action, humanize.Line(target), humanize.Line(because))
	}
	t.Flush()
}
