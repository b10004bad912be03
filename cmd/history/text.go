package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/run/holding"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A slotHistory is what became of slots. The newest record is the first one. In each other list the
// newest element is the last one.
type slotHistory struct {
	waiting    map[string][]view.Waiting // by task
	live, lost []state.Row
	records    []state.Row          // of runs that ended, and of slots that did not run
	elsewhere  map[string]state.Row // by the id of a record: the run of another server for its slot

	notifications view.WaitingNotifications
}

func (h slotHistory) isEmpty() bool {
	return len(h.records)+len(h.live)+len(h.lost)+len(h.waiting) == 0
}

// printSlots prints what waits, live runs, lost runs and records, in this order. In each of these
// groups the newest is the first; what waits is sorted by task before that. The limit counts all
// rows together.
func printSlots(a *app.App, s *schedule.Schedule, o options, h slotHistory) {
	switch isEmpty := h.isEmpty(); {
	case isEmpty && (o.failed || len(o.outcomes) > 0):
		fmt.Fprintln(a.Out, "nothing was recorded with such an outcome")
		return
	case isEmpty:
		fmt.Fprintln(a.Out, "nothing was recorded")
		return
	}
	zone := s.Location
	table := newTable(a.Stdout(), s, o)
	thisServer := a.ServerName(s.Server)
	for _, task := range slices.Sorted(maps.Keys(h.waiting)) {
		for _, waiting := range slices.Backward(h.waiting[task]) {
			row := state.Row{ID: waiting.Run, Task: task, Slot: waiting.Slot, Server: thisServer}
			table.add(row, terminal.Active, waiting.Text(a.Now(), zone))
		}
	}
	for _, row := range slices.Backward(h.live) {
		table.add(row.WithoutOutcome(), terminal.Active, liveText(a, row))
	}
	for _, row := range slices.Backward(h.lost) {
		text := "vanished; the next tick will finish it"
		if view.IsUnwatched(row) {
			text = view.LostText(row)
		}
		table.add(row.WithoutOutcome(), terminal.Bad, text)
	}
	for _, record := range h.records {
		text := view.Describe(record) + view.Late(record)
		if other, ran := h.elsewhere[record.ID]; ran {
			text = view.DescribeElsewhere(record, other, a.Now())
		}
		for _, told := range view.Telling(record, h.notifications, zone) {
			text += "; " + told
		}
		table.add(record, console.ToneOf(record.Result), text)
	}
	table.cells.Flush()
	sayCut(a, o, table.cut)
}

// A table is the table of `sched history`. It has a column of servers if the history covers
// all servers, and a column of values if somebody asks for them.
type table struct {
	out     terminal.Stream
	cells   *terminal.Table
	of      *schedule.Schedule
	time    func(time.Time) string // writes a slot
	servers bool                   // there is a column of servers
	values  bool                   // there is a column of values
	limit   int                    // how many rows it may have; 0: all
	rows    int
	cut     bool // a row was left out
}

func newTable(out terminal.Stream, s *schedule.Schedule, o options) *table {
	t := &table{out: out, of: s, time: slotFormat(s, o), servers: o.allServers, values: o.values, limit: o.limit}
	t.cells = terminal.NewTable(out, t.shrinks()...)
	t.cells.Head(t.columns("SLOT", "TASK", "SERVER", "RUN", "CPU", "MEMORY", "VALUES", "OUTCOME")...)
	return t
}

// slotFormat returns the function that writes slots. It writes the zone, too, if --timezone names
// one, or if the zones of the schedule, its tasks and this machine are not all the same.
func slotFormat(s *schedule.Schedule, o options) func(time.Time) string {
	zone := s.Location.String()
	inOtherZone := func(t *schedule.Task) bool { return t.When.Location.String() != zone }
	if o.timezone != "" || zone != app.LocalZone().String() || slices.ContainsFunc(s.Tasks, inOtherZone) {
		return func(t time.Time) string { return humanize.SecondZone(t, s.Location) }
	}
	return func(t time.Time) string { return humanize.Second(t, s.Location) }
}

// shrinks says in which order columns shrink on a narrow terminal: memory and CPU go first.
func (t *table) shrinks() []terminal.Shrink {
	const taskColumn = 1
	cpuColumn := serverColumn + 2
	if !t.servers {
		cpuColumn--
	}
	memoryColumn, outcomeColumn := cpuColumn+1, cpuColumn+2
	shrinks := []terminal.Shrink{{Column: memoryColumn}, {Column: cpuColumn}}
	if t.values {
		outcomeColumn++
		shrinks = append(shrinks, terminal.Shrink{Column: memoryColumn + 1, Least: 20})
	}
	return append(shrinks,
		terminal.Shrink{Column: outcomeColumn, Least: 28},
		terminal.Shrink{Column: taskColumn, Least: 12},
		terminal.Shrink{Column: outcomeColumn, Least: 16})
}

