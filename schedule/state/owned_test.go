package state

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

func TestARunFromItsSlotToItsEnd(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	ours := owned(t, db)
	row := due("backup", noon, ours.ID)
	add(t, db, row)
	zero := 0

	must(t, ours.Apply(ctx, Start(Attempt{Number: 1, At: noon.Add(time.Second), Boot: "b1"}), &row))
	if r := get(t, db, row.ID); r.Phase != Running || r.Attempt.PID != 0 || r.Owner != ours.ID ||
		!r.Started.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", r)
	}
	must(t, ours.Apply(ctx, Fork(4711), &row))
	for _, renewed := range []int64{70, 90, 80} { // an answer may come late
		must(t, ours.Apply(ctx, Renew(time.Unix(renewed, 0)), &row))
	}
	if a := get(t, db, row.ID).Attempt; a.PID != 4711 || a.Leased.Unix() != 90 {
		t.Errorf("after renewals: %+v", a)
	}
	must(t, ours.Apply(ctx, AwaitRetry(Result{Reason: "exit code 1", ExitCode: new(int), UserCPU: time.Second}, noon.Add(30*time.Second)), &row))
	if r := get(t, db, row.ID); r.Phase != Ready || r.Attempt.Number != 1 || r.Attempt.PID != 0 ||
		!r.Wait.NotBefore.Equal(noon.Add(30*time.Second)) || r.Outcome != "" {
		t.Errorf("between two attempts: %+v", r)
	}
	must(t, ours.Apply(ctx, Start(Attempt{Number: 2, At: noon.Add(30 * time.Second), Boot: "b1"}), &row))
	must(t, ours.Note(ctx, row.ID, "first"))
	must(t, ours.Apply(ctx, Settle(Result{Outcome: outcome.Succeeded, Ended: noon.Add(40 * time.Second),
		ExitCode: &zero, UserCPU: 2 * time.Second, Output: "backup/x.log"}, nil), &row))
	fire, err := ours.HookBegun(ctx, row.ID, "on_success 1", noon.Add(41*time.Second))
	if !fire || err != nil {
		t.Errorf("%v, %v", fire, err)
	}
	must(t, ours.HookEnded(ctx, row.ID, "on_success 1", noon.Add(42*time.Second), "second"))
	if fire, err := ours.HookBegun(ctx, row.ID, "on_success 1", noon.Add(43*time.Second)); fire || err != nil {
		t.Errorf("a hook that has ended is fired again: %v, %v", fire, err)
	}
	triggered := []outcome.Triggered{{Task: "report", Run: "other"}}
	must(t, ours.Apply(ctx, End(Ending{Result: get(t, db, row.ID).Result, Triggered: triggered}), &row))

	r := get(t, db, row.ID)
	want := Row{ID: row.ID, Task: "backup", Mutex: "backup", Slot: noon, Slots: 1, Scheduled: true, Server: "web-1",
		Snapshot: row.Snapshot, DefinitionID: 1,
		Triggered: triggered, Phase: Ended, Attempt: Attempt{Number: 2, At: noon.Add(30 * time.Second), Boot: "b1"},
		Started: noon.Add(time.Second), Notes: []string{"first", "second"},
		Result: Result{Outcome: outcome.Succeeded, Ended: noon.Add(40 * time.Second),
			ExitCode: &zero, UserCPU: 2 * time.Second, Output: filepath.Join(dir, "output", "backup/x.log")}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v\nwant\n%+v", r, want)
	}
	if hooks, err := db.Hooks(ctx, row.ID); len(hooks) != 0 || err != nil {
		t.Errorf("hooks of a run that is over: %v, %v", hooks, err)
	}
}

// A before-hook that fails leaves a note. It becomes the reason of the run, unless everybody who
// knows of it is killed first.
func TestAReasonIsNotRepeatedByANote(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	ours := owned(t, db)
	const note = "hook before 1: exit code 3"
	for reason, want := range map[string][]string{note: nil, "sched was killed": {note}} {
		row := due("backup", noon.Add(time.Duration(len(reason))*time.Minute), ours.ID)
		add(t, db, row)
		_, err := ours.HookBegun(ctx, row.ID, "before 1", noon)
		must(t, err)
		must(t, ours.HookEnded(ctx, row.ID, "before 1", noon, note))
		must(t, ours.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Failed, Reason: reason, Ended: noon}}), &row))
		if got := get(t, db, row.ID).Notes; !slices.Equal(got, want) {
			t.Errorf("%s: %q", reason, got)
		}
	}
}

