package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/overdue"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/statedir"
	"sched/schedule/work"
)

// A Health is how a schedule is doing at one moment. StatusOf judges it, and Metrics writes it
// for Prometheus.
type Health struct {
	Schedule    *schedule.Schedule
	At          time.Time
	Invalid     bool          // the file is invalid, and Schedule is what runs in its place
	LastTick    time.Time     // the last minute that a tick covered; zero for none, or after Err
	Running     int           // runs that live, even if their task is gone
	Tasks       []TaskHealth  // the active tasks, in file order
	Troubles    []TaskTrouble // in the order of their tasks
	Pauses      pause.Pauses
	Undelivered state.Undelivered // the notifications that wait after a failed attempt
	GivenUp     state.Undelivered // the notifications that nobody gets
	Outage      *cluster.Outage   // of the store, as the last tick found it, or AskStore; nil without an outage
	Findings    []cluster.Finding // what the last tick found wrong with the servers of the store
	Err         error             // why the database could not be read

	Unrecordable string // why ticks record nothing; else empty
}

// A TaskHealth is how an active task is doing.
type TaskHealth struct {
	*schedule.Task
	Totals  []past.Total // the slots in the history, by outcome
	Last    state.Row    // its newest ended run, in short; if no run has ended, ID is empty (see addElsewhere)
	Success time.Time    // when its newest success ended; zero when it never succeeded
	missed  time.Time    // the newest slot that was missed; zero if no slot was
	skipped state.Row    // its newest slot, if that was skipped
	crowded bool         // its pool was full at each of its last crowdedFrom slots, and it does not wait for a seat
	Usual   past.Usual   // read only while the task runs longer than slowLeast; zero with too little history
	Running []state.Row
	Lost    []state.Row        // runs without a process, which no tick has finished yet
	Overdue []overdue.Incident // that were open at the last tick and still are
}

// HealthOf returns how the schedule is doing at the time now, from its state folder. It writes
// nothing, and holds no lock that a tick or a run would wait for. Its cost depends on the tasks and
// on the runs that live, not on the length of the history.
func HealthOf(s *schedule.Schedule, invalid bool, now time.Time) *Health {
	h := &Health{Schedule: s, Invalid: invalid, At: now}
	for _, t := range s.Tasks {
		if s.Active(t) {
			h.Tasks = append(h.Tasks, TaskHealth{Task: t})
		}
	}
	if len(s.Store.Servers) > 0 {
		notes := cluster.NotesIn(s.StateDir)
		h.Outage, h.Findings = notes.Outage, notes.Findings
	}
	read, err := pause.ReadHere(s) // a status never waits for a store
	h.Pauses = read.Pauses
	h.noteError(err)
	h.readDatabase(context.Background())
	for i := range h.Tasks {
		h.Troubles = append(h.Troubles, h.Tasks[i].troubles(now)...)
	}
	return h
}

// AskStore asks the store whether it answers, because that may have changed since the last tick.
// The server is this one. Without a store (nil) it does nothing.
func (h *Health) AskStore(ctx context.Context, store mutex.Store, server string) {
	h.Outage = outageNow(ctx, h.Outage, store, server, h.Schedule)
}

// outageNow returns the outage that the last tick noted. It is nil if that is over, or was one of a
// store that the schedule names no more. If no tick noted an outage and the store does not answer
// now, that is one.
func outageNow(
	ctx context.Context, noted *cluster.Outage, store mutex.Store, server string, of *schedule.Schedule,
) *cluster.Outage {
	if store == nil {
		return noted
	}
	if noted != nil && noted.OfOld(of) {
		noted = nil
	}
	servers, err := cluster.List(ctx, store)
	refusal, isDown := errors.AsType[*mutex.StoreError](err)
	switch {
	case isDown && noted == nil:
		return &cluster.Outage{Why: refusal.Text}
	case err == nil && noted != nil && noted.IsOver(servers, server, of):
		return nil
	}
	return noted
}

// addElsewhere makes the last run of a task the run of another server, if that began later. last
// has such runs by task.
func (h *Health) addElsewhere(last map[string]state.Row) {
	if len(last) == 0 {
		return
	}
	h.Troubles = nil
	for i := range h.Tasks {
		t := &h.Tasks[i]
		if other := last[t.Name]; other.ID > t.Last.ID { // ids are in the order in which runs begin
			t.Last = other
		}
		h.Troubles = append(h.Troubles, t.troubles(h.At)...)
	}
}

