package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// A Record says what became of one slot, or of several slots that one record stands for.
type Record struct {
	Run        string             `json:"run"`
	Task       string             `json:"task"`
	Mutex      string             `json:"mutex"`
	Slot       humanize.JSONTime  `json:"slot"`
	Slots      int                `json:"slots"` // how many slots it stands for, from slot through until
	Until      *humanize.JSONTime `json:"until"`
	Nominal    string             `json:"nominal,omitempty"` // with a calendar: the day that was meant
	Moved      string             `json:"moved,omitempty"`   // why that is another day, in words
	Repeats    *humanize.JSONTime `json:"repeats"`           // of a retry: the slot that its command is for; else null
	Origin     string             `json:"origin"`            // what asked for the run; empty for its schedule
	Background bool               `json:"background"`
	Server     string             `json:"server"`
	Started    *humanize.JSONTime `json:"started"`
	Lateness   *float64           `json:"lateness"` // seconds from the slot to the start
	Waited     float64            `json:"waited"`   // seconds for which it waited for its mutex or for a seat of its pool
	Ended      humanize.JSONTime  `json:"ended"`    // empty while the run has not ended
	Outcome    string             `json:"outcome"`
	Reason     string             `json:"reason"`
	ExitCode   *int               `json:"exit_code"`
	Attempts   int                `json:"attempts"`
	Duration   float64            `json:"duration"`    // seconds
	UserCPU    float64            `json:"user_cpu"`    // seconds
	SystemCPU  float64            `json:"system_cpu"`  // seconds
	PeakMemory *int64             `json:"peak_memory"` // bytes; null when it is not known
	Warning    bool               `json:"warning"`     // it succeeded with a warning
	Limits     string             `json:"limits"`      // how its limits were kept; "" without
	Output     string             `json:"output"`
	Notes      []string           `json:"notes"`

	Cause     *outcome.Cause      `json:"cause"`            // the run that triggered it; null if no run did
	Triggered []outcome.Triggered `json:"triggered"`        // the runs that its hooks asked for
	Params    map[string]string   `json:"params,omitempty"` // the values that somebody set for the run
	Values    map[string]float64  `json:"values,omitempty"` // that the run reported

	Notifications []Notification `json:"notifications,omitempty"` // that are over or wait; of one run alone also the others
}

// RecordOf returns a record as it is shown.
func RecordOf(r state.Row) Record {
	shown := Record{
		Run:        r.ID,
		Task:       r.Task,
		Mutex:      r.Mutex,
		Slot:       humanize.UTC(r.Slot),
		Slots:      max(r.Slots, 1),
		Nominal:    r.Nominal,
		Moved:      r.Moved,
		Repeats:    humanize.UTCOrNil(r.Repeats),
		Origin:     r.Origin,
		Background: r.Background,
		Server:     r.Server,
		Started:    humanize.UTCOrNil(r.Started),
		Waited:     r.Wait.Waited.Seconds(),
		Ended:      humanize.UTC(r.Ended),
		Outcome:    string(r.Outcome),
		Reason:     r.Reason,
		ExitCode:   r.ExitCode,
		Attempts:   r.Attempt.Number,
		Duration:   r.Duration().Seconds(),
		UserCPU:    r.UserCPU.Seconds(),
		SystemCPU:  r.SystemCPU.Seconds(),
		PeakMemory: orNil(r.PeakMemory),
		Warning:    r.Warned(),
		Limits:     r.Limits,
		Output:     r.Output,
		Cause:      r.Cause,
		Triggered:  listOf(r.Triggered),
		Params:     r.Params,
		Values:     r.Values,
	}
	shown.notify(r, notificationsOf(r))
	if !r.Started.IsZero() {
		shown.Lateness = new(r.Lateness().Seconds())
	}
	if r.IsRange() {
		shown.Until = humanize.UTCOrNil(r.LastSlot)
	}
	return shown
}

// notify sets the notifications of a record, and the notes that say more.
func (r *Record) notify(row state.Row, all []Notification) {
	r.Notifications, r.Notes = all, listOf(notesBeside(all, row.Notes))
}

// RecordsOf returns records as they are shown, with the notifications that wait. Without records it
// returns an empty list.
func RecordsOf(rows []state.Row, waiting WaitingNotifications) []Record {
	out := []Record{}
	for _, r := range rows {
		record := RecordOf(r)
		record.notify(r, knownNotifications(r, waiting))
		out = append(out, record)
	}
	return out
}

