package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/humanize"
	"sched/schedule/state"
)

// A Minute explains one minute of a task.
type Minute struct {
	Minute  string   `json:"minute"` // UTC
	Due     bool     `json:"due"`
	Clock   string   `json:"clock"`            // a change of the clocks that matters here
	Spread  string   `json:"spread,omitempty"` // how much later than its expressions it is due; empty: not later
	Bounds  string   `json:"bounds,omitempty"` // that it is before `from`, or not before `until`
	Reasons []Reason `json:"reasons"`
	Before  *string  `json:"before"` // for a minute at which it is not due: when it was last due,
	After   *string  `json:"after"`  // and when it is due next
	Slots   []Slot   `json:"slots"`
	Others  []Record `json:"others"` // recorded for this minute, though it is not due at these instants

	At       time.Time            `json:"-"` // Minute, exactly
	BeforeAt time.Time            `json:"-"` // Before, exactly; zero for none
	AfterAt  time.Time            `json:"-"` // After, exactly; zero for none
	Ended    map[string]state.Row `json:"-"` // the records, exactly, by run
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
	Slot    string   `json:"slot"` // UTC
	Says    string   `json:"says"`
	Unmet   string   `json:"unmet"` // a condition that keeps it from running, as the schedule is now
	Records []Record `json:"records"`

	// Elsewhere says what became of the slot on the other servers of the store. It is empty unless
	// the task is a one_server task and the slot did not run here.
	Elsewhere string `json:"elsewhere"`

	At time.Time `json:"-"` // Slot, exactly
}

func (w *Inquiry) minute(ctx context.Context, at time.Time) (*Minute, error) {
	e := w.Task.When.Explain(at)
	m := &Minute{
		Minute: e.Minute.UTC().Format(time.RFC3339), Clock: clockText(e), Slots: []Slot{}, Others: []Record{},
		At: e.Minute, Ended: map[string]state.Row{},
	}
	m.Spread, m.Bounds = spreadText(w.Task, e.Minute), boundsText(w.Task, e.Minute)
	for _, v := range e.Verdicts {
		m.Reasons = append(m.Reasons, toReason(v))
	}
	if len(e.Slots) == 0 && w.Task.When.Boot {
		e.Slots = w.atBoot(ctx, e.Minute)
	}
	if w.source.Schedule.Active(w.Task) {
		m.Due = len(e.Slots) > 0
	} else {
		e.Slots = nil // the records are of a time when it was active
	}
	if len(e.Slots) == 0 && w.source.Schedule.Active(w.Task) {
		m.BeforeAt, _ = w.Task.When.Previous(e.Minute)
		m.AfterAt, _ = w.Task.When.Next(e.Minute.Add(time.Minute - 1))
		m.Before, m.After = w.timeOrNil(m.BeforeAt), w.timeOrNil(m.AfterAt)
	}
	return m, w.outcomes(ctx, m, e.Slots)
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
	case !t.When.Bounds(humanize.Later(minute, t.When.From)):
		return "it has no slots from " + schedule.MomentText(t.When.Until, t.When.Location) + " on (until)"
	}
	return ""
}

