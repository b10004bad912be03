package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Why explains when a task ran, or why it did not, and what could stop it. Some names in JSON are
// older than the names of the fields, and stay.
type Why struct {
	Task        string             `json:"task"`
	Cron        []string           `json:"cron"`
	Timezone    string             `json:"timezone"`
	TriggeredBy []Chained          `json:"triggered_by"` // the tasks that start it
	Off         string             `json:"off"`          // why the task does not run here at all
	Asks        []string           `json:"asks"`         // the commands that are asked whether it may run
	Maintenance string             `json:"maintenance"`  // maintenance that keeps it from running at this moment
	Running     []Running          `json:"running"`      // of this task, now
	Waiting     []Waiting          `json:"waiting"`      // for a tick: what was asked for, and next attempts
	Minute      *Minute            `json:"minute"`       // the minute that --at names
	Last        *Minute            `json:"last"`         // without --at: when it was due last,
	Next        *Minute            `json:"next"`         // and when it is due next
	LastRun     *Record            `json:"last_run"`     // if it is never due, ran since Last, or nothing is known of Last
	NextAllowed *humanize.JSONTime `json:"free"`         // if the next slots would be skipped: the first that would not
	Held        string             `json:"held"`         // who has its mutex now
	Pool        *Pool              `json:"pool"`         // who has the seats of its pool now; null without one
	Failures    int                `json:"failures"`
	Paused      *Pause             `json:"paused"` // who paused it
	Overdue     []Overdue          `json:"overdue,omitempty"`
	Vanished    []Vanished         `json:"vanished_runs,omitempty"` // the next tick will finish them
	Budget      string             `json:"budget,omitempty"`        // that a budget is spent now, and until when
	Lacks       string             `json:"lacks,omitempty"`         // why its last slot was skipped, if ticks lacked what it names
	StoreDown   string             `json:"store,omitempty"`         // that the store is down, if the task needs it
	NoTicks     string             `json:"no_tick"`                 // that no ticks come any more, or no tick ever came; else empty
	Changes     []Change           `json:"changes"`                 // by people, in the last day; only changes that runs do not show
}

// A Vanished is a run whose processes are gone.
type Vanished struct {
	Run    string            `json:"run"`
	Slot   humanize.JSONTime `json:"slot"`
	Origin string            `json:"origin"`
}

// An Inquiry is all that a Why was made of: the definition of the task, and what the state folder
// said of the task at one moment.
type Inquiry struct {
	Answer  Why
	Task    *schedule.Task
	Now     time.Time
	Next    time.Time   // the next slot; zero for an inquiry about one minute
	Live    []state.Row // the runs that live, of all tasks
	Lost    []state.Row // the runs that vanished, of all tasks: the next tick will finish them
	Pauses  pause.Pauses
	LastRun state.Row     // Answer.LastRun, exactly
	HeldBy  *mutex.Holder // Answer.Held, exactly; nil if nobody has it
	Budget  Budget
	Overdue time.Time // from when on the task is overdue without a success; zero if that is not known

	source  Source
	records *Records
	waiting []state.Row // runs that wait for their turn, or for a tick with their next attempt
}

// Replacement returns what the next run of the task does with the run that has its mutex.
func (q *Inquiry) Replacement() run.Replacement {
	if q.HeldBy == nil {
		return run.NotReplaced
	}
	isOurs := slices.ContainsFunc(q.Live, func(row state.Row) bool { return row.ID == q.HeldBy.Run })
	return run.ReplacementOf(q.Task, *q.HeldBy, isOurs)
}

// WithoutMutex says what the next run does while another run has its mutex: "be skipped".
func (q *Inquiry) WithoutMutex() string {
	switch q.Replacement() {
	case run.ReplacedHere:
		return "end that run and take its place"
	case run.ReplacedThere:
		return "be skipped, because only " + humanize.Line(q.HeldBy.Host) + " can end that run,"
	}
	return q.WithoutSeat()
}

