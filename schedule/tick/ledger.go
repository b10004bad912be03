package tick

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A Ledger accounts for the slots of one tick: see the package comment. Ticks with --at or --only
// cover no minute, and account for no slot.
//
// The exported fields are the caller's to set, before Open. When Open has returned, the other
// methods are safe for concurrent use: nothing of the ledger changes any more.
type Ledger struct {
	Schedule *schedule.Schedule
	Valid    bool                                     // Schedule is what the file says, not the last valid one instead
	Parse    func([]byte) (*schedule.Schedule, error) // reads the last valid one

	Dir    string // the state folder
	DB     *state.DB
	Self   *state.Self // the tick, as the owner of what it plans
	Shared bool        // other servers are told of runs
	Minute time.Time
	Server string
	Covers bool // the tick accounts for its minute; false with --at or --only

	// ReadPauses may ask the database, so it is called while nothing is planned.
	ReadPauses func() Paused
	// Problem reports what is wrong. It is called when the plan is done.
	Problem func(format string, a ...any)

	plan     *state.Plan // while Open plans
	paused   *Paused     // nil before it was needed
	Findings             // of the last plan
}

// Findings are what a plan has found.
type Findings struct {
	Covered   bool                   // another tick has covered the minute
	CoveredBy string                 // the file of the schedule of that tick
	Idle      bool                   // nothing waited in the database for this tick
	Recorded  int                    // how many rows were added for slots that nobody starts
	Expired   []expiredSlot          // the tick skips them, because their tasks have hooks for that
	runs      map[slotKey]plannedRun // the runs that this tick begins or skips
	waiting   map[slotKey]state.Row  // the slots that waited when this tick began
	problems  []string               // the texts for Problem
}

// An expiredSlot is a slot that waited until it was too late, so it does not run.
type expiredSlot struct {
	Slot   schedule.Slot
	Kind   outcome.Kind
	Reason string
}

// Paused answers which slots are paused.
type Paused struct {
	// By returns the text of the pause that covered a slot of the past; "" for none.
	By func(task *schedule.Task, at time.Time) string
	// Touches reports whether a pause may cover a slot in the time from first through last.
	Touches func(task *schedule.Task, first, last time.Time) bool
}

// A slotKey is a slot, by the name of its task and its time in UTC.
type slotKey struct {
	task string
	slot time.Time
}

func keyOf(slot schedule.Slot) slotKey { return slotKey{slot.Task.Name, slot.At.UTC()} }

// A plannedRun is the run that a tick begins for a slot.
type plannedRun struct {
	run    string
	note   string // why it did not begin before; empty if it is on time
	hasRow bool   // the slot has a row already, as a run that somebody asked for, or as missed
}

// errPauses says that the plan depends on pauses, which were not read yet.
var errPauses = errors.New("what is paused was not read yet")

// Open accounts for the minute of the tick. It returns the slots that the tick starts: due slots,
// slots that waited, and missed slots that run once. It returns none when another tick has covered
// the minute. After an error nothing is accounted for, and it returns the due slots.
func (l *Ledger) Open(slots []schedule.Slot) (starts []schedule.Slot, err error) {
	for setAside := false; ; {
		starts, err = l.tryToPlan(slots)
		switch {
		case errors.Is(err, errPauses):
			l.paused = new(l.ReadPauses())
			continue
		case state.Damaged(err) && !setAside: // there is a new database now
			setAside = true
			continue
		case err != nil:
			l.Findings = Findings{}
			return slots, err
		}
		for _, text := range l.problems {
			l.Problem("%s", text)
		}
		return starts, nil
	}
}

// tryToPlan is one try of Open. After an error nothing is planned.
func (l *Ledger) tryToPlan(slots []schedule.Slot) (starts []schedule.Slot, err error) {
	ctx := context.Background()
	if l.plan, err = l.DB.Plan(ctx); err != nil {
		return nil, err
	}
	defer l.plan.Rollback()
	l.Findings = Findings{runs: map[slotKey]plannedRun{}, waiting: map[slotKey]state.Row{}}
	hasWork, err := l.plan.Runs().HasWork(ctx)
	if err != nil {
		return nil, err
	}
	l.Idle = !hasWork
	last, err := l.lastCovered(ctx)
	if err != nil {
		return nil, err
	}
	// This tick may be too late, or one too many for its minute
	// (docs/internals/decisions.md#it-starts-nothing-in-a-minute-that-is-covered).
	if l.Covers && last.After(l.Minute) {
		l.addHeldUp(last)
		return nil, nil
	}
	if l.Covers && last.Equal(l.Minute) {
		l.Covered = true
		_, err := l.plan.Values().Get(ctx, keyCoveredBy, &l.CoveredBy)
		return nil, err
	}
	if l.Covers {
		starts, err = l.planMinute(ctx, slots, last)
	} else {
		starts, err = slots, l.planOnce(ctx, slots, last)
	}
	if err != nil {
		return nil, err
	}
	return starts, l.plan.Commit()
}

