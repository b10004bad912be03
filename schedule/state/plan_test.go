package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/testing/machine"
)

func init() {
	children["plan the minute"] = planMinute
	children["work until killed"] = workUntilKilled
}

const manyTasks = 50

// planned is a slot to which an owner has not come yet.
func planned(task string, slot time.Time, owner Owned) Row {
	r := due(task, slot, owner.ID)
	r.Phase, r.Snapshot = Planned, nil
	return r
}

// planMinute is a tick: it plans noon with 50 tasks, and prints how many rows it got. It begins
// when its input ends, so that all ticks begin together.
func planMinute(dir string, out io.Writer) error {
	fmt.Fprintln(out, "ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	db, err := Open(dir, Patience)
	if err != nil {
		return err
	}
	defer db.Close()
	plan, err := db.Plan(ctx)
	if err != nil {
		return err
	}
	defer plan.Rollback()
	ours, err := plan.Become(ctx, db.Self(Tick))
	if err != nil {
		return err
	}
	var rows []Row
	for i := range manyTasks {
		rows = append(rows, planned(fmt.Sprint("task-", i), noon, ours))
	}
	added, err := plan.Add(ctx, rows)
	if err == nil {
		err = plan.Values().Cover(ctx, noon)
	}
	if err == nil {
		err = plan.Commit()
	}
	if err == nil {
		fmt.Fprintln(out, len(added))
	}
	return err
}

// The first ticks of a new folder also make the file, all at once.
func TestManyTicksPlanOneMinute(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	ticks := make([]*child, 8)
	for i := range ticks {
		ticks[i] = start(t, "plan the minute", dir)
	}
	for _, tick := range ticks {
		tick.line()
	}
	for _, tick := range ticks {
		tick.in.Close()
	}
	var got []string
	for _, tick := range ticks {
		got = append(got, strings.TrimSpace(tick.line()))
		tick.Wait() //nolint: its rows are left when it has ended, and the race detector takes a second for that
	}
	slices.Sort(got)
	if want := append(slices.Repeat([]string{"0"}, len(ticks)-1), "50"); !reflect.DeepEqual(got, want) {
		t.Errorf("they added %v rows, want %v", got, want)
	}
	plan, err := open(t, dir).Plan(ctx)
	must(t, err)
	defer plan.Rollback()
	left, _, err := plan.Reclaim(ctx, noon.AddDate(1, 0, 0))
	if err != nil || len(left) != manyTasks {
		t.Errorf("%d rows are left, %v", len(left), err)
	}
}

// workUntilKilled plans one minute after another, with one task in each, runs it, and prints how
// far it has come. Like each tick, it first takes the rows that dead ticks have left.
func workUntilKilled(dir string, out io.Writer) error {
	db, err := Open(dir, Patience)
	if err != nil {
		return err
	}
	for {
		if err := oneMinute(db); err != nil {
			return err
		}
		fmt.Fprintln(out, "a minute")
	}
}

func oneMinute(db *DB) error {
	self := db.Self(Tick)
	defer self.Close()
	rows, err := planOneMinute(db, self)
	if err != nil {
		return err
	}
	ours, err := self.Owned(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := ours.Begin(ctx, r); err != nil {
			return err
		}
		if err := runToItsEnd(db, self, r); err != nil {
			return err
		}
	}
	_, lost, err := db.LiveAndLost(ctx)
	for _, r := range lost {
		if err := ours.Apply(ctx, Take(), &r); err != nil {
			return err
		}
		if err := runToItsEnd(db, self, r); err != nil {
			return err
		}
	}
	return err
}

func planOneMinute(db *DB, self *Self) (rows []Row, err error) {
	plan, err := db.Plan(ctx)
	if err != nil {
		return nil, err
	}
	defer plan.Rollback()
	ours, err := plan.Become(ctx, self)
	if err != nil {
		return nil, err
	}
	last, err := plan.Values().Covered(ctx)
	if err != nil {
		return nil, err
	}
	minute := last.Add(time.Minute)
	if last.IsZero() {
		minute = noon
	}
	left, _, err := plan.Reclaim(ctx, noon.AddDate(1, 0, 0))
	if err != nil {
		return nil, err
	}
	for _, r := range left {
		r.Owner = ours.ID
		rows = append(rows, r)
	}
	rows = append(rows, planned("task", minute, ours))
	if _, err := plan.Add(ctx, rows); err != nil {
		return nil, err
	}
	return rows, errors.Join(plan.Values().Cover(ctx, minute), plan.Commit())
}

func runToItsEnd(db *DB, self *Self, r Row) error {
	ours, err := self.Owned(ctx)
	minute := r.Slot
	if r.Phase == Planned || r.Phase == Ready {
		err = errors.Join(err, ours.Apply(ctx, Start(Attempt{Number: 1, At: minute}), &r),
			ours.Apply(ctx, Fork(1), &r))
	}
	if r.Phase != Finishing {
		err = errors.Join(err, ours.Apply(ctx, Settle(Result{Outcome: outcome.Lost, Ended: minute}, nil), &r))
	}
	fire, herr := ours.HookBegun(ctx, r.ID, "after 1", minute)
	if err = errors.Join(err, herr); err == nil && fire {
		message := Message{ID: r.ID, HookKey: "after 1", Target: []byte("{}"), Body: []byte("{}"), Created: minute}
		_, err = db.Messages().Put(ctx, self.owner, &message)
		err = errors.Join(err, ours.HookEnded(ctx, r.ID, "after 1", minute, ""))
	}
	return errors.Join(err, ours.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Lost, Ended: minute}}), &r))
}