// WithoutSeat says what the next run does while other runs have all seats of its pool.
func (q *Inquiry) WithoutSeat() string {
	if q.Task.MaxWait > 0 {
		return "wait, " + humanize.Duration(q.Task.WaitUntil(q.Next, q.Next).Sub(q.Next)) + " at most,"
	}
	return "be skipped"
}

// Shared reports whether other servers share the store of the schedule: what was changed there is
// not known here.
func (q *Inquiry) Shared() bool { return len(q.source.Schedule.Store.Servers) > 0 }

// CatchesUp reports whether missed slots of the task still run, or wait for their turn: what is due
// meanwhile waits with them.
func (q *Inquiry) CatchesUp() bool {
	catchesUp := func(row state.Row) bool { return row.Task == q.Task.Name && row.CatchesUp() }
	return q.Task.RunAllMissed && slices.ContainsFunc(slices.Concat(q.Live, q.waiting), catchesUp)
}

// Explain explains the minute of a task that holds at. If at is zero, it explains the last minute
// at which the task was due, and the next one. The error is an *Error for a task that is not in the
// schedule.
func Explain(ctx context.Context, s Source, task string, at time.Time) (*Inquiry, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	t, err := FindTask(s.Schedule, task)
	if err != nil {
		return nil, noLongerThere(ctx, s, all, task, err)
	}
	q := newInquiry(s, t, all)
	q.Budget = BudgetOf(ctx, s, all.DB, t)
	q.Answer.Budget = q.Budget.RefusalAt(q.Now)
	q.Answer.Overdue = overdueNow(ctx, s, all)[t.Name]
	q.Answer.Changes = recentChanges(ctx, s, t.Name)
	if at.IsZero() {
		err = q.lastAndNext(ctx)
	} else {
		q.Answer.Minute, err = q.explain(ctx, at)
	}
	return q, err
}

// noLongerThere returns the error for a task that is not in the schedule: err, with a hint if the
// history has the task, or a run of that id.
func noLongerThere(ctx context.Context, s Source, all *Records, name string, err error) error {
	found, _ := all.Find(ctx, past.Query{Task: name, Limit: 1})
	if len(found) > 0 {
		hint := "what is remembered of it is in `sched history " + name + "`"
		return Fail(NotFound, hint, "%w any more", err.(*Error).Err)
	}
	if row, rowErr := all.Get(ctx, name); rowErr == nil {
		return Fail(NotFound, IsRun(row, s.Schedule.Location), "%w", err.(*Error).Err)
	}
	return err
}

// IsRun is the hint for the id of a run where a task is named.
func IsRun(row state.Row, zone *time.Location) string {
	minute := row.Slot.In(zone).Format("2006-01-02 15:04")
	return fmt.Sprintf("it is a run of %s: sched why %[1]s --at %q", row.Task, minute)
}

// newInquiry returns what can be said of the task without a minute in mind.
func newInquiry(s Source, t *schedule.Task, all *Records) *Inquiry {
	q := &Inquiry{source: s, Task: t, Now: s.Now(), records: all, Lost: all.Lost, Pauses: s.Pauses()}
	waiting := WaitingRuns(s, all.Live, func() pause.Pauses { return q.Pauses })
	q.Answer = Why{
		Task:        t.Name,
		Cron:        listOf(t.When.Texts()),
		Timezone:    t.When.Location.String(),
		TriggeredBy: []Chained{},
		Off:         s.Schedule.Inactive(t),
		Asks:        conditionTexts(t),
		Running:     []Running{},
		Waiting:     listOf(waiting[t.Name]),
		Paused:      PauseOf(q.Pauses, t, q.Now),
		NoTicks:     s.TicksMissing(),
	}
	if !t.EvenInMaintenance {
		q.Answer.Maintenance = s.Maintenance()
	}
	for _, trigger := range s.Schedule.Triggers()[t.Name] {
		q.Answer.TriggeredBy = append(q.Answer.TriggeredBy, Chained{trigger.From, trigger.Key})
	}
	for _, row := range all.Lost {
		if row.Task == t.Name {
			q.Answer.Vanished = append(q.Answer.Vanished, Vanished{row.ID, humanize.UTC(row.Slot), row.Origin})
		}
	}
	for _, row := range all.Live {
		switch {
		case row.Pending(): // Answer.Waiting has it
		case row.Waits():
			q.waiting = append(q.waiting, row)
		default:
			q.Live = append(q.Live, row)
			if row.Task == t.Name {
				q.Answer.Running = append(q.Answer.Running, runningOfRow(row))
			}
		}
	}
	return q
}

