package view

import (
	"bytes"
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
	Output     string   `json:"output"`
	Notes      []string `json:"notes"`

	Cause     *outcome.Cause      `json:"cause"`     // the run that triggered it; null if no run did
	Triggered []outcome.Triggered `json:"triggered"` // the runs that its hooks asked for
}

// RecordOf returns a record as it is shown.
func RecordOf(r state.Row) Record {
	out := Record{
		Run: r.ID, Task: r.Task, Mutex: r.Mutex, Slot: timeText(r.Slot), Origin: r.Origin, Background: r.Background,
		Server: r.Server, Ended: timeText(r.Ended), Outcome: string(r.Outcome), Reason: r.Reason,
		ExitCode: r.ExitCode, Attempts: r.Attempt.Number, Duration: r.Duration().Seconds(), UserCPU: r.UserCPU.Seconds(),
		SystemCPU: r.SystemCPU.Seconds(), Output: r.Output, Notes: r.Notes, Started: timeOrNil(r.Started), Waited: r.Wait.Waited.Seconds(),
		Cause: r.Cause, Triggered: r.Triggered,
	}
	if out.Triggered == nil {
		out.Triggered = []outcome.Triggered{}
	}
	if r.PeakMemory > 0 {
		out.PeakMemory = &r.PeakMemory
	}
	if out.Notes == nil {
		out.Notes = []string{}
	}
	if out.Started != nil {
		late := r.Lateness().Seconds()
		out.Lateness = &late
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
	text := timeText(t)
	return &text
}
