package overdue

import (
	"time"

	"sched/schedule/humanize"
	"sched/schedule/state"
)

// An Incident is a period in which a task was overdue. It ends with the end of the run, or with the
// next success.
type Incident struct {
	ID       string        `json:"id"` // for Within, the id of the run
	Task     string        `json:"task"`
	Kind     Kind          `json:"kind"`
	Since    time.Time     `json:"since"`           // the start of the run, the last success, or the first look
	Never    bool          `json:"never,omitempty"` // there was no success before
	Expected time.Duration `json:"expected"`
	Slot     time.Time     `json:"slot"` // the slot of the run; for Every, when the time was over
	Found    time.Time     `json:"found"`
	Server   string        `json:"server"`
	Reporter int64         `json:"teller,omitempty"` // the owner that fires on_overdue; 0 for nobody yet
	Reported bool          `json:"told,omitempty"`   // on_overdue has fired
}

// Text says what is wrong, as it is at the time now.
func (i Incident) Text(now time.Time) string {
	took, expected := humanize.Age(i.Since, now), humanize.Duration(i.Expected)
	switch {
	case i.Kind == Within:
		return "running for " + took + ", expected within " + expected
	case i.Never:
		return "no success yet, expected every " + expected
	}
	return "no success for " + took + ", expected every " + expected
}

// Record returns the row with which hooks are told of the incident.
func (i Incident) Record() state.Row {
	r := state.Row{
		ID:     i.ID,
		Task:   i.Task,
		Slot:   i.Slot.UTC(),
		Server: i.Server,
		Result: state.Result{Reason: i.Text(i.Found)},
	}
	if i.Kind == Within {
		r.Started = i.Since
	}
	return r
}

// A Kind says which part of `expect` was not met.
type Kind string

const (
	Within Kind = "within" // a run takes too long
	Every  Kind = "every"  // there was no success for too long
)