func TestAHookWhoseProcessWasKilledIsFiredAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	ours := owned(t, db)
	row := due("backup", noon, ours.ID)
	add(t, db, row)
	must(t, ours.Apply(ctx, Settle(Result{Outcome: outcome.Skipped, Kind: outcome.Elsewhere,
		Reason: "still running", Ended: noon}, nil), &row))
	for range 2 {
		if fire, err := ours.HookBegun(ctx, row.ID, "on_skip 1", noon); !fire || err != nil {
			t.Fatalf("%v, %v", fire, err)
		}
	}
	must(t, ours.HookForked(ctx, row.ID, "on_skip 1", 12))
	if hooks, err := db.Hooks(ctx, row.ID); err != nil || len(hooks) != 1 || hooks[0].PID != 12 ||
		!hooks[0].Ended.IsZero() {
		t.Errorf("%+v, %v", hooks, err)
	}
}

// A process was stopped for an hour, and another process has taken its rows meanwhile. It changes
// nothing.
func TestAProcessThatIsLateChangesNothing(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	late, now := owned(t, db), owned(t, db)
	for _, phase := range []Phase{Ready, Running, Finishing, Waiting, Ended} {
		row := due("task-"+string(phase), noon, 0)
		row.Phase = phase
		if phase != Waiting && phase != Ended {
			row.Owner = now.ID
		}
		if phase == Finishing || phase == Ended {
			row.Outcome, row.Ended = outcome.Failed, noon
		}
		add(t, db, row)
		before := get(t, db, row.ID)
		_, begun := late.HookBegun(ctx, row.ID, "after 1", noon)
		for name, err := range map[string]error{
			"Take":       late.Apply(ctx, Take(), &Row{ID: row.ID, Phase: Ready, Owner: late.ID}),
			"HandOver":   late.Apply(ctx, HandOver(1), &Row{ID: row.ID}),
			"Wait":       late.Apply(ctx, GiveBack(Wait{For: ForMutex}, ""), &row),
			"Start":      late.Apply(ctx, Start(Attempt{Number: 1}), &row),
			"Amend":      late.Apply(ctx, Fork(1), &row),
			"Again":      late.Apply(ctx, AwaitRetry(Result{}, noon), &row),
			"Defer":      late.Apply(ctx, Defer(Result{}, noon, nil), &row),
			"Finish":     late.Apply(ctx, Settle(Result{Outcome: outcome.Lost}, nil), &row),
			"HookBegun":  begun,
			"HookForked": late.HookForked(ctx, row.ID, "after 1", 12),
			"HookEnded":  late.HookEnded(ctx, row.ID, "after 1", noon, "x"),
			"End":        late.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Lost}}), &row),
			"Note":       late.Note(ctx, row.ID, "x"),
			"Hold":       late.Apply(ctx, Hold(true, "seat"), &row),
		} {
			var stale *StaleError
			if !errors.As(err, &stale) || stale.Phase != phase || stale.Owner != row.Owner {
				t.Errorf("%s of a %s row: %v", name, phase, err)
			}
		}
		if after := get(t, db, row.ID); !reflect.DeepEqual(before, after) {
			t.Errorf("%+v became %+v", before, after)
		}
	}
	if err := late.Apply(ctx, Start(Attempt{}), &Row{ID: "none"}); !errors.Is(err, ErrGone) {
		t.Errorf("a row that is not there: %v", err)
	}
}

