// Package history is the command `sched history`.
package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "history [TASK]",
		Short: "Show what became of the slots that were due, newest first",
		Long: `history shows what became of the slots that were due, newest first. Their outcomes are
` + outcomeList(outcome.All) + `.
With --outcome warning it shows the successes with a warning, and with --outcome store-down the
slots that were skipped because the store did not answer.
--failed and --outcome leave out the runs of sched test.
Other commands take a run by its whole id, or by the last part of it that is shown.`,
		Example: `  sched history
  sched history nightly-report --failed
  sched history --since 7d --until 2026-01-31 --outcome skipped,missed
  sched history --since 24h --json
  sched history --since 30d --summary
  sched history --all-servers
  sched history nightly-report --values
  sched history --changes`,
		Args: flags.Arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			o.limitGiven = c.Flags().Changed("limit")
			return history(a, flags.Optional(args), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.failed, "failed", false, "only runs that failed, timed out, were stopped or lost")
	f.StringSliceVar(&o.outcomes, "outcome", nil, "only slots with one of these outcomes")
	f.StringVar(&o.since, "since", "", "only slots since then: 7d for so long ago, "+console.TimeForms)
	f.StringVar(&o.until, "until", "", "only slots before then")
	f.StringVar(&o.timezone, "timezone", "",
		"show times in this zone, such as America/New_York or Local, and take --since and --until for times of it")
	f.IntVarP(&o.limit, "limit", "n", 20, "at most so many (0: all)")
	f.BoolVar(&o.json, "json", false, "print a JSON array of what is over; sched list --json has what runs")
	f.BoolVar(&o.csv, "csv", false, "print CSV with a header line (RFC 4180)")
	f.BoolVar(&o.summary, "summary", false, "print what they add up to: a line for each task")
	f.BoolVar(&o.values, "values", false, "with what runs reported; --json and --csv always have it")
	f.BoolVar(&o.changes, "changes", false, "what people changed on this machine: who, when and why, instead of slots")
	f.BoolVar(&o.allServers, "all-servers", false,
		"what ran on all servers of the store, without slots that were skipped or missed")
	flags.Seldom(f, "timezone", "csv")
	return c
}

func history(a *app.App, name string, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	if s, err = app.ShownIn(s, o.timezone); err != nil {
		return err
	}
	q, err := newQuery(a, name, o, s.Location)
	if err != nil {
		return err
	}
	switch {
	case o.summary:
		return showSummary(a, s, q, o)
	case o.changes:
		return showChanges(a, s, q, o)
	}
	return showSlots(a, s, q, o)
}

// newQuery turns the flags into a query; an empty name means all tasks.
func newQuery(a *app.App, name string, o options, zone *time.Location) (q past.Query, err error) {
	q = past.Query{Task: name, Limit: o.limit}
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
	q.NoTests = len(q.Outcomes) > 0
	q.Since, q.Until, err = a.ParseSpan(o.since, o.until, zone)
	return q, err
}

func showSlots(a *app.App, s *schedule.Schedule, q past.Query, o options) error {
	h, err := readSlots(a, s, q, o)
	if err != nil {
		return err
	}
	if h.notifications, err = view.NotificationsWaiting(context.Background(), a.View(s)); err != nil {
		return err
	}
	if o.json || o.csv {
		return printRecords(a, h, o)
	}
	h.elsewhere = view.RanElsewhere(context.Background(), a.View(s), h.records)
	printSlots(a, s, o, h)
	if o.failed && !o.allServers {
		warnOfNotRun(a, s, q, o)
	}
	if missing := a.View(s).TicksMissing(); missing != "" && len(h.records) == 0 && o.until == "" {
		a.WarnWithHint(a.TicksHint(), "%s", missing)
	}
	return nil
}