// lastAndNext explains the last minute at which the task was due, and the next one. It adds what
// matters only then: who has its mutex and the seats of its pool, and how often it failed in a row.
func (q *Inquiry) lastAndNext(ctx context.Context) (err error) {
	if err := q.lastDue(ctx); err != nil {
		return err
	}
	if next, ok := q.Task.When.Next(q.Now); ok {
		if q.Answer.Next, err = q.explain(ctx, next); err != nil {
			return err
		}
		q.Next, q.Answer.NextAllowed = next, q.timeOrNil(q.nextAllowed(next))
	}
	q.noteRefusals(ctx)
	q.HeldBy, q.Answer.Pool = HoldersOf(ctx, q.source, q.Live, q.Task)
	q.Answer.Held = HeldText(q.HeldBy, q.zone())
	q.Answer.Failures, err = q.countFailures(ctx)
	if err == nil {
		q.Overdue, err = overdue.From(ctx, q.records.DB, q.Task, lastSuccess(ctx, q.records, q.Task.Name))
	}
	return err
}

// Expected says when the task will be overdue. It returns "" if that is not known, and for a task
// that is overdue for the want of a success, or that does not run here.
func (q *Inquiry) Expected() string {
	isOpen := func(o Overdue) bool { return o.Kind == string(overdue.Every) }
	if q.Overdue.IsZero() || q.Answer.Off != "" || slices.ContainsFunc(q.Answer.Overdue, isOpen) {
		return ""
	}
	return fmt.Sprintf("overdue from %s on, if no run has succeeded until then (expect.every: %s)",
		humanize.MinuteNearZone(q.Overdue, q.Now, q.zone()), humanize.Duration(q.Task.Expect.Every))
}

// noteRefusals adds what will stop the next run if nothing changes: what the last tick lacked, and
// that the store is down.
func (q *Inquiry) noteRefusals(ctx context.Context) {
	var newest state.Row
	if q.Answer.Last != nil {
		for _, row := range q.Answer.Last.Ended {
			if row.ID > newest.ID {
				newest = row
			}
		}
	}
	if newest.Kind == outcome.Lacking && q.Task.Lacks == "" {
		q.Answer.Lacks = newest.Reason
	}
	s := q.source
	if len(s.Schedule.Store.Servers) == 0 || !q.Task.NeedsLocks() {
		return
	}
	noted := cluster.NotesIn(s.Schedule.StateDir).Outage
	if outage := outageNow(ctx, noted, s.Controls.Store, s.Server, s.Schedule); outage != nil {
		q.Answer.StoreDown = humanize.Line(outage.Why)
	}
}

// lastDue explains the last minute at which the task was due. For a task that no expression makes
// due, it is the last boot. Such a task has its last run in the answer, too, and so has a task
// about whose last minute nothing is known, or that ran again since its last minute.
func (q *Inquiry) lastDue(ctx context.Context) (err error) {
	if last, ok := q.Task.When.Previous(q.Now.Add(1)); ok {
		q.Answer.Last, err = q.explain(ctx, last)
		if err != nil || len(q.Answer.Last.Ended) == 0 && len(q.Answer.Running)+len(q.Answer.Waiting) > 0 {
			return err
		}
	}
	ran, err := q.endedLast(ctx)
	if err != nil {
		return err
	}
	if err := q.records.AddValues(ctx, ran); err != nil {
		return err
	}
	if len(ran) > 0 && q.isNewer(ran[0]) {
		q.LastRun = ran[0]
		record, err := q.recordOf(ctx, q.LastRun)
		if err != nil {
			return err
		}
		q.Answer.LastRun = &record
	}
	if q.Task.When.Boot && q.Answer.Last == nil {
		q.Answer.Last, err = q.lastBoot(ctx)
	}
	return err
}

