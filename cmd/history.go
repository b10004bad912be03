package cmd

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

type historyOptions struct {
	failed     bool
	outcomes   []string
	since      string
	until      string
	limit      int
	limitGiven bool
	json       bool
	csv        bool
	summary    bool
	allServers bool
	timezone   string
	changes    bool
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
			o.limitGiven = c.Flags().Changed("limit")
			return historyCommand{a}.history(optionalArgument(args), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.failed, "failed", false, "only runs that failed, timed out, were stopped or lost")
	f.StringSliceVar(&o.outcomes, "outcome", nil, "only slots with one of these outcomes")
	f.StringVar(&o.since, "since", "", "only slots since then: 7d for so long ago, "+timeForms)
	f.StringVar(&o.until, "until", "", "only slots before then")
	f.StringVar(&o.timezone, "timezone", "",
		"show times in this zone, such as America/New_York or Local, and take --since and --until for times of it")
	f.IntVarP(&o.limit, "limit", "n", 20, "at most so many (0: all)")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	f.BoolVar(&o.csv, "csv", false, "print CSV with a header line (RFC 4180)")
	f.BoolVar(&o.summary, "summary", false, "print what they add up to: a line for each task")
	f.BoolVar(&o.changes, "changes", false, "what people changed on this machine: who, when and why, instead of slots")
	f.BoolVar(&o.allServers, "all-servers", false,
		"what ran on all servers of the store, without slots that were skipped or missed")
	return c
}

// check refuses flags that do not go together.
func (o historyOptions) check() error {
	filtered := o.failed || len(o.outcomes) > 0
	switch {
	case o.summary && (filtered || o.limitGiven):
		return usage("narrow it with --since and --until", "--summary is of all outcomes, and of all records of a time")
	case o.summary && o.allServers:
		return usage("call it on each server", "--summary is of this machine")
	case o.changes && (o.summary || o.allServers || o.csv || filtered):
		return usage("narrow it with a task, --since, --until and -n",
			"--changes is about what people changed, and not about runs")
	case o.json && o.csv:
		return usage("", "--json and --csv exclude each other")
	case o.limit < 0:
		return usage("0 shows all", "--limit %d is negative", o.limit)
	case o.failed && len(o.outcomes) > 0:
		return usage("--failed is --outcome failed,timed-out,stopped,lost", "--failed and --outcome exclude each other")
	}
	return nil
}

func (a historyCommand) history(name string, o historyOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := a.loadToShow()
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
		return a.showSummary(s, q, o)
	case o.changes:
		return a.showChanges(s, q, o)
	}
	return a.showSlots(s, q, o)
}

// historyQuery turns the flags into a query; an empty name means all tasks.
func (a historyCommand) historyQuery(name string, o historyOptions, zone *time.Location) (q state.Query, err error) {
	q = state.Query{Task: name, Limit: o.limit}
	if o.limit > 0 {
		q.Limit++ // to know whether there are more
	}
	if o.failed {
		q.Outcomes = outcome.Failures
	}
	for _, word := range o.outcomes {
		parsed, err := parseOutcome(word)
		if err != nil {
			return q, err
		}
		q.Outcomes = append(q.Outcomes, parsed)
	}
	q.Since, q.Until, err = a.parseSpan(o.since, o.until, zone)
	return q, err
}

// A slotHistory is what became of slots. The newest record is the first one. In each other list the
// newest element is the last one.
type slotHistory struct {
	waiting    map[string][]view.Waiting // by task
	live, lost []state.Row
	records    []state.Row // of runs that ended, and of slots that did not run
}

func (h slotHistory) isEmpty() bool {
	return len(h.records)+len(h.live)+len(h.lost)+len(h.waiting) == 0
}

// showSlots prints what became of each slot.
func (a historyCommand) showSlots(s *schedule.Schedule, q state.Query, o historyOptions) error {
	h, err := a.readSlots(s, q, o)
	if err != nil {
		return err
	}
	if o.json || o.csv {
		return a.printRecords(h.records, o)
	}
	a.printSlots(s, o, h)
	if missing := a.view(s).TicksMissing(); missing != "" && len(h.records) == 0 && o.until == "" {
		a.warnWithHint(a.ticksHint(), "%s", missing)
	}
	return nil
}

