package overdue

import (
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
)

// A Kind says which part of `expect` was not met.
type Kind string

const (
	Within Kind = "within" // a run takes too long
	Every  Kind = "every"  // there was no success for too long
)

// An Incident is a period in which a task was overdue. It ends with the end of the run, or with the
// next success.
type Incident struct {
	ID       string        `json:"id"` // for Within, the id of the run
	Task     string        `json:"task"`
	Kind     Kind          `json:"kind"`
	Since    time.Time     `json:"since"`           // when the run began or the last success ended; if Never, when a tick first looked
	Never    bool          `json:"never,omitempty"` // there was no success before
	Expected time.Duration `json:"expected"`
	Slot     time.Time     `json:"slot"` // the slot of the run; for Every, when the time was over
	Found    time.Time     `json:"found"`
	Server   string        `json:"server"`
	Teller   int64         `json:"teller,omitempty"` // the owner that fires on_overdue; 0 for nobody yet
	Told     bool          `json:"told,omitempty"`   // on_overdue has fired
}

// Text says what is wrong, as it is at the time now.
func (i Incident) Text(now time.Time) string {
	took, expected := humanize.Duration(max(0, now.Sub(i.Since))), humanize.Duration(i.Expected)
	switch {
	case i.Kind == Within:
		return "running for " + took + ", expected within " + expected
	case i.Never:
		return "no success yet, expected every " + expected
	}
	return "no success for " + took + ", expected every " + expected
}

// Record is what hooks are told of the incident.
func (i Incident) Record() outcome.Record {
	r := outcome.Record{Run: i.ID, Task: i.Task, Slot: i.Slot.UTC(), Server: i.Server, Reason: i.Text(i.Found)}
	if i.Kind == Within {
		r.Started = i.Since
	}
	return r
}
