package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/run"
	"sched/schedule/run/holding"
	"sched/schedule/state"
)

// A supervisor may be killed before it gets a run that is written down as given to it. The tick
// gives the run to another supervisor: the run counted as failed, and as lost at the next tick. If
// a witness has begun the run meanwhile, the witness keeps it, and no other process starts the
// command.
func TestARunThatItsSupervisorDidNotGetIsTakenBack(t *testing.T) {
	ctx, storage := context.Background(), holding.StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	tick := run.NewCaller(storage, state.Tick, os.Environ())
	witness, err := storage.DB.Owners().Enroll(ctx, state.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	its := storage.DB.Owners().Owned(witness)
	ran, fired := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "fired")
	hook := schedule.Hook{Run: schedule.Command{List: []string{"touch", fired}}}
	task := &schedule.Task{Name: "report", Mutex: "report",
		Command: schedule.Command{List: []string{"touch", ran}}, Dir: t.TempDir(),
		Retry: schedule.Retry{Attempts: 1}, Hooks: schedule.Hooks{After: []schedule.Hook{hook}}}
	record := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now(), Background: true}
	r, err := tick.Begin(record, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Own.HandOver(witness.ID); err != nil {
			t.Fatal(err)
		}
		if err := r.Own.Take(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Own.HandOver(witness.ID); err != nil {
		t.Fatal(err)
	}
	if err := its.Apply(ctx, state.Start(state.Attempt{Number: 1, At: time.Now()}), &record); err != nil {
		t.Fatal(err)
	}
	if err := r.Own.Take(); err == nil {
		t.Error("a run is taken back that a witness has begun")
	}
	Execute(r, ctx, ctx)
	for _, path := range []string{ran, fired} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s by a process that has not the run any more", filepath.Base(path))
		}
	}
	if row, err := storage.DB.Runs().Row(ctx, record.ID); err != nil || row.Phase != state.Running ||
		row.Owner != its.ID {
		t.Errorf("%+v, %v", row, err)
	}
}

// On a full disk a command starts although that cannot be written down. When its supervisor was
// killed then, the witness found the run ready and started its command again.
func TestAnAttemptThatCouldNotBeWrittenDownIsNotStartedAgain(t *testing.T) {
	ctx, storage := context.Background(), holding.StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	supervisor := run.NewCaller(storage, state.Supervisor, os.Environ())
	ran := filepath.Join(t.TempDir(), "ran")
	task := &schedule.Task{Name: "report", Mutex: "report",
		Command: schedule.Command{List: []string{"touch", ran}}, Dir: t.TempDir(),
		Retry: schedule.Retry{Attempts: 1}}
	for _, starts := range []int{1, 0} {
		unwritten := starts > 0
		record := state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: time.Now(), Background: true}
		r, err := supervisor.Begin(record, task, nil)
		if err != nil {
			t.Fatal(err)
		}
		output.MarkUnwritten(r.Output, starts)
		row, err := storage.DB.Runs().Row(ctx, record.ID)
		if err != nil {
			t.Fatal(err)
		}
		on, left, err := goOnWith(supervisor.Process, row)
		if err != nil {
			t.Fatal(err)
		}
		became := run.Finish(on, *supervise(on, left, ctx, ctx)).Outcome
		if _, err := os.Stat(ran); (err == nil) == unwritten || (became == outcome.Lost) != unwritten {
			t.Errorf("unwritten: %t: it %s; %v", unwritten, became, err)
		}
	}
}

// A supervisor was killed while the folder was read-only. Its witness could not open the output,
// and left the run alone for ever, with its mutex.
func TestARunIsTakenOverWhenItsOutputCanBeOpenedAgain(t *testing.T) {
	t.Parallel()
	ctx, storage := context.Background(), holding.StorageAt(t.TempDir(), nil)
	defer storage.DB.Close()
	supervisor := run.NewCaller(storage, state.Supervisor, os.Environ())
	task := &schedule.Task{Name: "report", Mutex: "report",
		Command: schedule.Command{List: []string{"echo", "printed"}}, Dir: t.TempDir(),
		Retry: schedule.Retry{Attempts: 1}, SuccessCodes: []int{0}}
	r, err := supervisor.Begin(state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report",
		Slot: time.Now(), Background: true}, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, elsewhere := r.Own.Output, r.Own.Output+".elsewhere"
	// no file can be opened there
	if err := errors.Join(os.Rename(path, elsewhere), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	row, err := storage.DB.Runs().Row(ctx, r.Own.ID)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan *run.Run)
	go func() {
		on, _, err := goOnWith(supervisor.Process, row)
		if err != nil {
			t.Error(err)
		}
		taken <- on
	}()
	select {
	case <-taken:
		t.Fatal("it is taken over without its output")
	case <-time.After(50 * time.Millisecond):
	}
	if err := errors.Join(os.Remove(path), os.Rename(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	if became := Execute((<-taken), ctx, ctx); became.Outcome != outcome.Succeeded {
		t.Errorf("%s: %s", became.Outcome, became.Reason)
	}
	if printed, _ := os.ReadFile(path); string(printed) != "printed\n" {
		t.Errorf("it printed %q", printed)
	}
}

// A supervisor that could not open the database just when it got its runs dropped them all, and the
// next tick called them lost.
func TestARunStartsWhenItsSupervisorCanOpenTheDatabaseAgain(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	storage := holding.StorageAt(dir, nil)
	owner, err := storage.DB.Owners().Enroll(ctx, state.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	tick := run.NewCaller(storage, state.Tick, os.Environ())
	task := &schedule.Task{Name: "report", Mutex: "report",
		Command: schedule.Command{List: []string{"echo", "printed"}}, Dir: t.TempDir(),
		Retry: schedule.Retry{Attempts: 1}, SuccessCodes: []int{0}}
	r, err := tick.Begin(state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report",
		Slot: time.Now(), Background: true}, task, nil)
	if err == nil {
		err = r.Own.HandOver(owner.ID)
	}
	path := filepath.Join(dir, "sched.db")
	if err := errors.Join(err, storage.DB.Close(), os.Rename(path, path+".away"), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	own := holding.StorageAt(dir, nil)
	defer own.DB.Close()
	caller := run.NewCaller(own, state.Supervisor, os.Environ())
	caller.Self = own.DB.As(owner)
	s := &supervisor{caller: caller, queue: &queueView{}, terminate: ctx, kill: ctx}
	if !s.watch(r.Own.ID, []*os.File{r.Output}) {
		t.Fatal("the supervisor does not watch the run")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	s.runs.Wait()
	if row, err := own.DB.Runs().Row(ctx, r.Own.ID); err != nil || row.Outcome != outcome.Succeeded {
		t.Errorf("%s %q, %v", row.Outcome, row.Reason, err)
	}
}

// When the clock is set back, hooks do not wait until it has caught up.
func TestHooksWaitForNoClockThatWasSetBack(t *testing.T) {
	s := &supervisor{}
	s.lastReceived.Store(time.Now().Add(time.Hour).UnixNano())
	done := make(chan struct{})
	go func() { s.awaitStarts(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("they wait for the hour by which the clock was set back")
	}
}
