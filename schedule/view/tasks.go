package view

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// A Task is a task of the schedule. It says when the task runs next, how its last run ended, and
// what runs and waits now.
type Task struct {
	Name               string              `json:"name"`
	Cron               []string            `json:"cron"`
	Timezone           string              `json:"timezone"`
	Spread             float64             `json:"spread,omitempty"` // seconds by which it is due later than its expressions say
	Command            string              `json:"command"`
	Description        string              `json:"description"`
	Background         bool                `json:"background"`
	WithoutOverlapping bool                `json:"without_overlapping"`
	OneServer          bool                `json:"one_server"`
	Pool               string              `json:"pool"` // "" for none
	Off                string              `json:"off"`  // why it does not run here at all
	Next               []humanize.JSONTime `json:"next"`
	Moved              []string            `json:"moved,omitempty"` // why each of Next is not on the day that was meant
	Slots              []Due               `json:"slots,omitempty"` // when it is due next; absent if all meet the conditions
	Last               *Record             `json:"last"`
	Triggers           []Chained           `json:"triggers"`     // the tasks that its hooks start
	TriggeredBy        []Chained           `json:"triggered_by"` // the tasks whose hooks start it
	Running            []Running           `json:"running"`
	Waiting            []Waiting           `json:"waiting"`
	Vanished           int                 `json:"vanished,omitempty"` // runs that nobody watches; the next tick finishes them
	Paused             *Pause              `json:"paused"`
	Planned            []Pause             `json:"planned_pauses,omitempty"` // of this task by its name, that begin later
	Expect             *Expect             `json:"expect,omitempty"`
	Overdue            []Overdue           `json:"overdue,omitempty"`
	Budget             string              `json:"budget,omitempty"` // that a budget is spent now, and until when

	Params []schedule.Param `json:"params,omitempty"` // the variables that a person may set for one run

	Unwatched      int       `json:"-"` // of Vanished: runs whose command still runs
	PausedEachTime bool      `json:"-"` // it is due again, and pauses cover all its times
	Conditions     string    `json:"-"` // the conditions of time, in words
	LastRun        state.Row `json:"-"` // the record of Last, exactly; if no run has ended, its ID is empty
}

// A Chained is a task that another task starts, or that starts another task.
type Chained struct {
	Task string `json:"task"`
	On   string `json:"on"` // the key of the hook
}

// Tasks are the tasks and what is known of them at one moment.
type Tasks struct {
	Items   []Task
	Pauses  pause.Pauses
	Planned []TaskPause // that begin later
	Err     error       // why the history or the pauses could not be read; Items are good without them
}

// ListTasks returns the tasks that chosen accepts, in file order, each with its next n times after
// at. With a store it counts in the live runs and the last runs of other servers.
func ListTasks(ctx context.Context, s Source, chosen func(*schedule.Task) bool, at time.Time, n int) Tasks {
	all, _ := s.Records(ctx) // TasksOf reports the error
	defer all.Close()
	return ListTasksOf(ctx, s, all, chosen, at, n)
}

// ListTasksOf is Tasks for records that Records has returned, even with an error.
func ListTasksOf(
	ctx context.Context, s Source, all *Records, chosen func(*schedule.Task) bool, at time.Time, n int,
) Tasks {
	var chosenTasks []*schedule.Task
	var names []string
	for _, t := range s.Schedule.Tasks {
		if chosen(t) {
			chosenTasks, names = append(chosenTasks, t), append(names, t.Name)
		}
	}
	read, pausesErr := s.Controls.Read()
	if pausesErr != nil && s.Controls.Store == nil { // with a store withElsewhere reports the same error
		s.Problem("%v", pausesErr)
	}
	facts, err := factsOf(ctx, s, all, names, read.Pauses)
	facts = withElsewhere(ctx, s, names, facts)
	answer := Tasks{Items: []Task{}, Pauses: facts.pauses, Err: cmp.Or(err, pausesErr)}
	_, answer.Planned = PausesNow(s.Schedule, facts.pauses, InSchedule(s.Schedule), facts.now)
	planned := map[string][]Pause{}
	for _, p := range answer.Planned {
		planned[p.Task] = append(planned[p.Task], p.Pause)
	}
	for _, t := range chosenTasks {
		shown := taskOf(s.Schedule, t, at, n, facts)
		shown.Planned = planned[t.Name]
		shown.Budget = BudgetOf(ctx, s, all.DB, t).RefusalAt(facts.now)
		answer.Items = append(answer.Items, shown)
	}
	return answer
}