// A process is killed again and again, each time after a few steps more. Afterwards every minute
// that was covered has one row, each row ends, and each row has fired its hook once.
func TestNothingIsLostWhenProcessesAreKilled(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	kills := machine.Sized(8, 40)
	for i := range kills {
		c := start(t, "work until killed", dir)
		for range i % 3 {
			c.line()
		}
		c.line()
		for end := time.Now().Add(time.Duration(i*37%1000) * time.Microsecond); time.Now().Before(end); {
		}
		c.kill()
	}
	db := open(t, dir)
	must(t, oneMinute(db)) // takes the rows that the last process has left
	must(t, oneMinute(db))
	must(t, db.CheckPages(ctx))
	covered, err := db.Values().Covered(ctx)
	must(t, err)
	rows := allRows(t, db)
	if want := int(covered.Sub(noon)/time.Minute) + 1; len(rows) != want {
		t.Errorf("%d rows for %d minutes", len(rows), want)
	}
	for i, r := range rows {
		if r.Phase != Ended || !r.Slot.Equal(covered.Add(-time.Duration(i)*time.Minute)) {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	messages, err := db.Messages().Waiting(ctx)
	if err != nil || messages != len(rows) {
		t.Errorf("%d messages of %d runs, %v", messages, len(rows), err)
	}
	must(t, db.Owners().RemoveStale(ctx))
	files, err := os.ReadDir(db.file.locksDir())
	must(t, err)
	var left int
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ownerPrefix) {
			left++
		}
	}
	if left > 0 {
		t.Errorf("%d files of owners are left", left)
	}
	t.Logf("%d minutes, %d kills", len(rows), kills)
}

func TestAPlanIsDoneOrUndone(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	plan, err := db.Plan(ctx)
	must(t, err)
	_, err = plan.Add(ctx, []Row{due("task", noon, 1)})
	must(t, err)
	must(t, plan.Values().Cover(ctx, noon))
	plan.Rollback()
	plan.Rollback()
	if covered, err := db.Values().Covered(ctx); !covered.IsZero() || err != nil {
		t.Errorf("%v, %v", covered, err)
	}
	if rows := allRows(t, db); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}