// endedLast returns the run of the task that ended last, whatever its slot; a run of `sched test`
// counts, too. If nothing is known of a last minute, it may be a run that somebody asked for and
// that was skipped. It returns none if no run has ended.
func (q *Inquiry) endedLast(ctx context.Context) ([]state.Row, error) {
	begunLast, err := newestEnded(ctx, q.source, q.records, q.Task.Name)
	if err != nil {
		return nil, err
	}
	query := past.Query{Task: q.Task.Name, Limit: 1}
	if q.Answer.Last != nil {
		query.Outcomes = outcome.Ran
	}
	ran, err := findByClock(ctx, q.records, query, q.Now)
	if len(ran) > 0 && endedAt(begunLast, q.Now).After(endedAt(ran[0], q.Now)) {
		ran[0] = begunLast
	}
	return ran, err
}

// isNewer reports whether a run ended after the records of the last minute, which may have none.
func (q *Inquiry) isNewer(ran state.Row) bool {
	last := q.Answer.Last
	if last == nil || len(last.Ended) == 0 {
		return true
	}
	for _, shown := range last.Ended {
		if shown.ID == ran.ID || !ran.Ended.After(shown.Ended) {
			return false
		}
	}
	return !endedAt(ran, q.Now).IsZero()
}

// lastBoot explains the minute of the newest boot for which the task has a record; nil without such
// a record.
func (q *Inquiry) lastBoot(ctx context.Context) (*Minute, error) {
	found, err := findByClock(ctx, q.records, past.Query{Task: q.Task.Name, Scheduled: true, Limit: 1}, q.Now)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return q.explain(ctx, found[0].Slot)
}

// bootSlots returns the slots of a boot in a minute, which only records show.
func (q *Inquiry) bootSlots(ctx context.Context, minute time.Time) (slots []time.Time) {
	found, _ := q.records.Find(ctx, past.Query{Task: q.Task.Name, Slot: minute, Scheduled: true, Limit: 1})
	for _, r := range found {
		slots = append(slots, r.Slot)
	}
	return slots
}

// nextAllowed returns the first slot after next whose conditions hold. It is zero if there is no
// such slot, or if next itself may run.
func (q *Inquiry) nextAllowed(next time.Time) time.Time {
	if q.Task.UnmetCondition(next) == "" {
		return time.Time{}
	}
	allowed, _ := q.Task.NextRun(next)
	return allowed
}

// endedAt returns when a run ended; zero if it ended by a clock that was ahead of now (aheadBy).
func endedAt(r state.Row, now time.Time) time.Time {
	if r.Ended.After(now.Add(aheadBy)) {
		return time.Time{}
	}
	return r.Ended
}

// MaxFailures is how many failures in a row are counted at most.
const MaxFailures = 100

// countFailures returns how many of the last runs of the task, by their ends, failed in a row: of a
// one_server task the runs on all servers.
func (q *Inquiry) countFailures(ctx context.Context) (n int, err error) {
	last, err := q.records.Last(ctx, []string{q.Task.Name})
	newest := newestBefore(ctx, q.records.Past, last[q.Task.Name], q.Now)
	if other := lastElsewhere(ctx, q.source, q.Task)[q.Task.Name]; other.ID > last[q.Task.Name].ID {
		newest = other
	}
	if err != nil || !newest.Wrong() {
		return 0, err
	}
	query := past.Query{Task: q.Task.Name, Outcomes: outcome.Ran, NoTests: true, Limit: MaxFailures}
	ran, err := findByClock(ctx, q.records, query, q.Now)
	ran = append(ran, runsElsewhere(ctx, q.source, q.Task, time.Time{})...)
	slices.SortStableFunc(ran, func(x, y state.Row) int { return endedAt(y, q.Now).Compare(endedAt(x, q.Now)) })
	for _, row := range ran {
		if !row.Wrong() {
			break
		}
		n++
	}
	return max(n, 1), err // the newest one counts, however old its slot
}

