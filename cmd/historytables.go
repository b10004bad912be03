package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

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
		return failed("", "%w", err)
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