// A plan sees its own changes. An error of the database ends it.
func TestAPlanSeesItself(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	plan, err := db.Plan(ctx)
	must(t, err)
	defer plan.Rollback()
	must(t, plan.Values().Cover(ctx, noon))
	if covered, err := plan.Values().Covered(ctx); !covered.Equal(noon) || err != nil {
		t.Errorf("%v, %v", covered, err)
	}
	row := due("task", noon, 1)
	row.Phase = "asleep"
	if _, err := plan.Add(ctx, []Row{row}); err == nil {
		t.Fatal("a row in no phase was added")
	}
	if err := plan.Commit(); err == nil {
		t.Error("a plan that has failed was committed")
	}
	if covered, err := db.Values().Covered(ctx); !covered.IsZero() || err != nil {
		t.Errorf("%v, %v", covered, err)
	}
}

// A tick becomes an owner in a plan that fails. It is no owner afterwards, and leaves no file.
func TestAPlanThatIsUndoneLeavesNoOwner(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	plan, err := db.Plan(ctx)
	must(t, err)
	self := db.Self(Tick)
	ours, err := plan.Become(ctx, self)
	must(t, err)
	plan.Rollback()
	if db.Owners().Alive(ours.ID) || self.owner != nil {
		t.Error("the owner of a plan that was undone lives")
	}
}

// The database fails while a tick becomes an owner: the plan is over, and the tick no owner.
func TestAPlanThatFailsWhileATickBecomesAnOwner(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	plan, err := db.Plan(ctx)
	must(t, err)
	defer plan.Rollback()
	if _, err := plan.tx.tx.Exec("DROP TABLE owner"); err != nil {
		t.Fatal(err)
	}
	self, failed := db.Self(Tick), make(chan error)
	go func() {
		_, err := plan.Become(ctx, self)
		failed <- err
	}()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("it is an owner")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for itself")
	}
	if self.owner != nil {
		t.Error("it is an owner without a row")
	}
	if _, err := self.Owned(ctx); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Rows that a dead tick has planned go to the next plan, and rows that waited before wait again.
// Rows that a living tick has planned stay.
func TestWhatADeadTickLeft(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	plan, err := db.Plan(ctx)
	must(t, err)
	self, alive := db.Self(Tick), db.Self(Tick)
	dead, err := plan.Become(ctx, self)
	must(t, err)
	waited := planned("waited", noon, dead)
	waited.Wait = Wait{For: ForStore, Since: noon, Until: noon.Add(time.Hour)}
	left := planned("left", noon, dead)
	_, err = plan.Add(ctx, []Row{waited, left})
	must(t, err)
	must(t, plan.Commit())
	self.owner.Close() // as the kernel does when its process dies
	plan, err = db.Plan(ctx)
	must(t, err)
	living, err := plan.Become(ctx, alive)
	must(t, err)
	_, err = plan.Add(ctx, []Row{planned("living", noon, living)})
	must(t, err)
	must(t, plan.Commit())

	plan, err = db.Plan(ctx)
	must(t, err)
	found, live, err := plan.Reclaim(ctx, noon.AddDate(1, 0, 0))
	must(t, err)
	must(t, plan.Commit())
	if len(found) != 2 || len(live) != 1 || live[0].Task != "living" {
		t.Errorf("left %+v, live %+v", found, live)
	}
	waiting, err := db.Runs().Waiting(ctx)
	must(t, err)
	if len(waiting) != 1 || waiting[0].ID != waited.ID || !waiting[0].Wait.Until.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v waits", waiting)
	}
	if rows := allRows(t, db); len(rows) != 1 {
		t.Errorf("people see %+v", rows)
	}
}