// taskFacts are what is known of tasks besides their definitions, by the name of the task.
type taskFacts struct {
	last      map[string]state.Row
	overdue   map[string][]Overdue
	running   map[string][]Running
	waiting   map[string][]Waiting
	vanished  map[string]int
	unwatched map[string]int
	pauses    pause.Pauses
	now       time.Time

	triggers map[string][]schedule.Trigger // by the task that they start
}

// factsOf reads what this machine knows of some tasks. If the history cannot be read, factsOf
// returns the error, and still fills in the runs that live and wait.
func factsOf(ctx context.Context, s Source, all *Records, names []string, pauses pause.Pauses) (taskFacts, error) {
	facts := taskFacts{
		running: map[string][]Running{}, vanished: map[string]int{}, unwatched: map[string]int{},
		waiting: WaitingRuns(s, all.Live, func() pause.Pauses { return pauses }),
		pauses:  pauses, now: s.Now(), triggers: s.Schedule.Triggers(),
	}
	for _, row := range all.Live {
		if !row.Waits() {
			facts.addRunning(row)
		}
	}
	for _, row := range all.Lost {
		facts.vanished[row.Task]++
		if IsUnwatched(row) {
			facts.unwatched[row.Task]++
		}
	}
	err := all.Err
	if err == nil {
		facts.last, err = all.Last(ctx, names)
	}
	if err != nil {
		s.Problem("the history cannot be read: %v", err)
		return facts, err
	}
	for name, last := range facts.last {
		row := []state.Row{newestBefore(ctx, all.Past, last, s.Now())}
		if t := s.Schedule.Task(name); t != nil && len(t.Judge.Values) > 0 {
			err = cmp.Or(err, all.AddValues(ctx, row))
		}
		facts.last[name] = row[0]
	}
	facts.overdue = overdueNow(ctx, s, all)
	return facts, nil
}

func (facts taskFacts) addRunning(row state.Row) {
	facts.running[row.Task] = append(facts.running[row.Task], runningOfRow(row))
}

// taskOf returns a task with its next n times after at.
func taskOf(s *schedule.Schedule, t *schedule.Task, at time.Time, n int, facts taskFacts) Task {
	shown := Task{
		Name:               t.Name,
		Cron:               listOf(t.When.Texts()),
		Timezone:           t.When.Location.String(),
		Spread:             t.When.Shift.Seconds(),
		Command:            CommandText(t.Command),
		Description:        t.Description,
		Background:         t.Background,
		WithoutOverlapping: t.WithoutOverlapping,
		OneServer:          t.OneServer,
		Pool:               t.Pool.Name,
		Off:                s.Inactive(t),
		Next:               []humanize.JSONTime{},
		Triggers:           []Chained{},
		TriggeredBy:        []Chained{},
		Running:            listOf(facts.running[t.Name]),
		Waiting:            listOf(facts.waiting[t.Name]),
		Vanished:           facts.vanished[t.Name],
		Unwatched:          facts.unwatched[t.Name],
		Paused:             PauseOf(facts.pauses, t, facts.now),
		Expect:             expectOf(t),
		Overdue:            facts.overdue[t.Name],
		Params:             t.Params,
		Conditions:         conditionsText(t),
	}
	for _, trigger := range t.Triggers() {
		shown.Triggers = append(shown.Triggers, Chained{trigger.Task, trigger.Key})
	}
	for _, trigger := range facts.triggers[t.Name] {
		shown.TriggeredBy = append(shown.TriggeredBy, Chained{trigger.From, trigger.Key})
	}
	if s.Active(t) {
		shown.addTimes(t, at, n, facts.pauses)
	}
	if last, ok := facts.last[t.Name]; ok {
		shown.Last, shown.LastRun = new(RecordOf(last)), last
	}
	return shown
}

// conditionsText says in words at which of its times the task may run: its conditions of time, and
// its bounds.
func conditionsText(t *schedule.Task) string {
	words := t.Conditions.String()
	if rule := t.When.Rule; rule != nil {
		words = strings.TrimSuffix(rule.String()+", "+words, ", ")
	}
	if bounds := t.Bounds(); words == "" {
		words = bounds
	} else if bounds != "" {
		words += ", " + bounds
	}
	return words
}

// An Expect says how long a run of a task may take, and how often the task has to succeed.
type Expect struct {
	Within *float64 `json:"within"` // seconds; null for no bound
	Every  *float64 `json:"every"`  // seconds; null for no bound
}

