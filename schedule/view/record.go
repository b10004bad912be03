package view

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A Record says what became of one slot, or of several slots that one record stands for.
type Record struct {
	Run        string   `json:"run"`
	Task       string   `json:"task"`
	Mutex      string   `json:"mutex"`
	Slot       string   `json:"slot"`
	Slots      int      `json:"slots"` // how many slots it stands for, from slot through until
	Until      *string  `json:"until"`
	Origin     string   `json:"origin"` // what asked for the run; empty for its schedule
	Background bool     `json:"background"`
	Server     string   `json:"server"`
	Started    *string  `json:"started"`
	Lateness   *float64 `json:"lateness"` // seconds from the slot to the start
	Waited     float64  `json:"waited"`   // seconds for which it waited for its mutex or for a seat of its pool
	Ended      string   `json:"ended"`
	Outcome    string   `json:"outcome"`
	Reason     string   `json:"reason"`
	ExitCode   *int     `json:"exit_code"`
	Attempts   int      `json:"attempts"`
	Duration   float64  `json:"duration"`    // seconds
	UserCPU    float64  `json:"user_cpu"`    // seconds
	SystemCPU  float64  `json:"system_cpu"`  // seconds
	PeakMemory *int64   `json:"peak_memory"` // bytes; null when it is not known
	Warning    bool     `json:"warning"`     // of a success
	Limits     string   `json:"limits"`      // how its limits were kept; "" without
	Output     string   `json:"output"`
	Notes      []string `json:"notes"`

	Cause     *outcome.Cause      `json:"cause"`            // the run that triggered it; null if no run did
	Triggered []outcome.Triggered `json:"triggered"`        // the runs that its hooks asked for
	Params    map[string]string   `json:"params,omitempty"` // the values that somebody set for the run
}

// RecordOf returns a record as it is shown.
func RecordOf(r state.Row) Record {
	out := Record{
		Run: r.ID, Task: r.Task, Mutex: r.Mutex, Slot: timeText(r.Slot), Origin: r.Origin, Background: r.Background,
		Server: r.Server, Ended: timeText(r.Ended), Outcome: string(r.Outcome), Warning: r.Warned(), Reason: r.Reason,
		ExitCode: r.ExitCode, Attempts: r.Attempt.Number, Duration: r.Duration().Seconds(), UserCPU: r.UserCPU.Seconds(),
		SystemCPU: r.SystemCPU.Seconds(), Limits: r.Limits, Output: r.Output, Notes: listOf(r.Notes), Started: timeOrNil(r.Started), Waited: r.Wait.Waited.Seconds(),
		Cause: r.Cause, Triggered: listOf(r.Triggered), Params: r.Params,
	}
	if r.PeakMemory > 0 {
		out.PeakMemory = &r.PeakMemory
	}
	if out.Started != nil {
		out.Lateness = new(r.Lateness().Seconds())
	}
	if out.Slots = max(r.Slots, 1); r.IsRange() {
		out.Until = timeOrNil(r.LastSlot)
	}
	return out
}

// RecordsOf returns records as they are shown. Without records it returns an empty list.
func RecordsOf(rows []state.Row) []Record {
	out := []Record{}
	for _, r := range rows {
		out = append(out, RecordOf(r))
	}
	return out
}

// JSON returns a value as --json prints it and the API answers it. It is indented, because people
// read it, too, and ends with a line break.
func JSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return text.Bytes(), err
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// timeOrNil is timeText, and nil for the zero time.
func timeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(timeText(t))
}

func secondsOrNil(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return new(d.Seconds())
}

// listOf returns an empty list for nil, because the lists of docs/json.md are never null.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// A Summary is what the slots of one task in a time add up to.
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

// SummariesOf returns summaries as they are encoded.
func SummariesOf(all []state.Summary) []Summary {
	out := make([]Summary, len(all))
	for i, one := range all {
		out[i] = summaryOf(one)
	}
	return out
}

func summaryOf(s state.Summary) Summary {
	out := Summary{
		Task: s.Task, Runs: s.Ran(), Succeeded: s.Slots[outcome.Succeeded], Failed: s.Slots[outcome.Failed],
		TimedOut: s.Slots[outcome.TimedOut], Stopped: s.Slots[outcome.Stopped], Lost: s.Slots[outcome.Lost],
		Skipped: s.Slots[outcome.Skipped], Missed: s.Slots[outcome.Missed],
	}
	seconds := func(d time.Duration) *float64 { return new(d.Seconds()) }
	if rate, ok := s.SuccessRate(); ok {
		out.SuccessRate = &rate
	}
	if s.Took.Runs > 0 {
		out.Duration, out.Duration95, out.DurationMax = seconds(s.Took.Median), seconds(s.Took.P95), seconds(s.Took.Max)
	}
	if s.Late.Runs > 0 {
		out.Lateness, out.LatenessMax = seconds(s.Late.Median), seconds(s.Late.Max)
	}
	if s.FailedID != "" {
		out.LastFailure, out.LastFailureRun = timeOrNil(s.Failed), &s.FailedID
	}
	return out
}