// Each method demands the phases that the table in owned.go shows.
func TestPhasesFollowEachOther(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	ours := owned(t, db)
	allowed := map[string][]Phase{
		"Wait": {Ready}, "Start": {Ready}, "Amend": {Running}, "Again": {Running}, "Defer": {Ready, Running},
		"Finish": {Ready, Running},
		"End":    {Ready, Running, Finishing},
	}
	for _, phase := range []Phase{Ready, Running, Finishing} {
		for name, do := range map[string]func(run string) error{
			"Wait": func(run string) error {
				return ours.Apply(ctx, GiveBack(Wait{For: ForMutex, Since: noon}, ""), &Row{ID: run})
			},
			"Start": func(run string) error { return ours.Apply(ctx, Start(Attempt{Number: 1, At: noon}), &Row{ID: run}) },
			"Amend": func(run string) error { return ours.Apply(ctx, Fork(1), &Row{ID: run}) },
			"Again": func(run string) error { return ours.Apply(ctx, AwaitRetry(Result{}, noon), &Row{ID: run}) },
			"Defer": func(run string) error { return ours.Apply(ctx, Defer(Result{}, noon, nil), &Row{ID: run}) },
			"Finish": func(run string) error {
				return ours.Apply(ctx, Settle(Result{Outcome: outcome.Lost, Ended: noon}, nil), &Row{ID: run})
			},
			"End": func(run string) error {
				return ours.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Lost, Ended: noon}}), &Row{ID: run})
			},
		} {
			row := due(name+string(phase), noon, ours.ID)
			if row.Phase = phase; phase == Finishing {
				row.Outcome, row.Ended = outcome.Failed, noon
			}
			add(t, db, row)
			may := false
			for _, p := range allowed[name] {
				may = may || p == phase
			}
			if err := do(row.ID); (err == nil) != may {
				t.Errorf("%s of a %s row: %v", name, phase, err)
			}
		}
	}
}

func TestWhatHasWaitedLongestGoesFirst(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	ours := owned(t, db)
	waits := func(task string, slot, since time.Time) string {
		row := due(task, slot, ours.ID)
		add(t, db, row)
		must(t, ours.Apply(ctx, GiveBack(Wait{For: ForMutex, Since: since, Until: noon.Add(time.Hour)}, "held"), &row))
		return row.ID
	}
	second := waits("second", noon, noon.Add(2*time.Second))
	first := waits("first", noon.Add(time.Minute), noon.Add(time.Second))
	retry := due("retry", noon.Add(-time.Hour), ours.ID)
	add(t, db, retry)
	must(t, ours.Apply(ctx, Start(Attempt{Number: 1, At: noon.Add(-time.Hour)}), &retry))
	must(t, ours.Apply(ctx, Defer(Result{}, noon.Add(30*time.Minute), nil), &retry))

	order := func() (ids []string) {
		rows, err := db.Runs().Waiting(ctx)
		must(t, err)
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids
	}
	if got := order(); !reflect.DeepEqual(got, []string{first, second, retry.ID}) {
		t.Errorf("%v", got)
	}
	// A row that is tried and waits again keeps its place, and the time that it has waited.
	row := get(t, db, first)
	must(t, ours.Apply(ctx, Take(), &row))
	must(t, ours.Apply(ctx, GiveBack(Wait{For: ForMutex, Since: noon.Add(10 * time.Minute), Until: noon.Add(time.Hour)}, "held"), &row))
	if got := order(); !reflect.DeepEqual(got, []string{first, second, retry.ID}) {
		t.Errorf("%v", got)
	}
	must(t, ours.Apply(ctx, Take(), &row))
	must(t, ours.Apply(ctx, Start(Attempt{Number: 1, At: noon.Add(61 * time.Second)}), &row))
	if r := get(t, db, first); r.Wait != (Wait{Waited: time.Minute}) || r.Reason != "" {
		t.Errorf("%+v, %q", r.Wait, r.Reason)
	}
}