// An Overdue says in which way a task is overdue.
type Overdue struct {
	Kind  string            `json:"kind"`  // within or every
	Since humanize.JSONTime `json:"since"` // when the run began, or the last success ended
	Run   string            `json:"run"`   // the run that takes too long; "" if a success is overdue
	Text  string            `json:"text"`
}

func expectOf(t *schedule.Task) *Expect {
	if t.Expect == (schedule.Expect{}) {
		return nil
	}
	return &Expect{orNil(t.Expect.Within.Seconds()), orNil(t.Expect.Every.Seconds())}
}

// overdueNow returns how tasks are overdue, as far as the last tick found it and it is still so.
func overdueNow(ctx context.Context, s Source, all *Records) map[string][]Overdue {
	success := func(task string) time.Time { return lastSuccess(ctx, all, task) }
	open, err := stillOverdue(ctx, s.Schedule, all.DB, all.Live, success)
	if err != nil {
		s.Problem("what is overdue cannot be read: %v", err)
	}
	shown := map[string][]Overdue{}
	for name, incidents := range open {
		for _, i := range incidents {
			o := Overdue{Kind: string(i.Kind), Since: humanize.UTC(i.Since), Text: i.Text(s.Now())}
			if i.Kind == overdue.Within {
				o.Run = i.ID
			}
			shown[name] = append(shown[name], o)
		}
	}
	return shown
}

// lastSuccess returns when the newest success of a task ended; zero for none.
func lastSuccess(ctx context.Context, all *Records, task string) (ended time.Time) {
	newest, _ := all.Find(ctx, past.Query{Task: task, Outcomes: []outcome.Outcome{outcome.Succeeded}, Limit: 1})
	for _, r := range newest {
		ended = r.Ended
	}
	return ended
}

// addTimes adds the next n times after at at which the task will run, and, if a condition keeps one
// of the next n slots from running, these slots.
func (t *Task) addTimes(task *schedule.Task, at time.Time, n int, pauses pause.Pauses) {
	from := at
	for range n {
		next, ok := nextRun(task, from, pauses)
		if !ok {
			_, t.PausedEachTime = task.NextRun(from)
			break
		}
		t.Next = append(t.Next, humanize.JSONTime{Time: next.In(task.When.Location)})
		t.Moved = append(t.Moved, task.When.Meaning(next).Moved)
		from = next
	}
	if !slices.ContainsFunc(t.Moved, func(moved string) bool { return moved != "" }) {
		t.Moved = nil
	}
	from = at
	for range n {
		slot, ok := task.When.Next(from)
		if !ok {
			break
		}
		t.Slots = append(t.Slots, Due{humanize.JSONTime{Time: slot.In(task.When.Location)}, task.UnmetCondition(slot)})
		from = slot
	}
	if !slices.ContainsFunc(t.Slots, func(due Due) bool { return due.Unmet != "" }) {
		t.Slots = nil
	}
}

// ShowIn writes the next times, and the slots, in a zone.
func (t *Task) ShowIn(zone *time.Location) {
	for i, at := range t.Next {
		t.Next[i].Time = at.In(zone)
	}
	for i, due := range t.Slots {
		t.Slots[i].Slot.Time = due.Slot.In(zone)
	}
}

// CommandText is a command as people read it, without quotes.
func CommandText(c schedule.Command) string {
	if len(c.List) > 0 {
		return strings.Join(c.List, " ")
	}
	return c.Line
}

// isShared reports whether a run on another server says how the task is: each other task is judged
// on each server.
func isShared(s *schedule.Schedule, t *schedule.Task) bool { return t.OneServer || !s.Here(t) }

// withElsewhere adds the live runs and the last runs of other servers to the facts of this machine.
// The last run of another server replaces one of this machine only if the task is shared.
func withElsewhere(ctx context.Context, s Source, names []string, facts taskFacts) taskFacts {
	store := s.Controls.Store
	if store == nil {
		return facts
	}
	live, err := RunningElsewhere(ctx, s)
	var last map[string]state.Row
	if err == nil {
		last, err = cluster.Last(ctx, store, s.Server, names)
	}
	if err == nil {
		live, err = withHolders(ctx, s.Schedule, store, live, facts.running)
	}
	if err != nil {
		s.LeftOut(err)
		return facts
	}
	for _, row := range live {
		if row.Server != s.Server { // else it is a lost run, whose command has the lock
			facts.addRunning(row)
		}
	}
	for name, r := range facts.last {
		if r.ID >= last[name].ID || !isShared(s.Schedule, s.Schedule.Task(name)) {
			last[name] = r
		}
	}
	facts.last = last
	return facts
}