// noteError keeps the first error.
func (h *Health) noteError(err error) { h.Err = cmp.Or(h.Err, err) }

// readDatabase reads the last tick, the runs and the history. It leaves out what cannot be read.
func (h *Health) readDatabase(ctx context.Context) {
	db, err := state.OpenRead(h.Schedule.StateDir, state.Patience)
	if err != nil {
		h.noteError(err)
		return
	}
	defer db.Close()
	index := map[string]*TaskHealth{}
	for i := range h.Tasks {
		index[h.Tasks[i].Name] = &h.Tasks[i]
	}
	h.LastTick, err = db.Values().Covered(ctx)
	h.noteError(err)
	h.Unrecordable = h.unrecordable()
	live, lost, err := db.LiveAndLost(ctx)
	h.noteError(err)
	h.addRuns(live, lost, index)
	h.addHistory(ctx, db, index)
	h.addUsual(ctx, db, index)
	h.addOverdue(ctx, db, live, index)
}

// recordedWithin is the age up to which a last tick shows that the next one has not failed to
// record yet.
const recordedWithin = time.Minute + 15*time.Second

// unrecordable is Unrecordable. But a folder may be read-only for this process alone, as in a
// service with ProtectHome=read-only: then it counts only when ticks have recorded nothing.
func (h *Health) unrecordable() string {
	dir := h.Schedule.StateDir
	isRecent := h.At.Sub(h.LastTick).Abs() < recordedWithin
	if unix.Access(dir, unix.W_OK) == unix.EROFS && isRecent && !statedir.IsReadOnlyDisk(dir) {
		return ""
	}
	return Unrecordable(dir)
}

// addRuns counts the runs that live, and adds them and the lost ones to their tasks.
func (h *Health) addRuns(live, lost []state.Row, index map[string]*TaskHealth) {
	for _, row := range live {
		if row.Waits() { // nothing of it runs
			continue
		}
		h.Running++
		if t := index[row.Task]; t != nil {
			t.Running = append(t.Running, row)
		}
	}
	for _, row := range lost {
		if t := index[row.Task]; t != nil {
			t.Lost = append(t.Lost, row)
		}
	}
}

// addHistory adds the notifications that wait, and to each task its totals, its last run and its
// last success.
func (h *Health) addHistory(ctx context.Context, db *state.DB, index map[string]*TaskHealth) {
	totals, err := past.Of(db).Totals(ctx)
	if err == nil {
		h.Undelivered, h.GivenUp, err = db.Messages().Undelivered(ctx)
	}
	if err != nil {
		h.noteError(err)
		return
	}
	for name, t := range index {
		t.Totals = totals[name]
		if last := past.LastRan(t.Totals); last != nil {
			t.Last = newestBefore(ctx, past.Of(db), t.rowOf(db, *last), h.At)
		}
		for _, total := range t.Totals {
			switch total.Outcome {
			case outcome.Succeeded:
				t.Success = total.Ended
			case outcome.Missed:
				t.missed = missedBefore(ctx, past.Of(db), total, h.At)
			case outcome.Skipped:
				if !total.Slot.Before(t.Last.Slot) && total.Run > t.Last.ID {
					t.skipped, _ = db.Runs().Row(ctx, total.Run)
					t.crowded = t.isCrowded(ctx, past.Of(db))
				}
			}
		}
	}
}

