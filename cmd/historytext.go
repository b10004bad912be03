package cmd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

// printSlots prints what waits, live runs, lost runs and records, in this order and each with the
// newest first. The table has a column of servers if the history covers all servers. The limit
// counts all rows together.
func (a historyCommand) printSlots(s *schedule.Schedule, o historyOptions, h slotHistory) {
	if len(h.records)+len(h.live)+len(h.lost)+len(h.waiting) == 0 {
		fmt.Fprintln(a.out, "nothing was recorded")
		return
	}
	zone := s.Location
	t := historyTable{out: a.stdout(), time: slotFormat(s, o), servers: o.allServers, limit: o.limit}
	t.table = t.out.Table(t.shrinks()...)
	t.table.Head(t.columns("SLOT", "TASK", "SERVER", "RUN", "CPU", "MEMORY", "OUTCOME")...)
	here := serverName(s.Server)
	for _, task := range slices.Sorted(maps.Keys(h.waiting)) {
		for _, w := range slices.Backward(h.waiting[task]) {
			t.add(state.Row{ID: w.Run, Task: task, Slot: w.Slot, Server: here}, terminal.Active, w.Text(a.now(), zone))
		}
	}
	for _, row := range slices.Backward(h.live) {
		t.add(row.WithoutOutcome(), terminal.Active, a.liveText(row))
	}
	for _, row := range slices.Backward(h.lost) {
		t.add(row.WithoutOutcome(), terminal.Bad, "vanished; the next tick will finish it")
	}
	for _, r := range h.records {
		words := view.Describe(r) + view.Late(r)
		if len(r.Notes) > 0 {
			words += "; " + strings.Join(r.Notes, "; ")
		}
		t.add(r, toneOf(r.Result), words)
	}
	t.table.Flush()
	a.sayCut(o, t.cut)
}

type historyTable struct {
	out     terminal.Stream
	table   *terminal.Table
	time    func(time.Time) string
	servers bool // there is a column of servers
	limit   int  // how many rows it may have; 0: all
	rows    int
	cut     bool // a row was left out
}

// slotFormat returns the function that writes slots. They have their zone if the zones of the
// schedule, a task and the reader are not all the same.
func slotFormat(s *schedule.Schedule, o historyOptions) func(time.Time) string {
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
