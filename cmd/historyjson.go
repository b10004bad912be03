package cmd

import (
	"time"

	"sched/schedule/outcome"
)

type recordJSON struct {
	Run        string   `json:"run"`
	Task       string   `json:"task"`
	Mutex      string   `json:"mutex"`
	Slot       string   `json:"slot"`
	Slots      int      `json:"slots"` // how many it stands for, from slot through until
	Until      *string  `json:"until"`
	Origin     string   `json:"origin"` // what asked for the run; empty for its schedule
	Background bool     `json:"background"`
	Server     string   `json:"server"`
	Started    *string  `json:"started"`
	Lateness   *float64 `json:"lateness"` // seconds from the slot to the start
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
}

func toJSON(r outcome.Record) recordJSON {
	out := recordJSON{
		Run: r.Run, Task: r.Task, Mutex: r.Mutex, Slot: r.Slot.UTC().Format(time.RFC3339), Origin: r.Origin, Background: r.Background,
		Server: r.Server, Ended: r.Ended.UTC().Format(time.RFC3339), Outcome: string(r.Outcome), Reason: r.Reason,
		ExitCode: r.ExitCode, Attempts: r.Attempts, Duration: r.Duration().Seconds(), UserCPU: r.UserCPU.Seconds(),
		SystemCPU: r.SystemCPU.Seconds(), Output: r.Output, Notes: r.Notes,
	}
	if r.PeakMemory > 0 {
		out.PeakMemory = &r.PeakMemory
	}
	if out.Notes == nil {
		out.Notes = []string{}
	}
	if !r.Started.IsZero() {
		started, late := r.Started.UTC().Format(time.RFC3339), r.Lateness().Seconds()
		out.Started, out.Lateness = &started, &late
	}
	if out.Slots = max(r.Slots, 1); r.IsRange() {
		until := r.Until.UTC().Format(time.RFC3339)
		out.Until = &until
	}
	return out
}

func toJSONs(records []outcome.Record) []recordJSON {
	out := []recordJSON{}
	for _, r := range records {
		out = append(out, toJSON(r))
	}
	return out
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