// addUsual adds to the tasks with a run that may be slow how long their runs usually take.
func (h *Health) addUsual(ctx context.Context, db *state.DB, index map[string]*TaskHealth) {
	isLong := func(row state.Row) bool { return runningFor(row, h.At) > slowLeast }
	var names []string
	for name, t := range index {
		if slices.ContainsFunc(t.Running, isLong) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	usual, err := past.Of(db).Usual(ctx, names)
	h.noteError(err)
	for name, u := range usual {
		index[name].Usual = u
	}
}

// addOverdue adds to each task the ways in which it was overdue at the last tick and still is.
func (h *Health) addOverdue(ctx context.Context, db *state.DB, live []state.Row, index map[string]*TaskHealth) {
	success := func(task string) time.Time { return index[task].Success }
	open, err := stillOverdue(ctx, h.Schedule, db, live, success)
	h.noteError(err)
	for name, incidents := range open {
		index[name].Overdue = incidents
	}
}

// rowOf returns the newest run of a total in short: its outcome with its kind, its exit code and
// its times.
func (t *TaskHealth) rowOf(db *state.DB, total past.Total) state.Row {
	row := state.Row{
		ID:      total.Run,
		Task:    t.Name,
		Slot:    total.Slot,
		Started: total.Started,
		Result:  state.Result{Ended: total.Ended, Outcome: total.Outcome, ExitCode: total.ExitCode},
	}
	switch {
	case total.Outcome == outcome.Stopped, !t.Judge.IsEmpty(): // the totals have no kind and no values
		whole, _ := db.Runs().Row(context.Background(), total.Run)
		row.Kind, row.Values = whole.Kind, whole.Values
	case total.Outcome != outcome.Succeeded || total.ExitCode == nil:
	case slices.Contains(t.WarnCodes, *total.ExitCode):
		row.Kind = outcome.Warning
	}
	return row
}

// staleAfter is how old the last tick may be: if it is older, at least two ticks did not come.
const staleAfter = 3 * time.Minute

// LastTick returns the last minute that a tick covered with the state folder. It is zero when no
// tick ever covered one. After an error nobody knows whether ticks come.
func LastTick(dir string) (time.Time, error) {
	if err := Readable(dir); err != nil {
		return time.Time{}, err
	}
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return time.Time{}, err
	}
	defer db.Close()
	return db.Values().Covered(context.Background())
}

// Unrecordable says why ticks can record nothing in a state folder; else "". Then nobody knows
// whether ticks come.
func Unrecordable(dir string) string {
	existing := dir
	_, err := os.Stat(existing)
	for err != nil && existing != "/" {
		existing = filepath.Dir(existing)
		_, err = os.Stat(existing)
	}
	err = unix.Access(existing, unix.W_OK|unix.X_OK)
	ofDatabase := unix.Access(filepath.Join(dir, "sched.db"), unix.W_OK)
	if err == nil && !errors.Is(ofDatabase, fs.ErrNotExist) {
		err = ofDatabase
	}
	switch {
	case err != nil:
		return fmt.Sprintf("the state folder %s cannot be written (%v), so nothing is recorded", dir, err)
	case statedir.IsFull(existing):
		return "the disk of the state folder " + dir + " is full, so nothing is recorded"
	case statedir.IsOutOfInodes(existing):
		return "the disk of the state folder " + dir + " takes no other file, so nothing is recorded"
	}
	return ""
}

// TicksMissing says that the last tick is too old, or ahead of a clock that was set back, or that
// ticks come and can load no schedule; else "". dir is the state folder. A `sched work` whose first
// tick is still to come (FirstTick) misses none.
func TicksMissing(dir string, last, now time.Time) string {
	missing := ticksMissing(last, now)
	if !FirstTick(dir, last, now).IsZero() {
		return ""
	}
	unloaded := statedir.UnloadedIn(dir)
	if age := now.Sub(unloaded.Last); missing != "" && -staleAfter <= age && age <= staleAfter {
		return "ticks come, and can load no schedule: " + unloaded.Why
	}
	return missing
}

// FirstTick returns when the first tick of a `sched work` comes, if no tick ever came. It is zero
// without a `sched work`, and a minute after that tick should have come. After a tick, only a tick
// ends the silence: a `sched work` that is killed and started again and again would hide it.
func FirstTick(dir string, last, now time.Time) time.Time {
	if !last.IsZero() {
		return time.Time{}
	}
	began := work.Began(dir)
	first := began.Truncate(time.Minute).Add(time.Minute)
	if began.IsZero() || now.Before(began.Add(-time.Minute)) || now.Sub(first) > time.Minute {
		return time.Time{}
	}
	return first
}

func ticksMissing(last, now time.Time) string {
	switch age := now.Sub(last); {
	case last.IsZero():
		return "no tick ever came"
	case age > staleAfter:
		return "no tick came for " + humanize.Duration(age)
	case age < -staleAfter:
		return "the last tick is " + humanize.Duration(-age) + " ahead of the clock, which was set back"
	}
	return ""
}

// A TroubleKind is what may be wrong with a task.
type TroubleKind string

