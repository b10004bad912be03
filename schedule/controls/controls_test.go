package controls

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var two = time.Date(2026, 1, 5, 14, 0, 0, 0, time.UTC)

func TestAPauseIsInEffectUntilItsEndOrUntilSomebodyEndsIt(t *testing.T) {
	at := func(m int) time.Time { return two.Add(time.Duration(m) * time.Minute) }
	for _, tt := range []struct {
		name             string
		pause            Pause
		at               int
		inEffect, covers bool
	}{
		{"none", Pause{}, 0, false, false},
		{"no end", Pause{By: "ann", Since: at(0)}, 9999, true, true},
		{"an end, and before it", Pause{By: "ann", Since: at(0), Until: at(10)}, 9, true, true},
		{"its end is not part of it", Pause{By: "ann", Since: at(0), Until: at(10)}, 10, false, false},
		{"resumed", Pause{By: "ann", Since: at(0), Ended: at(5)}, 6, false, false},
		{"resumed, and what was before that", Pause{By: "ann", Since: at(0), Ended: at(5)}, 4, false, true},
		{"resumed by a server whose clock is ahead", Pause{By: "ann", Since: at(0), Ended: at(5)}, 1, false, true},
		{"given by a server whose clock is ahead", Pause{By: "ann", Since: at(2)}, 1, true, false},
	} {
		if got := tt.pause.InEffect(at(tt.at)); got != tt.inEffect {
			t.Errorf("%s: in effect: %t", tt.name, got)
		}
		if got := tt.pause.Covers(at(tt.at)); got != tt.covers {
			t.Errorf("%s: covers: %t", tt.name, got)
		}
	}
}

func TestATaskIsPausedByItsNameOrWithEverything(t *testing.T) {
	all := Pauses{Everything: {By: "ann", Until: two}, "report": {By: "bob"}, "import": {By: "cat", Ended: two}}
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
		pause, ok := all.Of(tt.task, tt.even, tt.at)
		if ok != (tt.by != "") || ok && pause.By != tt.by {
			t.Errorf("%+v: by %q, %t", tt, pause.By, ok)
		}
	}
}

func TestAPauseIsToldWithTheDateWhereThatIsNotTodays(t *testing.T) {
	zone := time.FixedZone("", 3600)
	p := Pause{By: "ann", Server: "web-1", Since: two, Until: two.Add(24 * time.Hour), Reason: "deploying"}
	if got := p.Text(two, zone); got != "paused by ann on web-1 since 15:00, until 2026-01-06 15:00: deploying" {
		t.Error(got)
	}
	if got := p.Text(two.Add(24*time.Hour), zone); got != "paused by ann on web-1 since 2026-01-05 15:00, until 15:00: deploying" {
		t.Error(got)
	}
}

func TestTheNewerVersionCountsWhateverTheClocksSay(t *testing.T) {
	later := two.Add(time.Hour).UnixMicro()
	known := Pauses{"a": {Version: later, By: "ann", Since: two}}
	next := known.next(Pauses{"a": {By: "bob", Since: two.Add(-time.Hour)}, "b": {By: "bob"}}, two)
	if next["a"].Version != later+1 || next["b"].Version != two.UnixMicro() {
		t.Fatalf("%+v", next)
	}
	if !known.Add(next) || known["a"].By != "bob" || known["b"].By != "bob" {
		t.Errorf("%+v", known)
	}
	if known.Add(Pauses{"a": {Version: later, By: "ann"}}) || known.Add(next) || known["a"].By != "bob" {
		t.Errorf("an older one replaced it: %+v", known)
	}
	var none Pauses
	if none.Add(nil) || !none.Add(next) || len(none) != 2 {
		t.Errorf("%+v", none)
	}
}

// change replaces the pause of a task.
func changeOrders(t *testing.T, dir, of, task, by string) {
	t.Helper()
	err := ChangeFile(dir, of, two, func(o *Controls) bool { return o.Pauses.Add(o.Pauses.next(Pauses{task: {By: by}}, two)) })
	if err != nil {
		t.Fatal(err)
	}
}

func readOrders(t *testing.T, dir, of string) Controls {
	t.Helper()
	o, err := ReadFile(dir, of, two)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNoChangeOfTheOrdersIsLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state") // which nobody made yet
	var all sync.WaitGroup
	const n = 20
	for i := range n {
		all.Go(func() { changeOrders(t, dir, "", fmt.Sprint("task-", i), "ann") })
	}
	all.Wait()
	if got := readOrders(t, dir, "").Pauses.Tasks(two); len(got) != n {
		t.Errorf("%d of %d: %v", len(got), n, got)
	}
	before, _ := os.Stat(path(dir))
	ChangeFile(dir, "", two, func(o *Controls) bool { return o.Pauses.Add(o.Pauses) })
	if after, _ := os.Stat(path(dir)); !os.SameFile(before, after) {
		t.Error("the file was replaced though nothing had changed")
	}
}

// A machine that joins a store does not bring its own pauses with it, and one that leaves takes none along.
func TestTheOrdersOfOneAreNotThoseOfAnother(t *testing.T) {
	dir := t.TempDir()
	changeOrders(t, dir, "", "a", "ann")
	if o := readOrders(t, dir, "shop"); len(o.Pauses) > 0 || o.Of != "shop" {
		t.Errorf("%+v", o)
	}
	changeOrders(t, dir, "shop", "b", "bob")
	if o := readOrders(t, dir, "shop"); o.Pauses["b"].By != "bob" || len(o.Pauses) != 1 {
		t.Errorf("%+v", o)
	}
	if o := readOrders(t, dir, ""); len(o.Pauses) > 0 {
		t.Errorf("%+v", o)
	}
}

func TestAnOrdersFileThatCannotBeReadIsSaidAndACopyIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(path(dir), []byte("{"), 0o600)
	if _, err := ReadFile(dir, "", two); err == nil {
		t.Error("nothing is said")
	}
	if err := ChangeFile(dir, "", two, func(*Controls) bool { return true }); err == nil {
		t.Error("it is replaced")
	}
	changeOrders(t, dir, "shop", "b", "bob")
	if o := readOrders(t, dir, "shop"); o.Pauses["b"].By != "bob" {
		t.Errorf("%+v", o)
	}
}