// timeOrNil writes a time for JSON, in the zone of the task: programs get the same answer whatever
// zone a person chose. It returns nil for the zero time.
func (q *Inquiry) timeOrNil(t time.Time) *humanize.JSONTime {
	if t.IsZero() {
		return nil
	}
	return &humanize.JSONTime{Time: t.In(q.Task.When.Location)}
}

// explain explains the minute of the task that holds at.
func (q *Inquiry) explain(ctx context.Context, at time.Time) (*Minute, error) {
	e := q.Task.When.Explain(at)
	m := &Minute{
		Minute: humanize.UTC(e.Minute), Clock: clockText(e), Slots: []Slot{}, Others: []Record{},
		Ended: map[string]state.Row{},
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
		before, _ := q.Task.When.Previous(e.Minute)
		after, _ := q.Task.When.Next(e.Minute.Add(time.Minute - 1))
		m.Before, m.After = q.timeOrNil(before), q.timeOrNil(after)
	}
	return m, q.addSlots(ctx, m, e.Slots)
}

// addSlots adds what became of the slots of the minute, and the other records of the minute.
func (q *Inquiry) addSlots(ctx context.Context, m *Minute, slots []time.Time) error {
	query := past.Query{Task: q.Task.Name, Since: m.Minute.Time, Until: m.Minute.Add(time.Minute)}
	rows, err := q.records.Find(ctx, query)
	if err == nil {
		err = q.records.AddValues(ctx, rows)
	}
	if err != nil {
		return err
	}
	slices.Reverse(rows) // oldest first
	shown := map[string]bool{}
	for _, at := range slots {
		slot := Slot{Slot: humanize.JSONTime{Time: at}, Unmet: q.Task.UnmetCondition(at), Records: []Record{}}
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
			record, err := q.recordOf(ctx, r)
			if err != nil {
				return err
			}
			slot.Records = append(slot.Records, record)
			m.Ended[r.ID] = r
		}
		if slot.Says, err = q.slotText(ctx, slot); err != nil {
			return err
		}
		slot.Elsewhere = q.slotElsewhere(ctx, at, slot.Records)
		m.Slots = append(m.Slots, slot)
	}
	for _, r := range rows {
		if !shown[r.ID] && !r.Slot.Before(m.Minute.Time) {
			record, err := q.recordOf(ctx, r)
			if err != nil {
				return err
			}
			m.Others = append(m.Others, record)
			m.Ended[r.ID] = r
		}
	}
	return nil
}

// recordOf returns the record of a run with all that is known of its notifications.
func (q *Inquiry) recordOf(ctx context.Context, r state.Row) (Record, error) {
	record := RecordOf(r)
	all, err := allNotifications(ctx, q.records, r)
	record.notify(r, all)
	return record, err
}

// pausedText returns the end of a sentence about a paused slot: what may end the pause early, and
// who made it.
func (q *Inquiry) pausedText(at time.Time) string {
	paused := PauseOf(q.Pauses, q.Task, at)
	return paused.Ends() + ": " + paused.Raw.Text(q.Now, q.source.Schedule.Location)
}