const (
	LastFailed TroubleKind = "failed"   // its last run failed
	HasMissed  TroubleKind = "missed"   // slots after its last run began, which no tick covered
	RunsLong   TroubleKind = "slow"     // much longer than usual
	IsCrowded  TroubleKind = "crowded"  // its last slots were all skipped, because its pool was full
	IsLacking  TroubleKind = "lacking"  // its last slot was skipped: ticks lack a variable or a file
	IsOverdue  TroubleKind = "overdue"  // a run takes longer than expected, or there was no success for longer
	RunLost    TroubleKind = "vanished" // a run without a process, which no tick has finished

	RunUnwatched TroubleKind = "unwatched" // a lost run whose command still runs
)

// A Trouble is one thing that is wrong.
type Trouble struct {
	Task string `json:"task"`    // empty if no task is in trouble
	Kind string `json:"trouble"` // a TroubleKind, an outcome, or another word of docs/json.md
	Text string `json:"text"`
	Run  string `json:"run"`
	Next string `json:"next"` // what to type
	Err  error  `json:"-"`    // why not all of the history can be read; nil for any other trouble
	Of   string `json:"-"`    // the task whose notification could not be delivered
}

// A TaskTrouble is one thing that is wrong with one task.
type TaskTrouble struct {
	Kind TroubleKind
	Task string
	Run  state.Row // failed, missed: the last run; slow, vanished: the run itself

	Text  string    // crowded, slow, lacking, overdue, vanished: what is wrong
	Slots int64     // missed: how many; 0 until Explain
	First time.Time // missed: the first slot, and the last
	Final time.Time
}

// A run is slow when it has taken more than slowFactor times as long as usual, and at least
// slowLeast more. A run of 10 s instead of 2 is no trouble. The usual time is known after slowKnown
// successes.
const (
	slowFactor = 3
	slowLeast  = time.Minute
	slowKnown  = 3
)

func isSlow(took time.Duration, usual past.Usual) bool {
	return usual.Runs >= slowKnown && took > slowFactor*usual.Duration && took >= usual.Duration+slowLeast
}

// runningFor returns how long the present attempt of a run has taken so far; 0 while it starts.
func runningFor(row state.Row, now time.Time) time.Duration {
	if !row.Attempted() {
		return 0
	}
	return now.Sub(row.Attempt.At)
}

// crowdedFrom is how many slots in a row a full pool must have skipped to be a trouble.
const crowdedFrom = 3

// isCrowded returns TaskHealth.crowded. It reads the history only if the newest slot with a tick
// was skipped so. Slots without a tick say nothing of the pool.
func (t *TaskHealth) isCrowded(ctx context.Context, p past.Past) bool {
	if t.skipped.Kind != outcome.Full || t.MaxWait > 0 || len(t.Running) > 0 {
		return false
	}
	outcomes := append([]outcome.Outcome{outcome.Skipped}, outcome.Ran...)
	rows, err := p.Find(ctx, past.Query{Task: t.Name, Outcomes: outcomes, NoTests: true, Limit: crowdedFrom})
	ran := func(row state.Row) bool { return row.Kind != outcome.Full }
	return err == nil && len(rows) == crowdedFrom && !slices.ContainsFunc(rows, ran)
}

// runsSince reports whether the command of a run for that slot or a newer one has begun, and goes
// on: then it is no trouble any more that the slot was missed or skipped.
func (t *TaskHealth) runsSince(slot time.Time) bool {
	return slices.ContainsFunc(t.Running, func(row state.Row) bool {
		return row.Attempted() && !row.Test && !row.Slot.Before(slot)
	})
}

