package view

import (
	"context"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A Summary is what the slots of one task in a span of time add up to.
type Summary struct {
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
	DurationMax    *float64 `json:"duration_max"` // seconds
	Lateness       *float64 `json:"lateness"`     // seconds: the median of those that ran as scheduled
	LatenessMax    *float64 `json:"lateness_max"` // seconds
	LastFailure    *string  `json:"last_failure"` // its slot
	LastFailureRun *string  `json:"last_failure_run"`
}

// Summaries adds up the slots of a task (all tasks for "") that have an outcome, from since to
// before until, by task. A zero time is no bound.
func (s Source) Summaries(ctx context.Context, task string, since, until time.Time) ([]state.Summary, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	return all.Summaries(ctx, task, since, until)
}

// SummariesOf returns summaries as they are shown.
func SummariesOf(all []state.Summary) []Summary {
	shown := make([]Summary, len(all))
	for i, summary := range all {
		shown[i] = summaryOf(summary)
	}
	return shown
}

func summaryOf(s state.Summary) Summary {
	shown := Summary{
		Task:      s.Task,
		Runs:      s.Ran(),
		Succeeded: s.Slots[outcome.Succeeded],
		Failed:    s.Slots[outcome.Failed],
		TimedOut:  s.Slots[outcome.TimedOut],
		Stopped:   s.Slots[outcome.Stopped],
		Lost:      s.Slots[outcome.Lost],
		Skipped:   s.Slots[outcome.Skipped],
		Missed:    s.Slots[outcome.Missed],
	}
	if rate, ok := s.SuccessRate(); ok {
		shown.SuccessRate = &rate
	}
	if s.Took.Runs > 0 {
		shown.Duration = new(s.Took.Median.Seconds())
		shown.Duration95 = new(s.Took.P95.Seconds())
		shown.DurationMax = new(s.Took.Max.Seconds())
	}
	if s.Late.Runs > 0 {
		shown.Lateness = new(s.Late.Median.Seconds())
		shown.LatenessMax = new(s.Late.Max.Seconds())
	}
	if s.FailedID != "" {
		shown.LastFailure, shown.LastFailureRun = timeOrNil(s.Failed), &s.FailedID
	}
	return shown
}
