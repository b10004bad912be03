package view

import (
	"context"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// A Why explains when a task ran, or why it did not, and what could stop it.
type Why struct {
	Task        string    `json:"task"`
	Cron        []string  `json:"cron"`
	Timezone    string    `json:"timezone"`
	Triggers    []Chained `json:"triggered_by"` // the tasks that start it
	Off         string    `json:"off"`          // why the task does not run here at all
	Asks        []string  `json:"asks"`         // the commands that are asked whether it may run
	Maintenance string    `json:"maintenance"`  // maintenance that keeps it from running at this moment
	Running     []Running `json:"running"`      // of this task, now
	Waiting     []Waiting `json:"waiting"`      // for a tick: what was asked for, and next attempts
	Minute      *Minute   `json:"minute"`       // the minute that --at names
	Last        *Minute   `json:"last"`         // without --at: when it was due last,
	Next        *Minute   `json:"next"`         // and when it is due next
	LastRun     *Record   `json:"last_run"`     // of a task that is never due
	Free        *string   `json:"free"`         // if the next slots would be skipped: the first that would not
	Held        string    `json:"held"`         // who has its mutex now
	Pool        *Pool     `json:"pool"`         // who has the seats of its pool now; null without one
	Failures    int       `json:"failures"`
	Paused      *Pause    `json:"paused"` // who paused it
	Overdue     []Overdue `json:"overdue,omitempty"`
	NoTicks     string    `json:"no_tick"` // that no ticks come any more, or no tick ever came; else empty
	Changes     []Change  `json:"changes"` // by people, in the last day; only changes that runs do not show
}

// An Inquiry is all that a Why was made of: the definition of the task, and what the state folder
// said of the task at one moment.
type Inquiry struct {
	Answer  Why
	Task    *schedule.Task
	Now     time.Time
	Next    time.Time   // the next slot; zero for an inquiry about one minute
	Free    time.Time   // Answer.Free, exactly; zero for none
	Live    []state.Row // the runs that live, of all tasks
	Pauses  pause.Pauses
	LastRun state.Row // Answer.LastRun, exactly

	source   Source
	records  *Records
	lost     []state.Row
	deferred []state.Row // runs that wait for their turn, or for a tick with their next attempt
}

// CatchesUp reports whether missed slots of the task still run, or wait for their turn: what is due
// meanwhile waits with them.
func (w *Inquiry) CatchesUp() bool {
	catchesUp := func(row state.Row) bool { return row.Task == w.Task.Name && row.CatchesUp() }
	return w.Task.RunAllMissed && slices.ContainsFunc(slices.Concat(w.Live, w.deferred), catchesUp)
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
	w := inquire(s, t, all)
	w.Answer.Overdue = overdueNow(ctx, s, all, []string{t.Name})[t.Name]
	w.Answer.Changes = lately(ctx, s, t.Name)
	if at.IsZero() {
		err = w.lastAndNext(ctx, &w.Answer)
	} else {
		w.Answer.Minute, err = w.minute(ctx, at)
	}
	return w, err
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

// inquire returns what can be said of the task without a minute in mind.
func inquire(s Source, t *schedule.Task, all *Records) *Inquiry {
	w := &Inquiry{source: s, Task: t, Now: s.Now(), records: all, lost: all.Lost, Pauses: s.Pauses()}
	waiting := s.Waiting(all.Live, func() pause.Pauses { return w.Pauses })
	w.Answer = Why{
		Task:     t.Name,
		Cron:     listOf(t.When.Texts()),
		Timezone: t.When.Location.String(),
		Triggers: []Chained{},
		Off:      s.Schedule.Inactive(t),
		Asks:     conditionTexts(t),
		Running:  []Running{},
		Waiting:  listOf(waiting[t.Name]),
		Paused:   PauseOf(w.Pauses, t, w.Now),
		NoTicks:  s.TicksMissing(),
	}
	if !t.EvenInMaintenance {
		w.Answer.Maintenance = s.Maintenance()
	}
	for _, trigger := range s.Schedule.Triggers()[t.Name] {
		w.Answer.Triggers = append(w.Answer.Triggers, Chained{trigger.From, trigger.Key})
	}
	for _, row := range all.Live {
		switch {
		case row.Pending(): // Answer.Waiting has it
		case row.Waits():
			w.deferred = append(w.deferred, row)
		default:
			w.Live = append(w.Live, row)
			if row.Task == t.Name {
				w.Answer.Running = append(w.Answer.Running, runningOfRow(row))
			}
		}
	}
	return w
}

func (w *Inquiry) lastAndNext(ctx context.Context, answer *Why) (err error) {
	t := w.Task
	if last, ok := t.When.Previous(w.Now.Add(1)); ok {
		if answer.Last, err = w.minute(ctx, last); err != nil {
			return err
		}
	} else if ran, err := w.records.Find(ctx, state.Query{Task: t.Name, Limit: 1}); err != nil {
		return err
	} else if len(ran) > 0 {
		w.LastRun = ran[0]
		answer.LastRun = new(RecordOf(w.LastRun))
	}
	if answer.Last == nil && t.When.Boot {
		if answer.Last, err = w.lastBoot(ctx); err != nil {
			return err
		}
	}
	next, ok := t.When.Next(w.Now)
	if ok {
		if answer.Next, err = w.minute(ctx, next); err != nil {
			return err
		}
		w.Next, w.Free = next, w.freeAfter(next)
		answer.Free = w.timeOrNil(w.Free)
	}
	answer.Held = HolderOf(w.Live, w.Task)
	answer.Pool = w.source.Pool(ctx, w.Live, w.Task.Pool)
	answer.Failures, err = w.failures(ctx)
	return err
}

// lastBoot explains the minute of the newest boot for which the task has a record; nil without such
// a record.
func (w *Inquiry) lastBoot(ctx context.Context) (*Minute, error) {
	found, err := w.records.Find(ctx, state.Query{Task: w.Task.Name, Limit: 10})
	for _, r := range found {
		if r.Origin == "" {
			return w.minute(ctx, r.Slot)
		}
	}
	return nil, err
}

// atBoot returns the slots of a boot in a minute, which only records show.
func (w *Inquiry) atBoot(ctx context.Context, minute time.Time) (slots []time.Time) {
	found, _ := w.records.Find(ctx, state.Query{Task: w.Task.Name, Since: minute, Limit: 100})
	for _, r := range found {
		if r.Origin == "" && r.Slot.Equal(minute) {
			return []time.Time{r.Slot}
		}
	}
	return nil
}

// freeAfter returns the first slot after next whose conditions hold. It is zero if there is no such
// slot, or if next itself may run.
func (w *Inquiry) freeAfter(next time.Time) time.Time {
	if w.Task.UnmetCondition(next) == "" {
		return time.Time{}
	}
	free, _ := w.Task.NextRun(next)
	return free
}

// MostFailures is how many failures in a row are counted at most.
const MostFailures = 100

func (w *Inquiry) failures(ctx context.Context) (n int, err error) {
	ran, err := w.records.Find(ctx, state.Query{Task: w.Task.Name, Outcomes: outcome.Ran, Limit: MostFailures})
	for n < len(ran) && ran[n].Wrong() {
		n++
	}
	return n, err
}

// timeOrNil writes a time in the zone of the task. It returns nil for the zero time.
func (w *Inquiry) timeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.In(w.Task.When.Location).Format(time.RFC3339))
}