// slotText returns what there is to say of a slot besides its records; "" if the records say all.
func (q *Inquiry) slotText(ctx context.Context, slot Slot) (string, error) {
	ofSlot := func(row state.Row) bool { return q.isOf(row, slot.Slot.Time) }
	if i := slices.IndexFunc(q.Live, ofSlot); i >= 0 {
		return RunningText(q.Live[i], q.Now, q.zone()), nil
	}
	if i := slices.IndexFunc(q.waiting, ofSlot); i >= 0 {
		run := q.waiting[i].ID
		i := slices.IndexFunc(q.Answer.Waiting, func(waiting Waiting) bool { return waiting.Run == run }) // it has each
		return q.Answer.Waiting[i].Text(q.Now, q.zone()), nil
	}
	isDelayed := func(waiting Waiting) bool { return waiting.isDelayed() && waiting.At.Equal(slot.Slot.Time) }
	if i := slices.IndexFunc(q.Answer.Waiting, isDelayed); i >= 0 {
		return "it is " + q.Answer.Waiting[i].Text(q.Now, q.zone()), nil
	}
	if i := slices.IndexFunc(q.Lost, ofSlot); i >= 0 {
		return LostText(q.Lost[i]), nil
	}
	switch {
	case len(slot.Records) > 0:
		return "", nil
	case slot.Slot.After(q.Now):
		return q.foresee(slot), nil
	}
	return q.unrecordedText(ctx, slot.Slot.Time)
}

// foresee says what will become of a slot that is to come, as far as it is known now.
func (q *Inquiry) foresee(slot Slot) string {
	paused := PauseOf(q.Pauses, q.Task, slot.Slot.Time) != nil
	switch {
	case slot.Unmet != "":
		return "it will be skipped: " + slot.Unmet
	case paused && q.Task.WaitsForPause(slot.Slot.Time):
		return "it will wait for the end of that" + q.pausedText(slot.Slot.Time)
	case paused:
		return "it will be skipped" + q.pausedText(slot.Slot.Time)
	case q.Budget.RefusalAt(slot.Slot.Time) != "":
		return "it will be skipped: " + q.Budget.RefusalAt(slot.Slot.Time)
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
	case isOver(keep.Keep, slot, around.First, q.Now):
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

// isOver reports whether the record of a slot was pruned for its age. A history that begins well
// after the oldest time that it keeps is younger than that, so it never had the slot.
func isOver(keep time.Duration, slot, first, now time.Time) bool {
	oldest := now.Add(-keep)
	isYoung := slot.Before(first) && first.Sub(oldest) > min(keep/10, 24*time.Hour)
	return keep > 0 && slot.Before(oldest) && !isYoung
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
	query := past.Query{Task: q.Task.Name, Since: at, Until: at.Add(time.Second)}
	live, ended, skipped, err := slotsElsewhere(ctx, s, query, cluster.MaxRuns)
	if err != nil {
		s.LeftOut(err)
		return ""
	}
	for _, r := range slices.Concat(ended, live, skipped) {
		switch {
		case !q.isOf(r, at):
		case r.Outcome == outcome.Skipped:
			return fmt.Sprintf("on %s it was %s", r.Server, Describe(r))
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
		slices.ContainsFunc(slices.Concat(q.Live, q.Lost, q.waiting), isOfSlot)
}

// claimElsewhere says whether another server has claimed a slot that has no known run. It returns
// "" while a server may still claim the slot, and if the store does not answer.
func (q *Inquiry) claimElsewhere(ctx context.Context, at time.Time) string {
	key := schedule.Slot{Task: q.Task, At: at}.ClaimKey()
	claims, err := q.source.Controls.Store.Claims(ctx, key)
	holder, claimed := claims[key]
	switch {
	case claimed && holder.Host != q.source.Server:
		return fmt.Sprintf("%[1]s has claimed it (run %[2]s), and nothing more is known here: "+
			"`sched why %[3]s` on %[1]s says whether it ran", holder.Host, humanize.ShortRun(holder.Run), q.Task.Name)
	case err != nil, q.Now.Sub(at) < time.Minute:
		return ""
	}
	return "no other server has told that it ran there"
}

// isOf reports whether a row is the run of a slot of the task, which nobody asked for.
func (q *Inquiry) isOf(row state.Row, at time.Time) bool {
	return row.Task == q.Task.Name && row.Slot.Equal(at) && row.Origin == ""
}