func toReason(v cron.Verdict) Reason {
	out := Reason{Cron: v.Cron.String(), Due: v.Due, Why: v.Why()}
	for _, f := range v.Fields {
		out.Fields = append(out.Fields, Field{f.Name, f.Text, f.Value, f.Matches})
	}
	return out
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

func (w *Inquiry) outcomes(ctx context.Context, m *Minute, slots []time.Time) error {
	rows, err := w.records.Find(ctx, state.Query{Task: w.Task.Name, Since: m.At, Until: m.At.Add(time.Minute)})
	if err != nil {
		return err
	}
	slices.Reverse(rows) // oldest first
	shown := map[string]bool{}
	for _, at := range slots {
		slot := Slot{Slot: at.Format(time.RFC3339), Unmet: w.Task.UnmetCondition(at), Records: []Record{}, At: at}
		hasRow := slices.ContainsFunc(rows, func(r state.Row) bool {
			return r.Slot.Equal(at) && !r.IsRange() && r.Origin == ""
		})
		for _, r := range rows {
			around := r.IsRange() && !r.Slot.After(at) && !r.LastSlot.Before(at)
			switch {
			case around && hasRow:
				shown[r.ID] = true // it stands for the slots around this one
			case around || r.Slot.Equal(at):
				slot.Records = append(slot.Records, RecordOf(r))
				m.Ended[r.ID], shown[r.ID] = r, true
			}
		}
		if slot.Says, err = w.says(ctx, slot); err != nil {
			return err
		}
		slot.Elsewhere = w.slotElsewhere(ctx, at, slot.Records)
		m.Slots = append(m.Slots, slot)
	}
	for _, r := range rows {
		if !shown[r.ID] && !r.Slot.Before(m.At) {
			m.Others = append(m.Others, RecordOf(r))
			m.Ended[r.ID] = r
		}
	}
	return nil
}

// pausedText says what may let the slot of a task run all the same that is paused, and who paused
// it.
func (w *Inquiry) pausedText(at time.Time) string {
	paused := PauseOf(w.Pauses, w.Task, at)
	return paused.Ends() + ": " + paused.Raw.Text(w.Now, w.source.Schedule.Location)
}

// says returns what there is to say of a slot besides its records; "" if the records say all.
func (w *Inquiry) says(ctx context.Context, slot Slot) (string, error) {
	ofSlot := func(row state.Row) bool {
		return row.Task == w.Task.Name && row.Slot.Equal(slot.At)
	}
	if i := slices.IndexFunc(w.Live, ofSlot); i >= 0 {
		return RunningText(w.Live[i], w.Now), nil
	}
	if i := slices.IndexFunc(w.deferred, ofSlot); i >= 0 {
		run := w.deferred[i].ID
		i := slices.IndexFunc(w.Answer.Waiting, func(waiting Waiting) bool { return waiting.Run == run })
		return w.Answer.Waiting[i].Text(w.Now, w.zone()), nil
	}
	isDelayed := func(waiting Waiting) bool {
		return (waiting.Store != nil || waiting.AfterPause != nil) && waiting.Time.Equal(slot.At)
	}
	if i := slices.IndexFunc(w.Answer.Waiting, isDelayed); i >= 0 {
		return "it is " + w.Answer.Waiting[i].Text(w.Now, w.zone()), nil
	}
	switch {
	case slices.ContainsFunc(w.lost, ofSlot):
		return "its processes vanished; the next tick will finish it", nil
	case len(slot.Records) > 0:
		return "", nil
	case slot.At.After(w.Now):
		return w.foresee(slot), nil
	}
	return w.unrecorded(ctx, slot.At)
}

// foresee says what will become of a slot that is to come, as far as it is known now.
func (w *Inquiry) foresee(slot Slot) string {
	paused := PauseOf(w.Pauses, w.Task, slot.At) != nil
	switch {
	case slot.Unmet != "":
		return "it will be skipped: " + slot.Unmet
	case paused && w.Task.WaitsForPause(slot.At):
		return "it will wait for the end of that" + w.pausedText(slot.At)
	case paused:
		return "it will be skipped" + w.pausedText(slot.At)
	case len(w.Task.ConditionCommands) > 0:
		return "none of its other conditions is in the way; " + ConditionCommands(w.Task) +
			", right before it starts"
	}
	return "none of its conditions is in the way"
}

// unrecorded says why nothing was recorded for a slot of the past: the first reason that suffices.
func (w *Inquiry) unrecorded(ctx context.Context, slot time.Time) (string, error) {
	if waits := w.waitsFor(slot); waits != "" {
		return waits, nil
	}
	keep := w.source.Schedule.History
	around, err := w.records.Around(ctx, w.Task.Name, slot, max(keep.RunsPerTask, 1))
	if err != nil {
		return "", err
	}
	minute := slot.Truncate(time.Minute)
	switch {
	case w.Now.Sub(slot) < time.Minute:
		return "nothing is recorded yet: the tick of this minute has just begun, or did not come", nil
	case around.First.IsZero():
		return "nothing was ever recorded here: no `sched run` came, so look at the crontab, " +
			"or the state folder is new", nil
	case keep.Keep > 0 && slot.Before(w.Now.Add(-keep.Keep)):
		return "nothing is recorded any more: it is longer ago than history.keep", nil
	case slot.Before(around.First):
		return "nothing is recorded: the history begins at " + w.Time(around.First), nil
	case keep.RunsPerTask > 0 && around.TaskSince >= keep.RunsPerTask:
		return fmt.Sprintf("nothing is recorded any more: the %d records that history.runs_per_task keeps are newer",
			keep.RunsPerTask), nil
	case around.After.IsZero():
		return "nothing was recorded since " + w.Time(around.Before) +
			": no `sched run` came since, or one that did is still at work or was killed", nil
	case around.TaskFirst.IsZero():
		return "nothing was ever recorded of this task: it is new, " +
			"or was switched off or called something else then", nil
	case slot.Before(around.TaskFirst):
		return "nothing is recorded: the first record of this task is of " + w.Time(around.TaskFirst) +
			"; it was not in the schedule yet, switched off, or called something else", nil
	case around.After.Before(minute.Add(time.Minute)):
		return "nothing is recorded, though a tick of this minute recorded other tasks: " +
			"it was killed before this one, or the schedule was another one then", nil
	}
	return "nothing was recorded between " + w.Time(around.Before) + " and " + w.Time(around.After) +
		": no `sched run` came then, or it was killed", nil
}

// waitsFor says that the tick of the slot's minute is still at work, if a foreground run of that
// minute lives; else "".
func (w *Inquiry) waitsFor(slot time.Time) string {
	minute := slot.Truncate(time.Minute)
	i := slices.IndexFunc(w.Live, func(row state.Row) bool {
		return !row.Background && row.Slot.Truncate(time.Minute).Equal(minute)
	})
	if i < 0 {
		return ""
	}
	return "nothing is recorded yet: the tick of this minute is still at work, and runs " + w.Live[i].Task + " now"
}

// Time writes a time in the zone of texts.
func (w *Inquiry) Time(t time.Time) string { return humanize.SlotZone(t, w.zone()) }

func (w *Inquiry) zone() *time.Location {
	return cmp.Or(w.source.Zone, w.Task.When.Location)
}
