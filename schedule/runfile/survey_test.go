package runfile

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"sched/schedule/outcome"
)

// told returns the ids of live, lost and ended runs.
func told(t *testing.T, s *Surveyor, dir string) (live, lost, ended []string) {
	t.Helper()
	a, b, c, err := s.Survey(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range a {
		live = append(live, state.Begin.Run)
	}
	for _, state := range b {
		lost = append(lost, state.Begin.Run)
	}
	for _, record := range c {
		ended = append(ended, record.Run)
	}
	return live, lost, ended
}

func TestASurveyorReadsAgainWhatHasChanged(t *testing.T) {
	dir, s := t.TempDir(), new(Surveyor)
	want := func(live, lost, ended []string) {
		t.Helper()
		for _, one := range []*Surveyor{s, nil} {
			a, b, c := told(t, one, dir)
			if !reflect.DeepEqual([][]string{a, b, c}, [][]string{live, lost, ended}) {
				t.Fatalf("with memory %v: live %v, lost %v, ended %v", one != nil, a, b, c)
			}
		}
	}
	first := begun(t, dir, "a")
	id := []string{first.Record.Run}
	want(id, nil, nil)
	first.Close() // its processes are gone, and its file looks the same
	want(nil, id, nil)
	first, _, err := Take(dir, id[0])
	if err != nil {
		t.Fatal(err)
	}
	want(id, nil, nil)
	ended(t, first)
	want(nil, nil, id)

	if err := Recycle(dir, id[0], "a"); err != nil {
		t.Fatal(err)
	}
	want(nil, nil, nil)
	second := begun(t, dir, "a") // in the same file
	want([]string{second.Record.Run}, nil, nil)
	ended(t, second)
	want(nil, nil, []string{second.Record.Run})
	if _, _, records, _ := s.Survey(dir); string(records[0].Snapshot) != `{"name":"a"}` {
		t.Errorf("%+v", records[0])
	}
}

// It has to be seen that nothing is read of a run that has ended: its file says something else, which nobody writes there.
func TestASurveyorReadsNothingTwice(t *testing.T) {
	dir, s := t.TempDir(), new(Surveyor)
	run := begun(t, dir, "a")
	ended(t, run)
	path := Path(dir, run.Record.Run)
	s.Survey(dir)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `"outcome":"succeeded"`, `"outcome":"timed out"`, 1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, records, _ := s.Survey(dir); len(records) != 1 || records[0].Outcome != outcome.Succeeded {
		t.Errorf("it was read again: %+v", records)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, records, _ := s.Survey(dir); len(records) != 0 {
		t.Errorf("it is not there any more: %+v", records)
	}
}

// What a page asks several times is about one moment.
func TestAnAnswerIsAboutOneMoment(t *testing.T) {
	dir, s := t.TempDir(), new(Surveyor)
	first := begun(t, dir, "a")
	defer first.Close()
	answer := s.Once()
	told(t, answer, dir)
	second := begun(t, dir, "b")
	defer second.Close()
	for one, want := range map[*Surveyor]int{answer: 1, s.Once(): 2, s: 2} {
		if live, _, _ := told(t, one, dir); len(live) != want {
			t.Errorf("%d runs, want %d", len(live), want)
		}
	}
}

func TestASurveyorServesManyAtOnce(t *testing.T) {
	dir, s := t.TempDir(), new(Surveyor)
	for range 20 {
		ended(t, begun(t, dir, "a"))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, _, records, err := s.Survey(dir); err != nil || len(records) != 20 {
					t.Errorf("%d, %v", len(records), err)
				}
			}
		})
	}
	wg.Wait()
}

// What is cut off anywhere, and goes on with another line, says the same whether all of it is read or its ends alone.
func TestTheEndOfARunIsTheSameWithoutWhatIsBeforeIt(t *testing.T) {
	dir := t.TempDir()
	run := begun(t, dir, "a")
	run.Append(Event{Attempt: &Attempt{Number: 1, PID: 7}})
	end := run.Record
	end.Outcome, end.Snapshot, end.Notes = outcome.Failed, nil, []string{"\n{\"end\":{\"run\":\"x\"}}\n"}
	if err := errors.Join(run.Append(Event{Result: &end}), run.Append(Event{End: &end}), run.Append(Event{End: &end}), run.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(Path(dir, run.Record.Run))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for cut := range len(text) + 1 {
		for _, more := range []string{"", "\n{\"hook\":\"after 1\"}\n", "\n{\"end\":null}\n", "\n{\"end\":{\"run\":\"y\"}}\n"} {
			all := append(append([]byte(nil), text[:cut]...), more...)
			got, ok := endOf(all, run.Record.Run)
			state, err := parseText(all, "")
			if ok != (got != nil) || ok && (err != nil || !reflect.DeepEqual(got, state.End)) {
				t.Fatalf("%s\nits end is %+v, and the whole says %+v, %v", all, got, state.End, err)
			}
			if ok {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("it never was enough")
	}
}

// A file that was used by many runs, or has a long story, has its last run all the same.
func TestTheLastRunOfALongFileIsFound(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		run := begun(t, dir, "a")
		for range i * 10 {
			run.Append(Event{Note: strings.Repeat("n", 50)})
		}
		state, _, err := Read(dir, run.Record.Run)
		if err != nil || len(state.Notes) != i*10 {
			t.Fatalf("run %d: %d notes, %v", i, len(state.Notes), err)
		}
		ended(t, run)
		if _, _, c := told(t, nil, dir); !reflect.DeepEqual(c, []string{run.Record.Run}) {
			t.Fatalf("run %d: %v", i, c)
		}
		if err := Recycle(dir, run.Record.Run, "a"); err != nil {
			t.Fatal(err)
		}
	}
}
