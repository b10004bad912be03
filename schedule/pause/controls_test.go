package pause

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/state"
	"sched/testing/storetest"
)

var two = time.Date(2026, 1, 5, 14, 0, 0, 0, time.UTC)

func TestATaskIsPausedByItsNameOrWithEverything(t *testing.T) {
	all := Pauses{Everything: {{By: "ann", Until: two}}, "report": {{By: "bob"}}, "import": {{By: "cat", Ended: two}}}
	for _, tt := range []struct {
		task string
		even bool
		at   time.Time
		by   string
	}{
		{"other", false, two.Add(-1), "ann"},
		{"other", true, two.Add(-1), ""},
		{"other", false, two, ""},
		{"report", false, two.Add(-1), "bob"},
		{"report", true, two.Add(-1), "bob"},
		{"import", false, two.Add(-1), "ann"},
		{"import", false, two, ""},
	} {
		pause, ok := all.ForTask(&schedule.Task{Name: tt.task, EvenWhenPaused: tt.even}, tt.at)
		if ok != (tt.by != "") || ok && pause.By != tt.by {
			t.Errorf("%+v: by %q, %t", tt, pause.By, ok)
		}
	}
}

func TestTheNewerVersionCountsWhateverTheClocksSay(t *testing.T) {
	later := two.Add(time.Hour).UnixMicro()
	known := Pauses{"a": {{Version: later, By: "ann", Since: two}}}
	next := known.withVersions(Pauses{"a": {{By: "bob", Since: two.Add(-time.Hour)}}, "b": {{By: "bob"}}}, two)
	if next.Last("a").Version != later+1 || next.Last("b").Version != two.UnixMicro() {
		t.Fatalf("%+v", next)
	}
	if newer := known.newerIn(next); newer.Last("a").By != "bob" || newer.Last("b").By != "bob" {
		t.Errorf("%+v", newer)
	}
	if newer := next.newerIn(known); len(newer) > 0 {
		t.Errorf("an older one is newer: %+v", newer)
	}
	if newer := next.newerIn(next); len(newer) > 0 {
		t.Errorf("the same is newer: %+v", newer)
	}
}

// pause pauses a task in the folder.
func pause(t *testing.T, source Source, task, by string) {
	t.Helper()
	if err := source.Pause(func(Pauses) Pauses { return Pauses{task: {{By: by}}} }); err != nil {
		t.Fatal(err)
	}
}

func mustReadHere(t *testing.T, source Source) Pauses {
	t.Helper()
	c, err := source.Read()
	if err != nil {
		t.Fatal(err)
	}
	return c.Pauses
}

func TestNoChangeOfThePausesIsLost(t *testing.T) {
	source := Source{Dir: filepath.Join(t.TempDir(), "state")} // nobody has made it yet
	var all sync.WaitGroup
	const n = 20
	for i := range n {
		all.Go(func() { pause(t, source, fmt.Sprint("task-", i), "ann") })
	}
	all.Wait()
	if got := mustReadHere(t, source).Tasks(two); len(got) != n {
		t.Errorf("%d of %d: %v", len(got), n, got)
	}
}

// A machine that joins a store does not bring its own pauses with it, and a machine that leaves
// takes none along.
func TestThePausesOfOneAreNotThoseOfAnother(t *testing.T) {
	alone := Source{Dir: t.TempDir()}
	joined := Source{Dir: alone.Dir, Store: storetest.New()}
	pause(t, alone, "a", "ann")
	if all := mustReadHere(t, joined); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	pause(t, joined, "b", "bob")
	if all := mustReadHere(t, joined); all.Last("b").By != "bob" || len(all) != 1 {
		t.Errorf("%+v", all)
	}
	if all := mustReadHere(t, alone); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}

func TestADatabaseThatCannotBeReadIsSaidAndSetAsideByWhoWrites(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sched.db"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Dir: dir}
	if _, err := source.Read(); err == nil || !strings.Contains(err.Error(), "nobody knows what is paused") {
		t.Errorf("%v", err)
	}
	pause(t, source, "b", "bob")
	if all := mustReadHere(t, source); all.Last("b").By != "bob" {
		t.Errorf("%+v", all)
	}
}

// An interrupt of a machine alone has its age, and replaces an older interrupt.
func TestAnInterruptOfAMachineAloneIsTheLastOne(t *testing.T) {
	source := Source{Dir: t.TempDir()}
	for _, by := range []string{"ann", "bob"} {
		if err := source.Interrupt(Interrupt{By: by, Server: "web-1", At: time.Now().Add(-time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := source.Read()
	if i := c.Interrupt; err != nil || i.By != "bob" || i.Age < time.Minute || i.Age > time.Hour {
		t.Errorf("%+v, %v", c, err)
	}
}

// A full or read-only disk does not end a pause.
func TestATickThatCannotWriteReadsWhatIsPaused(t *testing.T) {
	dir := t.TempDir()
	pause(t, Source{Dir: dir}, "a", "ann")
	locks := filepath.Join(dir, "locks") // without this folder nobody writes
	if err := errors.Join(os.RemoveAll(locks), os.WriteFile(locks, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	db := state.At(dir, time.Second)
	defer db.Close()
	if _, err := db.Pauses("").All(t.Context()); !state.Unwritable(err) {
		t.Errorf("%v", err)
	}
	if all := mustReadHere(t, Source{Dir: dir, DB: db}); !all.Last("a").InEffect(two) {
		t.Errorf("%+v", all)
	}
}

// A task may have several pauses: the one that began when it was made, planned ones, and pauses of
// the schedule. A pause of the schedule for all tasks leaves out even_when_paused.
func TestATaskHasPlannedPausesBesideOthers(t *testing.T) {
	planned := func(h int) Pause {
		return Pause{By: "ann", Planned: true, Since: two.Add(time.Duration(h) * time.Hour),
			Until: two.Add(time.Duration(h+1) * time.Hour), Stop: h == 2}
	}
	all := Pauses{"report": {{By: "bob", Ended: two}, planned(2), planned(4)}, Everything: {planned(6)}}
	s := &schedule.Schedule{
		File: "/srv/shop.yaml",
		Pauses: []*schedule.Pause{{From: two.Add(8 * time.Hour), Until: two.Add(9 * time.Hour)},
			{From: two.Add(10 * time.Hour), Until: two.Add(11 * time.Hour), Tags: []string{"slow"}, Stop: true}},
		Tasks: []*schedule.Task{{Name: "report", Tags: []string{"slow"}}, {Name: "guard", EvenWhenPaused: true}},
	}
	s.AssignPauses()
	for h, want := range map[int][2]string{0: {"", ""}, 2: {"ann", ""}, 3: {"", ""}, 4: {"ann", ""}, 6: {"ann", ""},
		8: {"shop.yaml", ""}, 9: {"", ""}, 10: {"shop.yaml", ""}} {
		for i, task := range s.Tasks {
			at := two.Add(time.Duration(h) * time.Hour)
			one, ok := all.ForTask(task, at)
			if one.By != want[i] || ok != (want[i] != "") {
				t.Errorf("%s after %d h: by %q, not %q", task.Name, h, one.By, want[i])
			}
			if _, stops := all.Stopping(task, at); stops != (i == 0 && (h == 2 || h == 10)) {
				t.Errorf("%s after %d h: stops %t", task.Name, h, stops)
			}
		}
	}
	if to := all.ToCome("report", two.Add(2*time.Hour)); len(to) != 1 || !to[0].Same(planned(4)) {
		t.Errorf("to come: %+v", to)
	}
}
