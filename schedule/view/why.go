package view

import (
	"context"
	"slices"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/run"
	"sched/schedule/state"
)

// A Why explains when a task ran, or why it did not, and what could stop it. Some names in JSON are
// older than the names of the fields, and stay.
type Why struct {
	Task        string    `json:"task"`
	Cron        []string  `json:"cron"`
	Timezone    string    `json:"timezone"`
	TriggeredBy []Chained `json:"triggered_by"` // the tasks that start it
	Off         string    `json:"off"`          // why the task does not run here at all
	Asks        []string  `json:"asks"`         // the commands that are asked whether it may run
	Maintenance string    `json:"maintenance"`  // maintenance that keeps it from running at this moment
	Running     []Running `json:"running"`      // of this task, now
	Waiting     []Waiting `json:"waiting"`      // for a tick: what was asked for, and next attempts
	Minute      *Minute   `json:"minute"`       // the minute that --at names
	Last        *Minute   `json:"last"`         // without --at: when it was due last,
	Next        *Minute   `json:"next"`         // and when it is due next
	LastRun     *Record   `json:"last_run"`     // of a task that is never due
	NextAllowed *string   `json:"free"`         // if the next slots would be skipped: the first that would not
	Held        string    `json:"held"`         // who has its mutex now
	Pool        *Pool     `json:"pool"`         // who has the seats of its pool now; null without one
	Failures    int       `json:"failures"`
	Paused      *Pause    `json:"paused"` // who paused it
	Overdue     []Overdue `json:"overdue,omitempty"`
	Lacks       string    `json:"lacks,omitempty"` // why its last slot was skipped, if ticks lacked what it names
	StoreDown   string    `json:"store,omitempty"` // that the store was down at the last tick, if the task needs it
	NoTicks     string    `json:"no_tick"`         // that no ticks come any more, or no tick ever came; else empty
	Changes     []Change  `json:"changes"`         // by people, in the last day; only changes that runs do not show
}

// An Inquiry is all that a Why was made of: the definition of the task, and what the state folder
// said of the task at one moment.
type Inquiry struct {
	Answer      Why
	Task        *schedule.Task
	Now         time.Time
	Next        time.Time   // the next slot; zero for an inquiry about one minute
	NextAllowed time.Time   // Answer.NextAllowed, exactly; zero for none
	Live        []state.Row // the runs that live, of all tasks
	Pauses      pause.Pauses
	LastRun     state.Row     // Answer.LastRun, exactly
	HeldBy      *mutex.Holder // Answer.Held, exactly; nil if nobody has it

	source  Source
	records *Records
	lost    []state.Row
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

// CatchesUp reports whether missed slots of the task still run, or wait for their turn: what is due
// meanwhile waits with them.
func (q *Inquiry) CatchesUp() bool {
	catchesUp := func(row state.Row) bool { return row.Task == q.Task.Name && row.CatchesUp() }
	return q.Task.RunAllMissed && slices.ContainsFunc(slices.Concat(q.Live, q.waiting), catchesUp)
}

// Why explains the minute of a task that holds at. If at is zero, it explains the last minute at
// which the task was due, and the next one. The error is an *Error for a task that is not in the
// schedule.
func (s Source) Why(ctx context.Context, task string, at time.Time) (*Inquiry, error) {
	all, err := s.Records(ctx)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	t, err := FindTask(s.Schedule, task)
	if err != nil {
		return nil, noLongerThere(ctx, all, task, err)
	}
	q := newInquiry(s, t, all)
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
// history has the task.
func noLongerThere(ctx context.Context, all *Records, name string, err error) error {
	found, _ := all.Find(ctx, state.Query{Task: name, Limit: 1})
	if len(found) > 0 {
		hint := "what is remembered of it is in `sched history " + name + "`"
		return Fail(NotFound, hint, "%w any more", err.(*Error).Err)
	}
	return err
}

// newInquiry returns what can be said of the task without a minute in mind.
func newInquiry(s Source, t *schedule.Task, all *Records) *Inquiry {
	q := &Inquiry{source: s, Task: t, Now: s.Now(), records: all, lost: all.Lost, Pauses: s.Pauses()}
	waiting := s.Waiting(all.Live, func() pause.Pauses { return q.Pauses })
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
		q.Next, q.NextAllowed = next, q.nextAllowed(next)
		q.Answer.NextAllowed = q.timeOrNil(q.NextAllowed)
	}
	q.noteRefusals()
	q.HeldBy, q.Answer.Pool = q.source.Holders(ctx, q.Live, q.Task)
	q.Answer.Held = HeldText(q.HeldBy, q.zone())
	q.Answer.Failures, err = q.countFailures(ctx)
	return err
}

// noteRefusals adds what will stop the next run if nothing changes: what the last tick lacked, and
// that it found the store down.
func (q *Inquiry) noteRefusals() {
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
	outage := cluster.NotesIn(q.source.Schedule.StateDir).Outage
	if len(q.source.Schedule.Store.Servers) > 0 && q.Task.NeedsLocks() && outage != nil {
		q.Answer.StoreDown = humanize.Line(outage.Why)
	}
}

// lastDue explains the last minute at which the task was due. For a task that no expression makes
// due, it is the last boot; such a task has its last run in the answer, too.
func (q *Inquiry) lastDue(ctx context.Context) (err error) {
	if last, ok := q.Task.When.Previous(q.Now.Add(1)); ok {
		q.Answer.Last, err = q.explain(ctx, last)
		return err
	}
	ran, err := findByClock(ctx, q.records, state.Query{Task: q.Task.Name, Limit: 1}, q.Now)
	if err != nil {
		return err
	}
	if len(ran) > 0 {
		q.LastRun = ran[0]
		q.Answer.LastRun = new(RecordOf(q.LastRun))
	}
	if q.Task.When.Boot {
		q.Answer.Last, err = q.lastBoot(ctx)
	}
	return err
}

// lastBoot explains the minute of the newest boot for which the task has a record; nil without such
// a record.
func (q *Inquiry) lastBoot(ctx context.Context) (*Minute, error) {
	found, err := findByClock(ctx, q.records, state.Query{Task: q.Task.Name, Scheduled: true, Limit: 1}, q.Now)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return q.explain(ctx, found[0].Slot)
}

// bootSlots returns the slots of a boot in a minute, which only records show.
func (q *Inquiry) bootSlots(ctx context.Context, minute time.Time) (slots []time.Time) {
	found, _ := q.records.Find(ctx, state.Query{Task: q.Task.Name, Slot: minute, Scheduled: true, Limit: 1})
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

// MaxFailures is how many failures in a row are counted at most.
const MaxFailures = 100

func (q *Inquiry) countFailures(ctx context.Context) (n int, err error) {
	query := state.Query{Task: q.Task.Name, Outcomes: outcome.Ran, Limit: MaxFailures}
	ran, err := findByClock(ctx, q.records, query, q.Now)
	for n < len(ran) && ran[n].Wrong() {
		n++
	}
	return n, err
}

// timeOrNil writes a time for JSON, in the zone of the task: programs get the same answer whatever
// zone a person chose. It returns nil for the zero time.
func (q *Inquiry) timeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.In(q.Task.When.Location).Format(time.RFC3339))
}