// warnOfNotRun says how many slots did not run although nobody wanted that, in the time of the
// query or in the last 24 hours: to people such a slot failed, too.
func warnOfNotRun(a *app.App, s *schedule.Schedule, q past.Query, o options) {
	since, when := o.since, ""
	if q.Since.IsZero() {
		if !q.Until.IsZero() {
			return
		}
		since, when, q.Since = "24h", " in the last 24 hours", a.Now().Add(-24*time.Hour)
	}
	n, err := view.NotRunOf(context.Background(), a.View(s), q)
	if err != nil || n == (view.NotRun{}) { // the same error has ended the command before
		return
	}
	var parts []string
	if n.Missed > 0 {
		parts = append(parts, humanize.Count(n.Missed, "slot")+" missed")
	}
	if n.WithoutStore > 0 {
		parts = append(parts, humanize.Count(n.WithoutStore, "slot")+" skipped for want of the store")
	}
	command := "sched history" + a.View(s).Config
	if q.Task != "" {
		command += " " + q.Task
	}
	command += " --outcome missed,store-down --since " + quoted(since)
	if o.until != "" {
		command += " --until " + quoted(o.until)
	}
	a.WarnWithHint("`"+command+"` shows them", "beside these%s: %s", when, strings.Join(parts, ", "))
}

// quoted returns a value of a flag as people type it.
func quoted(value string) string {
	if strings.Contains(value, " ") {
		return `"` + value + `"`
	}
	return value
}

// readSlots reads what became of the slots that a query asks for. It returns an error for a task
// that has none of them and is not in the schedule.
func readSlots(a *app.App, s *schedule.Schedule, q past.Query, o options) (h slotHistory, err error) {
	read := view.Source.History
	if o.allServers {
		read = view.HistoryOfAll
	}
	live, lost, records, err := read(a.View(s), context.Background(), q)
	if err != nil {
		return h, err
	}
	h = slotHistory{
		waiting: waitingIn(view.WaitingRuns(a.View(s), live, a.View(s).Pauses), q),
		live:    slices.DeleteFunc(matching(live, q), state.Row.Waits),
		lost:    matching(lost, q),
		records: records,
	}
	if h.isEmpty() {
		return h, refuseUnknown(a, s, q.Task)
	}
	return h, nil
}

// refuseUnknown refuses a task that is not in the schedule. The empty name stands for all tasks.
func refuseUnknown(a *app.App, s *schedule.Schedule, task string) error {
	if task == "" {
		return nil
	}
	_, err := view.FindTask(s, task)
	if err == nil {
		return nil
	}
	if row, runErr := view.FindRecord(context.Background(), a.View(s), task); runErr == nil {
		return view.Fail(view.NotFound, view.IsRun(row, s.Location), "there is no task %q", task)
	}
	return err
}

// matching returns the rows that a query asks for. They have not ended, so they have no outcome.
func matching(rows []state.Row, q past.Query) []state.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(row state.Row) bool {
		return !q.Matches(row.WithoutOutcome())
	})
}

func waitingIn(waiting map[string][]view.Waiting, q past.Query) map[string][]view.Waiting {
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

func printRecords(a *app.App, h slotHistory, o options) error {
	records := h.records
	cut := o.limit > 0 && len(records) > o.limit
	if cut {
		records = records[:o.limit]
	}
	if err := printRows(a, view.RecordsOf(records, h.notifications), o); err != nil {
		return err
	}
	sayCut(a, o, cut)
	return nil
}

// showSummary prints a line for each task with what its slots add up to.
func showSummary(a *app.App, s *schedule.Schedule, q past.Query, o options) error {
	summaries, err := view.Summaries(context.Background(), a.View(s), q.Task, q.Since, q.Until)
	if err != nil {
		return err
	}
	if len(summaries) == 0 {
		if err := refuseUnknown(a, s, q.Task); err != nil {
			return err
		}
	}
	if o.json || o.csv {
		return printRows(a, view.SummariesOf(summaries), o)
	}
	printSummary(a, s.Location, summaries)
	return nil
}

func printRows(a *app.App, rows any, o options) error {
	if o.csv {
		a.PrintCSV(rows)
		return nil
	}
	return a.PrintJSON(rows)
}

func showChanges(a *app.App, s *schedule.Schedule, q past.Query, o options) error {
	changes, err := view.Changes(context.Background(), a.View(s), view.ChangeQuery{
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
		if err := refuseUnknown(a, s, q.Task); err != nil {
			return err
		}
	}
	cut := o.limit > 0 && len(changes) > o.limit
	if cut {
		changes = changes[:o.limit]
	}
	switch {
	case o.json:
		err = a.PrintJSON(changes)
	case len(changes) == 0:
		fmt.Fprintln(a.Out, "nobody has changed anything")
	default:
		printChanges(a, s, changes)
	}
	sayCut(a, o, cut)
	return err
}