// planMinute plans what this tick starts, and records what nobody starts any more: steps 2 to 6 of
// docs/internals/how-a-run-works.md#the-plan-of-a-minute.
func (l *Ledger) planMinute(ctx context.Context, slots []schedule.Slot, last time.Time) ([]schedule.Slot, error) {
	// 2. The slots that dead ticks have left, and the slots that live ticks have planned.
	left, live, err := l.plan.Reclaim(ctx, l.Minute.Add(time.Minute))
	if err != nil {
		return nil, err
	}

	// 3. The slots of this minute that nobody has accounted for, and the slots that waited.
	open, err := l.dropSettled(ctx, slots, last)
	if err != nil {
		return nil, err
	}
	b := &backfill{ledger: l, gap: l.findGap(ctx, last), leftMissed: map[string][]miss{}, begun: map[slotKey]bool{}}
	delayed, err := b.takeDelayed(ctx)
	if err != nil {
		return nil, err
	}
	waited := func(s schedule.Slot) bool { _, waited := l.waiting[keyOf(s)]; return waited }
	open = slices.DeleteFunc(slices.Clone(open), waited) // the clock was set back
	open, err = l.addBootSlots(ctx, open, last)
	if err != nil {
		return nil, err
	}

	// 4. The slots that start: the slots that waited come first, and missed slots may join. The
	// slots that nobody starts get outcomes.
	if err := b.findLacking(ctx); err != nil {
		return nil, err
	}
	starts, err := b.settlePast(ctx, open, left)
	if err != nil {
		return nil, err
	}
	starts = append(b.skipOutdated(delayed, starts, live), starts...)
	if b.needsPauses {
		return nil, errPauses
	}
	starts, err = l.catchUp(ctx, starts, live)
	if err != nil {
		return nil, err
	}

	if err := l.plan.Runs().Record(ctx, b.rows, l.Shared); err != nil {
		return nil, err
	}
	l.Recorded = len(b.rows)
	if b.runNow+b.stayMissed > 0 {
		l.addProblem("%s", b.reasons.summary(b.runNow))
	}

	// 5. The rows of what starts, and of the slots that waited too long: this tick fires their
	// hooks.
	planned := slices.Clone(starts)
	for _, expired := range l.Expired {
		planned = append(planned, expired.Slot)
	}
	if err := l.addRows(ctx, planned); err != nil {
		return nil, err
	}

	// 6. The minute is covered, with the schedule that the tick used.
	if err := l.keepValid(ctx); err != nil {
		return nil, err
	}
	if err := l.plan.Values().Set(ctx, keyCoveredBy, l.Schedule.File); err != nil {
		return nil, err
	}
	return starts, l.plan.Values().Cover(ctx, l.Minute)
}

// keyCoveredBy names the value that has the file of the schedule of the last tick that covered a
// minute. A second schedule in the same state folder would run nothing.
const keyCoveredBy = "covered_by"

// sortStarts sorts slots in the order in which they start: by their instants, and then in the order
// of the file. Slots of the past start with the full minute.
func (l *Ledger) sortStarts(slots []schedule.Slot) {
	order := map[*schedule.Task]int{}
	for i, task := range l.Schedule.Tasks {
		order[task] = i
	}
	slices.SortStableFunc(slots, func(x, y schedule.Slot) int {
		start := humanize.Later(x.At, l.Minute).Compare(humanize.Later(y.At, l.Minute))
		return cmp.Or(start, order[x.Task]-order[y.Task], x.At.Compare(y.At))
	})
}

// planOnce plans for a tick that accounts for nothing, so that the next tick ends its condition
// commands if this tick is killed while they run.
func (l *Ledger) planOnce(ctx context.Context, slots []schedule.Slot, last time.Time) error {
	isPlain := func(s schedule.Slot) bool { return len(s.Task.ConditionCommands) == 0 }
	conditional := slices.DeleteFunc(slices.Clone(slots), isPlain)
	err := l.addRows(ctx, conditional)
	// If a tick has covered a minute, the schedule of that tick stays the last valid one: the next
	// tick compares with it to find out which tasks are new.
	if err == nil && last.IsZero() {
		err = l.keepValid(ctx)
	}
	return err
}

