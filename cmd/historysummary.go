package cmd

import (
	"fmt"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

type summaryJSON struct {
	Task           string   `json:"task"`
	Runs           int      `json:"runs"`
	Succeeded      int      `json:"succeeded"`
	Failed         int      `json:"failed"`
	TimedOut       int      `json:"timed_out"`
	Stopped        int      `json:"stopped"`
	Lost           int      `json:"lost"`
	Skipped        int      `json:"skipped"`
	Missed         int      `json:"missed"`
	SuccessRate    *float64 `json:"success_rate"` // of the runs, from 0 to 1
	Duration       *float64 `json:"duration"`     // seconds: the median of those that succeeded
	Duration95     *float64 `json:"duration_95"`  // seconds: 95 of 100 took no longer
	Lateness       *float64 `json:"lateness"`     // seconds: the median of those that ran as scheduled
	LatenessMax    *float64 `json:"lateness_max"` // seconds
	LastFailure    *string  `json:"last_failure"` // its slot
	LastFailureRun *string  `json:"last_failure_run"`
}

func (a historyCommand) summary(s *schedule.Schedule, q state.Query, o historyOptions) error {
	recorded, err := a.view(s).Records(ctx)
	if err != nil {
		return err
	}
	defer recorded.Close()
	all, err := recorded.Summaries(ctx, q.Task, q.Since, q.Until)
	if err != nil {
		return err
	}
	if q.Task != "" && len(all) == 0 {
		if _, err := view.FindTask(s, q.Task); err != nil {
			return err
		}
	}
	rows := []summaryJSON{}
	for _, one := range all {
		rows = append(rows, toSummaryJSON(one))
	}
	switch {
	case o.json:
		return a.printJSON(rows)
	case o.csv:
		return a.printCSV(rows)
	}
	a.printSummary(s.Location, all)
	return nil
}

func toSummaryJSON(s state.Summary) summaryJSON {
	out := summaryJSON{
		Task: s.Task, Runs: s.Ran(), Succeeded: s.Slots[outcome.Succeeded], Failed: s.Slots[outcome.Failed],
		TimedOut: s.Slots[outcome.TimedOut], Stopped: s.Slots[outcome.Stopped], Lost: s.Slots[outcome.Lost],
		Skipped: s.Slots[outcome.Skipped], Missed: s.Slots[outcome.Missed],
	}
	if rate, ok := s.SuccessRate(); ok {
		out.SuccessRate = &rate
	}
	if out.Succeeded > 0 {
		out.Duration, out.Duration95 = seconds(s.Took.Median), seconds(s.Took.P95)
	}
	if s.Late.Runs > 0 {
		out.Lateness, out.LatenessMax = seconds(s.Late.Median), seconds(s.Late.Max)
	}
	if s.FailedID != "" {
		at := s.Failed.UTC().Format(time.RFC3339)
		out.LastFailure, out.LastFailureRun = &at, &s.FailedID
	}
	return out
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

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// percent writes a rate from 0 to 1. It is "100 %" only for 1.
func percent(rate float64) string {
	if rate < 1 && rate >= 0.9995 {
		rate = 0.999
	}
	return fmt.Sprintf("%.4g %%", float64(int(rate*1000+0.5))/10)
}
