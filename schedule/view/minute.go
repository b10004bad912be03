package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/cron"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
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

// explain explains the minute of the task that holds at.
func (q *Inquiry) explain(ctx context.Context, at time.Time) (*Minute, error) {
	e := q.Task.When.Explain(at)
	m := &Minute{
		Minute: e.Minute.UTC().Format(time.RFC3339), Clock: clockText(e), Slots: []Slot{}, Others: []Record{},
		At: e.Minute, Ended: map[string]state.Row{},
	}
	m.Spread, m.Bounds = spreadText(q.Task, e.Minute), boundsText(q.Task, e.Minute)
	for _, v := range e.Verdicts {
		m.Reasons = append(m.Reasons, toReason(v))
	}
	if len(e.Slots) == 0 && q.Task.When.Boot {
		e.Slots = q.bootSlots(ctx, e.Minute)
	}
	if q.source.Schedule.Active(q.Task) {
		m.Due = len(e.Slots) > 0
	} else {
		e.Slots = nil // the records are of a time when it was active
	}
	if len(e.Slots) == 0 && q.source.Schedule.Active(q.Task) {
		m.BeforeAt, _ = q.Task.When.Previous(e.Minute)
		m.AfterAt, _ = q.Task.When.Next(e.Minute.Add(time.Minute - 1))
		m.Before, m.After = q.timeOrNil(m.BeforeAt), q.timeOrNil(m.AfterAt)
	}
	return m, q.addSlots(ctx, m, e.Slots)
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

// addSlots adds what became of the slots of the minute, and the other records of the minute.
func (q *Inquiry) addSlots(ctx context.Context, m *Minute, slots []time.Time) error {
	rows, err := q.records.Find(ctx, state.Query{Task: q.Task.Name, Since: m.At, Until: m.At.Add(time.Minute)})
	if err != nil {
		return err
	}
	slices.Reverse(rows) // oldest first
	shown := map[string]bool{}
	for _, at := range slots {
		slot := Slot{Slot: at.Format(time.RFC3339), Unmet: q.Task.UnmetCondition(at), Records: []Record{}, At: at}
		hasOwnRow := slices.ContainsFunc(rows, func(r state.Row) bool { return q.isOf(r, at) && !r.IsRange() })
		for _, r := range rows {
			isAround := r.IsRange() && !r.Slot.After(at) && !r.LastSlot.Before(at)
			if !isAround && !r.Slot.Equal(at) {
				continue
			}
			shown[r.ID] = true
			if isAround && hasOwnRow {
				continue // the range stands for the slots around this one
			}
			slot.Records = append(slot.Records, RecordOf(r))
			m.Ended[r.ID] = r
		}
		if slot.Says, err = q.slotText(ctx, slot); err != nil {
			return err
		}
		slot.Elsewhere = q.slotElsewhere(ctx, at, slot.Records)
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

// pausedText returns the end of a sentence about a paused slot: what may end the pause early, and
// who made it.
func (q *Inquiry) pausedText(at time.Time) string {
	paused := PauseOf(q.Pauses, q.Task, at)
	return paused.Ends() + ": " + paused.Raw.Text(q.Now, q.source.Schedule.Location)
}

// slotText returns what there is to say of a slot besides its records; "" if the records say all.
func (q *Inquiry) slotText(ctx context.Context, slot Slot) (string, error) {
	ofSlot := func(row state.Row) bool { return q.isOf(row, slot.At) }
	if i := slices.IndexFunc(q.Live, ofSlot); i >= 0 {
		return RunningText(q.Live[i], q.Now, q.zone()), nil
	}
	if i := slices.IndexFunc(q.waiting, ofSlot); i >= 0 {
		run := q.waiting[i].ID
		i := slices.IndexFunc(q.Answer.Waiting, func(waiting Waiting) bool { return waiting.Run == run }) // it has each
		return q.Answer.Waiting[i].Text(q.Now, q.zone()), nil
	}
	isDelayed := func(waiting Waiting) bool { return waiting.isDelayed() && waiting.Time.Equal(slot.At) }
	if i := slices.IndexFunc(q.Answer.Waiting, isDelayed); i >= 0 {
		return "it is " + q.Answer.Waiting[i].Text(q.Now, q.zone()), nil
	}
	switch {
	case slices.ContainsFunc(q.lost, ofSlot):
		return "its processes vanished; the next tick will finish it", nil
	case len(slot.Records) > 0:
		return "", nil
	case slot.At.After(q.Now):
		return q.foresee(slot), nil
	}
	return q.unrecordedText(ctx, slot.At)
}

// foresee says what will become of a slot that is to come, as far as it is known now.
func (q *Inquiry) foresee(slot Slot) string {
	paused := PauseOf(q.Pauses, q.Task, slot.At) != nil
	switch {
	case slot.Unmet != "":
		return "it will be skipped: " + slot.Unmet
	case paused && q.Task.WaitsForPause(slot.At):
		return "it will wait for the end of that" + q.pausedText(slot.At)
	case paused:
		return "it will be skipped" + q.pausedText(slot.At)
	case len(q.Task.ConditionCommands) > 0:
		return "none of its other conditions is in the way; " + ConditionCommands(q.Task) +
			", right before it starts"
	}
	return "none of its conditions is in the way"
}

// unrecordedText says why nothing was recorded for a slot of the past: the first reason that
// suffices.
func (q *Inquiry) unrecordedText(ctx context.Context, slot time.Time) (string, error) {
	if waits := q.tickAtWork(slot); waits != "" {
		return waits, nil
	}
	keep := q.source.Schedule.History
	around, err := q.records.Around(ctx, q.Task.Name, slot, max(keep.RunsPerTask, 1))
	if err != nil {
		return "", err
	}
	minute := slot.Truncate(time.Minute)
	switch {
	case q.Now.Sub(slot) < time.Minute:
		return "nothing is recorded yet: the tick of this minute has just begun, or did not come", nil
	case around.First.IsZero():
		return "nothing was ever recorded here: no `sched run` came, so look at the crontab, " +
			"or the state folder is new", nil
	case keep.Keep > 0 && slot.Before(q.Now.Add(-keep.Keep)):
		return "nothing is recorded any more: it is longer ago than history.keep", nil
	case slot.Before(around.First):
		return "nothing is recorded: the history begins at " + q.TimeText(around.First), nil
	case keep.RunsPerTask > 0 && around.TaskSince >= keep.RunsPerTask:
		return fmt.Sprintf("nothing is recorded any more: the %d records that history.runs_per_task keeps are newer",
			keep.RunsPerTask), nil
	case around.After.IsZero():
		return "nothing was recorded since " + q.TimeText(around.Before) +
			": no `sched run` came since, or one that did is still at work, or is gone and recorded nothing", nil
	case around.TaskFirst.IsZero():
		return "nothing was ever recorded of this task: it is new, " +
			"or was switched off or called something else then", nil
	case slot.Before(around.TaskFirst):
		return "nothing is recorded: the first record of this task is of " + q.TimeText(around.TaskFirst) +
			"; it was not in the schedule yet, switched off, or called something else", nil
	case around.After.Before(minute.Add(time.Minute)):
		return "nothing is recorded, though a tick of this minute recorded other tasks: " +
			"it recorded nothing of this one, or the schedule was another one then", nil
	}
	return "nothing was recorded between " + q.TimeText(around.Before) + " and " + q.TimeText(around.After) +
		": no `sched run` came then, or it recorded nothing", nil
}

// tickAtWork says that the tick of the slot's minute is still at work, if a foreground run of that
// minute lives; else "".
func (q *Inquiry) tickAtWork(slot time.Time) string {
	minute := slot.Truncate(time.Minute)
	i := slices.IndexFunc(q.Live, func(row state.Row) bool {
		return !row.Background && row.Slot.Truncate(time.Minute).Equal(minute)
	})
	if i < 0 {
		return ""
	}
	return "nothing is recorded yet: the tick of this minute is still at work, and runs " + q.Live[i].Task + " now"
}

// TimeText writes a time for people, in the zone that they chose or else in the zone of the task.
func (q *Inquiry) TimeText(t time.Time) string { return humanize.SlotZone(t, q.zone()) }

func (q *Inquiry) zone() *time.Location {
	return cmp.Or(q.source.Zone, q.Task.When.Location)
}

// slotElsewhere says what became of a slot of a one_server task on the other servers of the store.
// It returns "" if the task runs on every server, and if the slot ran here or is yet to come. If
// the store does not answer, it reports that and returns "".
func (q *Inquiry) slotElsewhere(ctx context.Context, at time.Time, records []Record) string {
	s := q.source
	if s.Controls.Store == nil || !q.Task.OneServer || at.After(q.Now) || q.isHere(at, records) {
		return ""
	}
	query := state.Query{Task: q.Task.Name, Since: at, Until: at.Add(time.Second)}
	live, ended, err := runsElsewhere(ctx, s, query, cluster.MaxRuns)
	if err != nil {
		s.LeftOut(err)
		return ""
	}
	for _, r := range slices.Concat(ended, live) {
		switch {
		case !q.isOf(r, at):
		case r.Outcome != "":
			return fmt.Sprintf("on %s it %s (run %s)", r.Server, Describe(r), humanize.ShortRun(r.ID))
		default:
			return fmt.Sprintf("on %s %s", r.Server, RunningText(r, q.Now, q.zone()))
		}
	}
	return q.claimElsewhere(ctx, at)
}

// isHere reports whether a slot ran on this machine, runs, or will.
func (q *Inquiry) isHere(at time.Time, records []Record) bool {
	ran := func(r Record) bool { return r.Origin == "" && slices.Contains(outcome.Ran, outcome.Outcome(r.Outcome)) }
	isOfSlot := func(row state.Row) bool { return q.isOf(row, at) }
	return slices.ContainsFunc(records, ran) ||
		slices.ContainsFunc(slices.Concat(q.Live, q.lost, q.waiting), isOfSlot)
}

// claimElsewhere says whether another server has claimed a slot that has no known run. It returns
// "" while a server may still claim the slot, and if the store does not answer.
func (q *Inquiry) claimElsewhere(ctx context.Context, at time.Time) string {
	key := schedule.Slot{Task: q.Task, At: at}.ClaimKey()
	claims, err := q.source.Controls.Store.Claims(ctx, key)
	holder, claimed := claims[key]
	switch {
	case claimed && holder.Host != q.source.Server:
		return fmt.Sprintf("%s has claimed it (run %s), and has not told yet what became of it",
			holder.Host, humanize.ShortRun(holder.Run))
	case err != nil, q.Now.Sub(at) < time.Minute:
		return ""
	}
	return "no other server has told that it ran there"
}

// isOf reports whether a row is the run of a slot of the task, which nobody asked for.
func (q *Inquiry) isOf(row state.Row, at time.Time) bool {
	return row.Task == q.Task.Name && row.Slot.Equal(at) && row.Origin == ""
}