// addRows writes the rows of slots that this tick starts or skips. They are accounted for if the
// tick covers its minute.
func (l *Ledger) addRows(ctx context.Context, slots []schedule.Slot) error {
	if len(slots) == 0 {
		return nil
	}
	own, err := l.plan.Become(ctx, l.Self)
	if err != nil {
		return err
	}
	var rows []state.Row
	for _, slot := range slots {
		if waiting, ok := l.waiting[keyOf(slot)]; ok {
			if err := own.Apply(ctx, state.TakeIntoPlan(), &waiting); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, l.newRow(slot, own))
	}
	added, err := l.plan.Add(ctx, rows)
	if err != nil || len(added) == len(rows) {
		return err
	}
	return l.addSecondRows(ctx, rows, added)
}

// newRow returns the row of a slot, which belongs to the owner. A slot that a dead tick had claimed
// keeps its run; any other slot gets a new one.
func (l *Ledger) newRow(slot schedule.Slot, own state.Owned) state.Row {
	key := keyOf(slot)
	if l.runs[key].run == "" {
		l.runs[key] = plannedRun{run: outcome.NewID()}
	}
	return state.Row{
		ID:         l.runs[key].run,
		Task:       key.task,
		Mutex:      slot.Task.Mutex,
		Slot:       key.slot,
		Scheduled:  l.Covers,
		Background: slot.Task.Background,
		Server:     l.Server,
		Phase:      state.Planned,
		Owner:      own.ID,
	}
}

// addSecondRows adds the rows that were not added, because their slots have a row already. They
// are not Scheduled, so both rows may stay.
func (l *Ledger) addSecondRows(ctx context.Context, rows, added []state.Row) error {
	again := slices.DeleteFunc(rows, func(row state.Row) bool {
		return slices.ContainsFunc(added, func(a state.Row) bool { return a.ID == row.ID })
	})
	for i, row := range again {
		again[i].Scheduled = false
		key := slotKey{row.Task, row.Slot}
		l.runs[key] = plannedRun{run: row.ID, note: l.runs[key].note, hasRow: true}
	}
	_, err := l.plan.Add(ctx, again)
	return err
}

// validSchedule returns what the database keeps of a valid schedule. Machine is kept because
// `servers` of a task depends on it.
func validSchedule(s *schedule.Schedule) state.ValidSchedule {
	return state.ValidSchedule{
		File: s.File, Digest: s.Digest, Since: clock.Now(),
		Machine: strings.Join(append([]string{s.Machine.Name}, s.Machine.Labels...), " "),
	}
}

// keepValid writes the schedule of this tick down as the last valid one, if it is valid. A schedule
// whose text cannot be read is only a problem to report.
func (l *Ledger) keepValid(ctx context.Context) error {
	if !l.Valid {
		return nil
	}
	var readError error
	err := l.plan.Values().KeepValid(ctx, validSchedule(l.Schedule), func() (text []byte, err error) {
		text, readError = l.Schedule.Archive()
		return text, readError
	})
	if readError != nil {
		l.addProblem("the last valid schedule is not kept: %v", readError)
		return nil
	}
	return err
}

// addHeldUp adds the problem that a later minute than this one was covered first.
func (l *Ledger) addHeldUp(last time.Time) {
	text := func(minute time.Time) string { return humanize.MinuteZone(minute, l.Schedule.Location) }
	l.addProblem("this tick of %s was held up until %s was covered, and starts nothing", text(l.Minute), text(last))
}

// addProblem has Problem report something when the plan is done.
func (l *Ledger) addProblem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// lastCovered returns the last minute that a tick covered; zero if no tick ever did. A minute in
// the future was covered when the clock was wrong, and does not count
// (docs/internals/decisions.md#wrong-clocks). lastCovered reads the clock again: for a tick that
// was held up, minutes that have passed meanwhile are not in the future.
func (l *Ledger) lastCovered(ctx context.Context) (time.Time, error) {
	last, err := l.plan.Values().Covered(ctx)
	if last.After(clock.Now()) && last.After(l.Minute) {
		last = time.Time{}
	}
	return last, err
}

// RunOf returns the id of the run that was planned for a slot, with a note on why it did not begin
// before. Both are empty if no run was planned.
func (l *Ledger) RunOf(slot schedule.Slot) (run, note string) {
	p := l.runs[keyOf(slot)]
	return p.run, p.note
}

// LastValid returns the last valid text of the schedule in file, for load.Archive. The error is
// os.ErrNotExist if there is no such text. LastValid changes nothing in the folder.
func LastValid(dir, file string) ([]byte, error) {
	db, err := state.OpenRead(dir, state.Patience)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	last, err := db.Values().LastValid(context.Background(), file)
	if err == nil && last.Digest == "" {
		err = os.ErrNotExist
	}
	return last.Text, err
}
