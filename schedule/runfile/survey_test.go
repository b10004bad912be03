package runfile

import (
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

	if err := os.Remove(Path(dir, id[0])); err != nil {
		t.Fatal(err)
	}
	want(nil, nil, nil)
	second := begun(t, dir, "a")
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