func TestWhatPeopleAskFor(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	ours := owned(t, db)
	running := due("task", noon, ours.ID)
	add(t, db, running)
	must(t, ours.Apply(ctx, Start(Attempt{Number: 1, At: noon}), &running))
	stop := Stop{By: "ann", At: noon, Reason: "it hangs"}
	if err := db.Runs().AskStop(ctx, running.ID, stop); err != nil {
		t.Error(err)
	}
	if err := db.Runs().AskStop(ctx, running.ID, Stop{By: "bob"}); err != nil {
		t.Error(err)
	}
	if asked, err := ours.Stop(ctx, running.ID); err != nil || asked == nil || *asked != stop {
		t.Errorf("%v, %v", asked, err)
	}
	must(t, ours.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Stopped,
		Kind: outcome.Timeout, Ended: noon}}), &running))
	var over *OverError
	if err := db.Runs().AskStop(ctx, running.ID, stop); !errors.As(err, &over) {
		t.Errorf("%v", err)
	}
	if r := get(t, db, running.ID); *r.Stop != stop {
		t.Errorf("%+v", r.Stop)
	}

	asked := Row{ID: outcome.NewIDAt(noon), Task: "task", Mutex: "task", Slot: noon, Origin: "by ann"}
	for i := range 2 {
		if added, err := db.Runs().Request(ctx, asked); added != (i == 0) || err != nil {
			t.Errorf("%v, %v", added, err)
		}
	}
	if done, err := db.Runs().Settle(ctx, asked.ID,
		Result{Outcome: outcome.Skipped, Kind: outcome.StoreDown, Reason: "no such task", Ended: noon}); !done ||
		err != nil {
		t.Errorf("%v, %v", done, err)
	}
	if done, err := db.Runs().Settle(ctx, asked.ID,
		Result{Outcome: outcome.Skipped, Kind: outcome.StoreDown, Reason: "", Ended: noon}); done || err != nil {
		t.Errorf("it has its outcome: %v, %v", done, err)
	}
}

// Several processes begin a run that waits. Only one of them does.
func TestAWaitingRunBeginsOnce(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	asked := Row{ID: outcome.NewIDAt(noon), Task: "task", Mutex: "task", Slot: noon, Origin: "by ann"}
	_, err := db.Runs().Request(ctx, asked)
	must(t, err)
	held := Wait{For: ForMutex, Since: noon}
	must(t, db.Runs().WaitOn(ctx, asked.ID, held, "it is held"))
	if waiting, err := db.Runs().Waiting(ctx); err != nil || len(waiting) != 1 || waiting[0].Wait != held ||
		waiting[0].Reason != "it is held" {
		t.Errorf("%+v, %v", waiting, err)
	}
	ours, others := owned(t, db), owned(t, db)
	must(t, ours.Begin(ctx, asked))
	var stale *StaleError
	if err := others.Begin(ctx, asked); !errors.As(err, &stale) || stale.Owner != ours.ID {
		t.Errorf("another process begins it, too: %v", err)
	}
	if r := get(t, db, asked.ID); r.Phase != Ready || r.Owner != ours.ID {
		t.Errorf("%+v", r)
	}
}

// The end of a run ends the row that waits for it. The end of any run of a slot ends the row that
// waits for that slot.
func TestARowThatWaitsGivesWayToTheEndOfItsRun(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	asked := Row{ID: outcome.NewIDAt(noon), Task: "task", Mutex: "task", Slot: noon, Origin: "by ann"}
	slot := Row{ID: outcome.NewIDAt(noon), Task: "task", Mutex: "task",
		Slot: noon, Scheduled: true, Wait: Wait{For: ForStore}}
	other := Row{ID: outcome.NewIDAt(noon), Task: "other", Mutex: "other",
		Slot: noon, Scheduled: true, Wait: Wait{For: ForPause}}
	for _, row := range []Row{asked, slot, other} {
		added, err := db.Runs().Request(ctx, row)
		if !added || err != nil {
			t.Errorf("%v, %v", added, err)
		}
	}
	ended := func(r Row, id string) Row {
		r.ID, r.Phase, r.Wait, r.Result = id, Ended, Wait{}, Result{Outcome: outcome.Succeeded, Ended: noon}
		return r
	}
	must(t, db.Runs().Record(ctx, []Row{ended(asked, asked.ID), ended(slot, outcome.NewIDAt(noon))}, false))
	waiting, err := db.Runs().Waiting(ctx)
	if err != nil || len(waiting) != 1 || waiting[0].ID != other.ID {
		t.Errorf("%+v, %v", waiting, err)
	}
	if rows := endedRows(t, db); len(rows) != 2 {
		t.Errorf("%+v", rows)
	}
}