func TestASlotHasOneRow(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	adds := func(why string, want int, rows ...Row) {
		t.Helper()
		plan, err := db.Plan(ctx)
		must(t, err)
		defer plan.Rollback()
		if added, err := plan.Add(ctx, rows); len(added) != want || err != nil {
			t.Errorf("%s: %d rows, %v", why, len(added), err)
		}
		must(t, plan.Commit())
	}
	long := ended("task", noon, outcome.Missed)
	long.ID, long.LastSlot, long.Slots = outcome.RangeID("task", noon), noon.Add(time.Hour), 61
	byHand := due("task", noon, 1)
	byHand.Scheduled, byHand.Origin = false, "by ann"
	again := byHand
	again.ID = outcome.NewID()

	adds("a new slot", 1, due("task", noon.Add(-time.Minute), 1))
	adds("the slot again", 0, due("task", noon.Add(-time.Minute), 1))
	adds("the slot of another task", 1, due("other", noon.Add(-time.Minute), 1))
	adds("a range", 1, long)
	adds("the range again", 0, long)
	adds("slots of the range", 0, due("task", noon, 1), due("task", noon.Add(time.Minute), 1),
		due("task", noon.Add(time.Hour), 1))
	adds("the slot after the range", 1, due("task", noon.Add(61*time.Minute), 1))
	adds("a slot of another task", 1, due("other", noon.Add(time.Minute), 1))
	adds("a slot of the range by hand, twice", 2, byHand, again)
}

// A planned row that begins has the columns that it would have if it were added anew, whatever it
// has waited for. Only a request to stop it stays.
func TestAPlannedRowThatBeginsIsTheRowOfItsRun(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	tick, supervisor := owned(t, db), owned(t, db)
	before := planned("before", noon, tick)
	before.Wait = Wait{For: ForStore, Since: noon, Until: noon.Add(time.Hour)}
	before.Notes, before.Reason, before.Server = []string{"it waited"}, "the store is down", "another"
	runs := Runs{db}
	for _, inOneStep := range []bool{true, false} {
		row := before
		row.ID = outcome.NewID()
		_, err := runs.Request(ctx, row)
		must(t, err)
		must(t, runs.AskStop(ctx, row.ID, Stop{By: "ann", At: noon}))
		run := due("before", noon, supervisor.ID)
		run.ID, run.Phase, run.Params = row.ID, Ready, map[string]string{"day": "monday"}
		run.Attempt, run.Started = Attempt{Number: 1, At: noon, Boot: "this"}, noon
		run.Locked, run.Seat, run.Pool, run.PreviousSlot = true, "pool#2", "pool", noon.Add(-time.Hour)
		if inOneStep {
			must(t, supervisor.Begin(ctx, run))
			run.Phase, run.Stop = Running, &Stop{By: "ann", At: noon}
		} else {
			must(t, db.write(ctx, func(q querier) error {
				rec, err := newRecorder(ctx, q, []Row{run})
				must(t, err)
				return rec.record(run)
			}))
		}
		run.Slots = 1
		got := get(t, db, row.ID)
		run.DefinitionID = got.DefinitionID
		if !reflect.DeepEqual(got, run) {
			t.Errorf("in one step (%v)\ngot  %+v\nwant %+v", inOneStep, got, run)
		}
		must(t, execute(ctx, db, "DELETE FROM run"))
	}
}

// A slot that has another row, or that counts as missed in a range, begins by the rules of Record.
func TestAPlannedRowOfASlotThatIsKnownBeginsByTheRules(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	tick := owned(t, db)
	byHand := due("task", noon, tick.ID)
	byHand.Scheduled = false
	slot := planned("task", noon, tick)
	_, err := Runs{db}.Request(ctx, slot, byHand)
	must(t, err)
	must(t, tick.Begin(ctx, slot))
	if get(t, db, slot.ID).Scheduled {
		t.Error("both rows of the slot are the slot of the schedule")
	}

	missed := planned("missed", noon, tick)
	_, err = Runs{db}.Request(ctx, missed)
	must(t, err)
	many := Row{ID: outcome.NewID(), Task: "missed", Mutex: "missed", Slot: noon.Add(-time.Minute),
		LastSlot: noon.Add(time.Minute), Slots: 3, Result: Result{Outcome: outcome.Missed, Ended: noon}}
	must(t, Runs{db}.Record(ctx, []Row{many}, false))
	must(t, tick.Begin(ctx, missed))
	if n := get(t, db, many.ID).Slots; n != 2 {
		t.Errorf("%d slots were missed, besides the one that runs", n)
	}
}