// add adds a row, unless the limit is reached. CPU and memory are known when a command has ended.
func (t *table) add(r state.Row, tone terminal.Tone, outcomeText string) {
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
	values := cmp.Or(humanize.Line(view.ValuesText(t.of.Task(r.Task), r.Values)), "-")
	t.cells.Row(t.columns(t.time(r.Slot), r.Task, r.Server, humanize.ShortRun(r.ID),
		cpu, memory, values, t.out.Paint(tone, humanize.Line(outcomeText)))...)
}

// serverColumn and valuesColumn are where the server and the values stand among the cells of a row.
const (
	serverColumn = 2
	valuesColumn = 6
)

// columns leaves out the cells of the values and of the server, unless there is a column for them.
func (t *table) columns(cells ...string) []string {
	if !t.values {
		cells = slices.Delete(cells, valuesColumn, valuesColumn+1)
	}
	if !t.servers {
		cells = slices.Delete(cells, serverColumn, serverColumn+1)
	}
	return cells
}

func liveText(a *app.App, row state.Row) string {
	holder := holding.HolderOf(row)
	switch {
	case !row.LastReported.IsZero(): // of another server: it may have ended since
		return "was running " + view.LastReportedText(row, a.Now())
	case !row.Attempted():
		return "starting"
	case row.BetweenAttempts():
		return fmt.Sprintf("attempt %d failed, waits for attempt %d", row.Attempt.Number, row.Attempt.Number+1)
	case view.CommandEnded(row):
		return "ended, not recorded yet"
	case holder.PID == 0:
		return "running for " + a.Ago(holder.Since)
	}
	return fmt.Sprintf("running for %s, pid %d", a.Ago(holder.Since), holder.PID)
}

// printSummary prints a line for each task. A value that is not known is "-".
func printSummary(a *app.App, zone *time.Location, summaries []past.Summary) {
	if len(summaries) == 0 {
		fmt.Fprintln(a.Out, "nothing was recorded")
		return
	}
	t := a.Table()
	defer t.Flush()
	t.Head("TASK", "RUNS", "SUCCEEDED", "USUALLY", "95 %", "LATE", "LATEST", "SKIPPED", "MISSED", "LAST FAILURE")
	for _, s := range summaries {
		rate, usually, p95, late, maxLate, failure := "-", "-", "-", "-", "-", "-"
		if r, ok := s.SuccessRate(); ok {
			rate = percent(r)
		}
		if s.Took.Runs > 0 {
			usually, p95 = humanize.Duration(s.Took.Median), humanize.Duration(s.Took.P95)
		}
		if s.Late.Runs > 0 {
			late, maxLate = humanize.Duration(s.Late.Median), humanize.Duration(s.Late.Max)
		}
		if s.FailedID != "" {
			at := humanize.SecondZone(s.Failed, zone)
			failure = fmt.Sprintf("%s %s (run %s)", at, s.FailedAs, humanize.ShortRun(s.FailedID))
		}
		t.Row(s.Task, strconv.Itoa(s.Ran()), rate, usually, p95, late, maxLate,
			strconv.Itoa(s.Slots[outcome.Skipped]), strconv.Itoa(s.Slots[outcome.Missed]), failure)
	}
}

// percent writes a rate from 0 to 1. It is "100 %" only for 1.
func percent(rate float64) string {
	if rate < 1 && rate >= 0.9995 {
		rate = 0.999
	}
	return fmt.Sprintf("%.4g %%", math.Round(rate*1000)/10)
}

func printChanges(a *app.App, s *schedule.Schedule, changes []view.Change) {
	t := a.Table()
	t.Head("TIME", "WHO", "FROM", "DID", "TO", "REASON")
	for _, c := range changes {
		target := c.Target
		if c.Action == "stop" || c.Action == "retry" {
			target = humanize.ShortRun(target)
		}
		reason := cmp.Or(c.Reason, "-")
		if c.Error != "" {
			reason += " (not done: " + c.Error + ")"
		}
		t.Row(humanize.SecondZone(c.At.Time, s.Location), humanize.Line(c.Who), c.From, c.Action,
			humanize.Line(target), humanize.Line(reason))
	}
	t.Flush()
}

// sayCut says that the history has more rows than were printed. It says nothing if a person gave
// the limit.
func sayCut(a *app.App, o options, cut bool) {
	if cut && !o.limitGiven {
		a.WarnWithHint("-n 0 shows all; --since and --until narrow them",
			"only the newest %d are shown", o.limit)
	}
}
