package records

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
)

var noon = time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)

// folder is a state folder in which one run waits in its file to be put into the history, which has another one.
func folder(t *testing.T) (dir string, recorded, waiting outcome.Record) {
	t.Helper()
	dir = t.TempDir()
	task := &schedule.Task{Name: "report", Mutex: "report"}
	begun, err := run.Caller{Storage: run.Storage{Dir: dir}}.Begin(outcome.Record{
		Run: outcome.NewID(), Task: task.Name, Mutex: task.Mutex, Slot: noon.Add(time.Hour), Server: "here",
	}, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting = begun.FailBeforeStart(errors.New("no such luck"), nil)
	db, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	recorded = outcome.Record{
		Run: outcome.NewIDAt(noon), Task: "report", Mutex: "report", Slot: noon, Started: noon, Ended: noon.Add(time.Second), Outcome: outcome.Succeeded,
	}
	if err := errors.Join(db.Add(context.Background(), []outcome.Record{recorded}), db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, recorded, waiting
}

func open(t *testing.T, dir string) *Records {
	t.Helper()
	r, unread, err := Open(t.Context(), dir, nil)
	if err != nil || unread != nil {
		t.Fatal(err, unread)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestRecordsThatWaitInFilesAreReadAsIfTheyWereInTheHistory(t *testing.T) {
	dir, recorded, waiting := folder(t)
	r, ctx := open(t, dir), t.Context()
	found, err := r.Find(ctx, state.Query{Task: "report"})
	if err != nil || len(found) != 2 || found[0].Run != waiting.Run || found[1].Run != recorded.Run {
		t.Errorf("Find: %v %v", found, err)
	}
	if found, err = r.Find(ctx, state.Query{Limit: 1}); err != nil || len(found) != 1 || found[0].Run != waiting.Run {
		t.Errorf("the newest: %v %v", found, err)
	}
	if found, err = r.Find(ctx, state.Query{Outcomes: []outcome.Outcome{outcome.Succeeded}}); err != nil || len(found) != 1 || found[0].Run != recorded.Run {
		t.Errorf("successes: %v %v", found, err)
	}
	for _, want := range []outcome.Record{recorded, waiting} {
		for _, id := range []string{want.Run, want.Run[len(want.Run)-12:]} {
			if got, err := r.Get(ctx, id); err != nil || got.Run != want.Run {
				t.Errorf("Get(%s): %s %v", id, got.Run, err)
			}
		}
	}
	if _, err := r.Get(ctx, "nowhere"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("a run that there is not: %v", err)
	}
	if last, err := r.Last(ctx, []string{"report"}); err != nil || last["report"].Run != waiting.Run {
		t.Errorf("Last: %v %v", last, err)
	}
	sums, err := r.Summaries(ctx, "", time.Time{}, time.Time{})
	if err != nil || len(sums) != 1 || sums[0].Ran() != 2 || sums[0].FailedID != waiting.Run || sums[0].Took.Runs != 1 {
		t.Errorf("Summaries: %+v %v", sums, err)
	}
	if sums, err = r.Summaries(ctx, "", time.Time{}, noon.Add(time.Minute)); err != nil || len(sums) != 1 || sums[0].Ran() != 1 {
		t.Errorf("Summaries of an hour: %+v %v", sums, err)
	}
	around, err := r.Around(ctx, "report", noon.Add(time.Minute), 10)
	if err != nil || !around.First.Equal(noon) || !around.Before.Equal(noon) || !around.After.Equal(waiting.Slot) || around.TaskSince != 1 {
		t.Errorf("Around: %+v %v", around, err)
	}
}

// A tick may move a record while somebody looks: it is there once.
func TestARecordThatIsInBothPlacesIsThereOnce(t *testing.T) {
	dir, _, waiting := folder(t)
	db, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Add(t.Context(), []outcome.Record{waiting}), db.Close()); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	found, err := r.Find(t.Context(), state.Query{})
	if err != nil || len(found) != 2 {
		t.Errorf("%v %v", found, err)
	}
	if sums, err := r.Summaries(t.Context(), "", noon, noon.Add(2*time.Hour)); err != nil || sums[0].Ran() != 2 {
		t.Errorf("%+v %v", sums, err)
	}
}

// A run that is put away between the two looks of a reader, at the history and then for what it asks, was shown twice.
func TestARecordThatIsMovedMeanwhileIsThereOnce(t *testing.T) {
	dir, recorded, waiting := folder(t)
	r := open(t, dir)
	db, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Add(t.Context(), []outcome.Record{waiting}), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{0, 2} {
		found, err := r.Find(t.Context(), state.Query{Limit: limit})
		if err != nil || len(found) != 2 || found[0].Run != waiting.Run || found[1].Run != recorded.Run {
			t.Errorf("at most %d: %v %v", limit, found, err)
		}
	}
	if one, err := r.Get(t.Context(), waiting.Run[len(waiting.Run)-12:]); err != nil || one.Run != waiting.Run {
		t.Errorf("by the end of its id: %v %v", one, err)
	}
	all := 0
	summaries, err := r.Summaries(t.Context(), "", noon, noon.Add(2*time.Hour))
	for _, s := range summaries {
		for _, n := range s.Slots {
			all += n
		}
	}
	if all != 2 || err != nil {
		t.Errorf("%d in the summary: %+v %v", all, summaries, err)
	}
}

func TestLookingAtNothingMakesNothing(t *testing.T) {
	dir := t.TempDir() + "/.sched"
	found, err := open(t, dir).Find(t.Context(), state.Query{})
	if err != nil || len(found) != 0 {
		t.Errorf("%v %v", found, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state folder: %v", err)
	}
}