// Describe says in words how a run ended: "failed in 2.1 s: exit code 7 (attempt 3)".
func Describe(r state.Row) string {
	var b strings.Builder
	b.WriteString(r.OutcomeText())
	separator := ": "
	switch {
	case r.Outcome == outcome.TimedOut, r.Outcome == outcome.Stopped && !isStoppedByHand(r):
		separator = " " // "timed out after 20m", "stopped by SIGTERM"
	case !r.Started.IsZero() && r.Outcome != outcome.Lost:
		b.WriteString(" in " + humanize.Duration(r.Duration()))
	}
	if r.Reason != "" {
		b.WriteString(separator + r.Reason)
	}
	var more []string
	if r.Attempt.Number > 1 {
		more = append(more, fmt.Sprintf("attempt %d", r.Attempt.Number))
	}
	if r.Origin != "" {
		more = append(more, r.Origin)
	}
	if r.NoChain {
		more = append(more, "without its chain")
	}
	for _, t := range r.Triggered {
		more = append(more, "triggered "+t.Task)
	}
	if len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, ", ") + ")")
	}
	return b.String()
}

// DescribeElsewhere says that a slot did not run here, and what became of it on the server that has
// run it, or runs it, or ran it when that server reported last, or skipped it.
func DescribeElsewhere(here, other state.Row, now time.Time) string {
	there := fmt.Sprintf("on %s (run %s)", other.Server, humanize.ShortRun(other.ID))
	switch {
	case other.Outcome == outcome.Skipped:
		return fmt.Sprintf("skipped on %s: %s", other.Server, other.Reason)
	case other.Outcome != "":
		return fmt.Sprintf("%s: it ran %s: %s", here.OutcomeText(), there, Describe(other))
	case !other.LastReported.IsZero():
		return fmt.Sprintf("%s: it was running %s %s", here.OutcomeText(), there, LastReportedText(other, now))
	}
	return fmt.Sprintf("%s: it runs %s", here.OutcomeText(), there)
}

// isStoppedByHand reports whether a person has stopped the run. A row of an older sched has no kind
// for that, and has the request.
func isStoppedByHand(r state.Row) bool {
	return r.Kind == outcome.ByHand || r.Kind == "" && r.Stop != nil && r.Stop.Reason == ""
}

// Late says how long a run waited for its turn. It also says how late a run of the schedule
// started, if that is more than a tick takes. If neither is worth saying, it returns "". A run that
// is later than any missed slot may run was started with --at, and is not late.
func Late(r state.Row) (said string) {
	if r.Wait.Waited >= time.Second && r.Ran() {
		said = ", waited " + humanize.Duration(r.Wait.Waited)
	}
	late := r.Lateness() - r.Wait.Waited
	if r.Origin != "" || late <= 5*time.Second || late > schedule.LookBack {
		return said
	}
	return said + ", " + humanize.Duration(late) + " late"
}

// A Summary is what the slots of one task in a span of time add up to.
type Summary struct {
	Task           string             `json:"task"`
	Runs           int                `json:"runs"`
	Succeeded      int                `json:"succeeded"`
	Failed         int                `json:"failed"`
	TimedOut       int                `json:"timed_out"`
	Stopped        int                `json:"stopped"`
	Lost           int                `json:"lost"`
	Skipped        int                `json:"skipped"`
	Missed         int                `json:"missed"`
	SuccessRate    *float64           `json:"success_rate"` // of the runs, from 0 to 1
	Duration       *float64           `json:"duration"`     // seconds: the median of those that succeeded
	Duration95     *float64           `json:"duration_95"`  // seconds: 95 of 100 took no longer
	DurationMax    *float64           `json:"duration_max"` // seconds
	Lateness       *float64           `json:"lateness"`     // seconds: the median of those that ran as scheduled
	LatenessMax    *float64           `json:"lateness_max"` // seconds
	LastFailure    *humanize.JSONTime `json:"last_failure"` // its slot
	LastFailureRun *string            `json:"last_failure_run"`
}

// Summaries adds up the slots of a task (all tasks for "") that have an outcome, from since to
// before until, by task. A zero time is no bound.
func Summaries(ctx context.Context, s Source, task string, since, until time.Time) ([]past.Summary, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	return all.Summaries(ctx, task, since, until)
}

// SummariesOf returns summaries as they are shown.
func SummariesOf(all []past.Summary) []Summary {
	shown := make([]Summary, len(all))
	for i, summary := range all {
		shown[i] = summaryOf(summary)
	}
	return shown
}

func summaryOf(s past.Summary) Summary {
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
		shown.LastFailure, shown.LastFailureRun = humanize.UTCOrNil(s.Failed), &s.FailedID
	}
	return shown
}