// readSlots reads what became of the slots that a query asks for. It returns an error for a task
// that has none of them and is not in the schedule.
func (a historyCommand) readSlots(s *schedule.Schedule, q state.Query, o historyOptions) (h slotHistory, err error) {
	read := a.view(s).History
	if o.allServers {
		read = a.view(s).HistoryOfAll
	}
	live, lost, records, err := read(noDeadline, q)
	if err != nil {
		return h, err
	}
	h = slotHistory{
		waiting: waitingIn(a.view(s).Waiting(live, a.view(s).Pauses), q),
		live:    slices.DeleteFunc(matching(live, q), state.Row.Waits),
		lost:    matching(lost, q),
		records: records,
	}
	if h.isEmpty() {
		return h, refuseUnknown(s, q.Task)
	}
	return h, nil
}

// refuseUnknown refuses a task that is not in the schedule. The empty name stands for all tasks.
func refuseUnknown(s *schedule.Schedule, task string) error {
	if task == "" {
		return nil
	}
	_, err := view.FindTask(s, task)
	return err
}

// matching returns the rows that a query asks for. They have not ended, so they have no outcome.
func matching(rows []state.Row, q state.Query) []state.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(row state.Row) bool {
		return !q.Matches(row.WithoutOutcome())
	})
}

// waitingIn returns the waiting slots that a query asks for.
func waitingIn(waiting map[string][]view.Waiting, q state.Query) map[string][]view.Waiting {
	matching := map[string][]view.Waiting{}
	for task, slots := range waiting {
		for _, w := range slots {
			if q.Matches(state.Row{Task: task, Slot: w.Slot}) {
				matching[task] = append(matching[task], w)
			}
		}
	}
	return matching
}

// printRecords prints records for programs.
func (a historyCommand) printRecords(records []state.Row, o historyOptions) error {
	cut := o.limit > 0 && len(records) > o.limit
	if cut {
		records = records[:o.limit]
	}
	if err := a.printRows(view.RecordsOf(records), o); err != nil {
		return err
	}
	a.sayCut(o, cut)
	return nil
}

// showSummary prints a line for each task with what its slots add up to.
func (a historyCommand) showSummary(s *schedule.Schedule, q state.Query, o historyOptions) error {
	summaries, err := a.view(s).Summaries(noDeadline, q.Task, q.Since, q.Until)
	if err != nil {
		return err
	}
	if len(summaries) == 0 {
		if err := refuseUnknown(s, q.Task); err != nil {
			return err
		}
	}
	if o.json || o.csv {
		return a.printRows(view.SummariesOf(summaries), o)
	}
	a.printSummary(s.Location, summaries)
	return nil
}

// printRows prints rows for programs.
func (a historyCommand) printRows(rows any, o historyOptions) error {
	if o.csv {
		a.printCSV(rows)
		return nil
	}
	return a.printJSON(rows)
}

// showChanges prints what people changed.
func (a historyCommand) showChanges(s *schedule.Schedule, q state.Query, o historyOptions) error {
	changes, err := a.view(s).Changes(noDeadline, view.ChangeQuery{
		Target: q.Task,
		Since:  q.Since,
		Until:  q.Until,
		Limit:  q.Limit,
	})
	if err != nil {
		return err
	}
	ofTask := func(c view.Change) bool { return c.Target != view.Everything }
	if !slices.ContainsFunc(changes, ofTask) {
		if err := refuseUnknown(s, q.Task); err != nil {
			return err
		}
	}
	cut := o.limit > 0 && len(changes) > o.limit
	if cut {
		changes = changes[:o.limit]
	}
	switch {
	case o.json:
		err = a.printJSON(changes)
	case len(changes) == 0:
		fmt.Fprintln(a.out, "nobody has changed anything")
	default:
		a.printChanges(s, changes)
	}
	a.sayCut(o, cut)
	return err
}

// sayCut says that the history has more rows than were printed. It says nothing if a person gave
// the limit.
func (a historyCommand) sayCut(o historyOptions, cut bool) {
	if cut && !o.limitGiven {
		a.warnWithHint("-n 0 shows all; --since and --until narrow them",
			"only the newest %d are shown", o.limit)
	}
}