func (t *TaskHealth) troubles(now time.Time) (all []TaskTrouble) {
	if t.Last.Wrong() {
		all = append(all, TaskTrouble{Kind: LastFailed, Task: t.Name, Run: t.Last})
	}
	if t.missed.After(t.Last.Slot) && !t.runsSince(t.missed) {
		all = append(all, TaskTrouble{Kind: HasMissed, Task: t.Name, Run: t.Last, First: t.missed, Final: t.missed})
	}
	if t.crowded {
		keys := "`without_overlapping: wait` lets"
		if !t.Background {
			keys = "`background: true` and `without_overlapping: wait` let"
		}
		text := fmt.Sprintf("the last %d slots were skipped: pool %s was full; %s it wait for a seat",
			crowdedFrom, t.Pool.Name, keys)
		all = append(all, TaskTrouble{Kind: IsCrowded, Task: t.Name, Text: text})
	}
	if t.skipped.Kind == outcome.Lacking && !t.runsSince(t.skipped.Slot) {
		text := "skipped: " + t.skipped.Reason
		all = append(all, TaskTrouble{Kind: IsLacking, Task: t.Name, Text: text})
	}
	for _, row := range t.Running {
		if running := runningFor(row, now); isSlow(running, t.Usual) {
			text := fmt.Sprintf("running for %s, usually %s",
				humanize.Duration(running), humanize.Duration(t.Usual.Duration))
			all = append(all, TaskTrouble{Kind: RunsLong, Task: t.Name, Run: row, Text: text})
		}
	}
	for _, i := range t.Overdue {
		late := TaskTrouble{Kind: IsOverdue, Task: t.Name, Text: i.Text(now)}
		if i.Kind == overdue.Within {
			late.Run.ID = i.ID
		}
		all = append(all, late)
	}
	for _, row := range t.Lost {
		lost := TaskTrouble{Kind: RunLost, Task: t.Name, Run: row, Text: "a run vanished; the next tick will finish it"}
		if IsUnwatched(row) {
			lost.Kind, lost.Text = RunUnwatched, "a run goes on: "+LostText(row)
		}
		all = append(all, lost)
	}
	return all
}

// Explain fills in what HealthOf leaves out of the troubles, with a query for each: why runs
// failed, and how many slots were missed.
func (h *Health) Explain() error {
	if len(h.Troubles) == 0 {
		return nil
	}
	db, err := state.OpenRead(h.Schedule.StateDir, state.Patience)
	if err != nil {
		return err
	}
	defer db.Close()
	var failed []string
	for _, t := range h.Troubles {
		if t.Kind == LastFailed {
			failed = append(failed, t.Task)
		}
	}
	last, err := db.Runs().Last(context.Background(), failed)
	if err != nil {
		return err
	}
	for i := range h.Troubles {
		t := &h.Troubles[i]
		switch r := last[t.Task]; {
		case t.Kind == LastFailed && r.ID == t.Run.ID:
			t.Run = r
		case t.Kind == HasMissed:
			missed, err := past.Of(db).Find(context.Background(), past.Query{
				Task:     t.Task,
				Outcomes: []outcome.Outcome{outcome.Missed},
				Since:    t.Run.Slot.Add(time.Microsecond),
				Until:    h.At,
			})
			if err != nil {
				return err
			}
			t.addMissed(missed)
		}
	}
	return nil
}

// missedOf returns which slots a trouble is about; none for a trouble of another kind.
func (h *Health) missedOf(shown Trouble) (missed TaskTrouble) {
	for _, t := range h.Troubles {
		if t.Kind == HasMissed && shown.Kind == string(HasMissed) && t.Task == shown.Task {
			missed = t
		}
	}
	return missed
}

// tickTrouble is TicksMissing, or says that nobody knows. It is empty if nothing can be recorded.
func (h *Health) tickTrouble() string {
	if h.LastTick.IsZero() && h.Err != nil {
		return "the history cannot be read, so nobody knows whether ticks come"
	}
	if h.Unrecordable != "" {
		return ""
	}
	return TicksMissing(h.Schedule.StateDir, h.LastTick, h.At)
}

// addMissed adds records of missed slots, given newest first.
func (t *TaskTrouble) addMissed(rows []state.Row) {
	for _, r := range rows {
		t.Slots += int64(max(r.Slots, 1))
		t.First, t.Final = r.Slot, humanize.Later(t.Final, humanize.Later(r.Slot, r.LastSlot))
	}
}

// stillOverdue returns the incidents of active tasks, by task, that were open at the last tick and
// still are. success returns when the newest success of a task ended. It reads nothing if the
// schedule expects nothing.
func stillOverdue(
	ctx context.Context, s *schedule.Schedule, db *state.DB, live []state.Row, success func(task string) time.Time,
) (map[string][]overdue.Incident, error) {
	if len(s.Expecting()) == 0 {
		return nil, nil
	}
	open, err := overdue.Open(ctx, db)
	isLive := map[string]bool{}
	for _, row := range live {
		isLive[row.ID] = true
	}
	still := map[string][]overdue.Incident{}
	for t := range s.ActiveTasks() {
		if len(open[t.Name]) > 0 && t.Expect != (schedule.Expect{}) {
			still[t.Name] = overdue.StillOpen(open[t.Name], isLive, success(t.Name))
		}
	}
	return still, err
}
