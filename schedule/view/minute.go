package view

import (
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// A Minute explains one minute of a task.
type Minute struct {
	Minute  humanize.JSONTime  `json:"minute"` // UTC
	Due     bool               `json:"due"`
	Clock   string             `json:"clock"`            // a change of the clocks that matters here
	Spread  string             `json:"spread,omitempty"` // how much later than its expressions it is due; empty: not later
	Bounds  string             `json:"bounds,omitempty"` // that it is before `from`, or not before `until`
	Reasons []Reason           `json:"reasons"`
	Before  *humanize.JSONTime `json:"before"` // for a minute at which it is not due: when it was last due,
	After   *humanize.JSONTime `json:"after"`  // and when it is due next
	Slots   []Slot             `json:"slots"`
	Others  []Record           `json:"others"` // recorded for this minute, though it is not due at these instants

	Ended map[string]state.Row `json:"-"` // the records, exactly, by run
}

// A Reason is what an expression says of a minute.
type Reason struct {
	Cron   string  `json:"cron"`
	Due    bool    `json:"due"`
	Why    string  `json:"why"`
	Fields []Field `json:"fields"`
}

// A Field is what a field of an expression says of a minute.
type Field struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Value   int    `json:"value"`
	Matches bool   `json:"matches"`
}

// A Slot says what became of one slot. Says has what its records do not tell.
type Slot struct {
	Slot    humanize.JSONTime `json:"slot"` // UTC
	Says    string            `json:"says"`
	Unmet   string            `json:"unmet"` // a condition that keeps it from running, as the schedule is now
	Records []Record          `json:"records"`

	// Elsewhere says what became of the slot on the other servers of the store. It is empty unless
	// the task is a one_server task and the slot did not run here.
	Elsewhere string `json:"elsewhere"`
}

// spreadText says how much later than its expressions a task is due, and which time of the
// expressions the minute stands for.
func spreadText(t *schedule.Task, minute time.Time) string {
	if t.When.Shift == 0 {
		return ""
	}
	return fmt.Sprintf("spread over %d min: it is due %d min later than its expressions say, "+
		"so this minute is their %s",
		t.Spread/time.Minute, t.When.Shift/time.Minute, minute.Add(-t.When.Shift).Format("15:04"))
}

// boundsText says that the minute lies before `from` of the task, or that `until` has come; else
// "".
func boundsText(t *schedule.Task, minute time.Time) string {
	switch {
	case minute.Add(time.Minute - 1).Before(t.When.From):
		return "it has no slots before " + schedule.MomentText(t.When.From, t.When.Location) + " (from)"
	case !t.When.InBounds(humanize.Later(minute, t.When.From)):
		return "it has no slots from " + schedule.MomentText(t.When.Until, t.When.Location) + " on (until)"
	}
	return ""
}

func toReason(v cron.Verdict) Reason {
	reason := Reason{Cron: v.Cron.String(), Due: v.Due, Why: v.Why()}
	for _, f := range v.Fields {
		reason.Fields = append(reason.Fields, Field{f.Name, f.Text, f.Value, f.Matches})
	}
	return reason
}

// clockText explains a change of the clocks at or right before the minute; "" if the clocks did not
// change.
func clockText(e cron.Explanation) string {
	other := func(forward bool) string {
		d := 24 * time.Hour // past the change
		if !forward {
			d = -d
		}
		_, here := e.Minute.Zone()
		_, there := e.Minute.Add(d).Zone()
		return e.Minute.Add(time.Duration(here-there) * time.Second).Format(time.RFC3339)
	}
	switch {
	case e.Pass == 1:
		return "the clocks show this minute twice; this is the first time, the second is " + other(true)
	case e.Pass == 2:
		return "the clocks show this minute twice; this is the second time, the first is " + other(false)
	case e.Gap != nil:
		return fmt.Sprintf("right before it the clocks went from %s to %s",
			e.Gap.From.Format("15:04"), e.Gap.To.Format("15:04"))
	}
	return ""
}
