package cmd

import (
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/cron"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/records"
	"sched/schedule/runfile"
)

// An inquiry is all that why explains a task with: its definition, and what the state folder says of it now.
type inquiry struct {
	app        *app
	s          *schedule.Schedule
	task       *schedule.Task
	now        time.Time
	next       time.Time // the next slot; zero with --at
	records    *records.Records
	live, lost []runfile.State
	deferred   []runfile.State // runs that wait for a tick with their next attempt
	waiting    []waitingJSON   // those of them of this task, and requests for it
	pauses     controls.Pauses
}

// A minuteJSON explains one minute of a task.
type minuteJSON struct {
	Minute  string        `json:"minute"` // UTC
	Due     bool          `json:"due"`
	Clock   string        `json:"clock"` // a change of the clocks that matters here
	Reasons []verdictJSON `json:"reasons"`
	Before  *string       `json:"before"` // for a minute at which it is not due: when it was last,
	After   *string       `json:"after"`  // and when it is next
	Slots   []slotJSON    `json:"slots"`
	Others  []recordJSON  `json:"others"` // recorded for this minute, though it is not due at these instants

	at      time.Time
	records map[string]outcome.Record // by run
}

type verdictJSON struct {
	Cron   string      `json:"cron"`
	Due    bool        `json:"due"`
	Why    string      `json:"why"`
	Fields []fieldJSON `json:"fields"`
}

type fieldJSON struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Value   int    `json:"value"`
	Matches bool   `json:"matches"`
}

// A slotJSON says what became of one slot. Says is what its records do not tell.
type slotJSON struct {
	Slot    string       `json:"slot"` // UTC
	Says    string       `json:"says"`
	Unmet   string       `json:"unmet"` // a condition that keeps it from running, as the schedule is now
	Records []recordJSON `json:"records"`

	at time.Time
}

// minute explains the minute that holds at.
func (w *inquiry) minute(at time.Time) (*minuteJSON, error) {
	e := w.task.When.Explain(at)
	m := &minuteJSON{
		Minute: e.Minute.UTC().Format(time.RFC3339), Clock: clockText(e), Slots: []slotJSON{}, Others: []recordJSON{},
		at: e.Minute, records: map[string]outcome.Record{},
	}
	for _, v := range e.Verdicts {
		m.Reasons = append(m.Reasons, toVerdictJSON(v))
	}
	if w.s.Active(w.task) {
		m.Due = len(e.Slots) > 0
	} else {
		e.Slots = nil // what was recorded is of a time when it was active
	}
	if len(e.Slots) == 0 && w.s.Active(w.task) {
		m.Before, m.After = w.neighbours(e.Minute)
	}
	return m, w.outcomes(m, e.Slots)
}

func toVerdictJSON(v cron.Verdict) verdictJSON {
	out := verdictJSON{Cron: v.Cron.String(), Due: v.Due, Why: v.Why()}
	for _, f := range v.Fields {
		out.Fields = append(out.Fields, fieldJSON{f.Name, f.Text, f.Value, f.Matches})
	}
	return out
}

// clockText explains a change of the clocks at or right before the minute; empty when there was none.
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
		return fmt.Sprintf("right before it the clocks went from %s to %s", e.Gap.From.Format("15:04"), e.Gap.To.Format("15:04"))
	}
	return ""
}

// neighbours are the nearest times at which the task is due.
func (w *inquiry) neighbours(minute time.Time) (before, after *string) {
	if t, ok := w.task.When.Previous(minute); ok {
		text := w.zoned(t).Format(time.RFC3339)
		before = &text
	}
	if t, ok := w.task.When.Next(minute.Add(time.Minute - 1)); ok {
		text := w.zoned(t).Format(time.RFC3339)
		after = &text
	}
	return before, after
}

// outcomes says what became of each slot of the minute.
func (w *inquiry) outcomes(m *minuteJSON, slots []time.Time) error {
	records, err := w.records.Find(ctx, history.Query{Task: w.task.Name, Since: m.at, Until: m.at.Add(time.Minute)})
	if err != nil {
		return err
	}
	slices.Reverse(records) // oldest first
	shown := map[string]bool{}
	for _, at := range slots {
		slot := slotJSON{Slot: at.Format(time.RFC3339), Unmet: w.task.UnmetCondition(at), Records: []recordJSON{}, at: at}
		own := slices.ContainsFunc(records, func(r outcome.Record) bool { return r.Slot.Equal(at) && !r.IsRange() && r.Origin == "" })
		for _, r := range records {
			around := r.IsRange() && !r.Slot.After(at) && !r.Until.Before(at)
			switch {
			case around && own:
				shown[r.Run] = true // it stands for the slots around this one
			case around || r.Slot.Equal(at):
				slot.Records = append(slot.Records, toJSON(r))
				m.records[r.Run], shown[r.Run] = r, true
			}
		}
		if slot.Says, err = w.says(slot); err != nil {
			return err
		}
		m.Slots = append(m.Slots, slot)
	}
	for _, r := range records {
		if !shown[r.Run] && !r.Slot.Before(m.at) {
			m.Others = append(m.Others, toJSON(r))
			m.records[r.Run] = r
		}
	}
	return nil
}

// pausedText says who paused the task as it is paused at that time.
func (w *inquiry) pausedText(at time.Time) string {
	return pausedNow(w.pauses, w.task, at).pause.Text(w.now, w.s.Location)
}

// says is what there is to say of a slot besides its records; empty where they tell all.
func (w *inquiry) says(slot slotJSON) (string, error) {
	of := func(state runfile.State) bool {
		return state.Begin.Task == w.task.Name && state.Begin.Slot.Equal(slot.at)
	}
	if i := slices.IndexFunc(w.live, of); i >= 0 {
		return runningText(w.live[i], w.now), nil
	}
	if i := slices.IndexFunc(w.deferred, of); i >= 0 {
		i := slices.IndexFunc(w.waiting, func(one waitingJSON) bool { return one.Run == w.deferred[i].Begin.Run })
		return w.app.waitText(w.waiting[i], w.task.When.Location), nil
	}
	switch {
	case slices.ContainsFunc(w.lost, of):
		return "its processes vanished; the next tick will finish it", nil
	case len(slot.Records) > 0:
		return "", nil
	case slot.at.After(w.now) && slot.Unmet != "":
		return "it will be skipped: " + slot.Unmet, nil
	case slot.at.After(w.now) && pausedNow(w.pauses, w.task, slot.at) != nil:
		return "it will be skipped unless it is resumed: " + w.pausedText(slot.at), nil
	case slot.at.After(w.now) && len(w.task.ConditionCommands) > 0:
		return "none of its other conditions is in the way; " + commandConditions(w.task) + ", right before it starts", nil
	case slot.at.After(w.now):
		return "none of its conditions is in the way", nil
	}
	return w.unrecorded(slot.at)
}
