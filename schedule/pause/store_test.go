package pause

import (
	"fmt"
	"math"
	"testing"
	"time"

	"sched/testing/storetest"
)

func mustRead(t *testing.T, store *storetest.Memory, remembered Pauses) Controls {
	t.Helper()
	c, _, err := readStore(t.Context(), store, remembered, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// change pauses or resumes a task on a server that remembers its pauses.
func change(t *testing.T, store *storetest.Memory, remembered Pauses, name string, pause Pause) Pauses {
	t.Helper()
	known := mustRead(t, store, remembered).Pauses
	now, err := store.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := known.withVersions(Pauses{name: {pause}}, now)
	if err := putPauses(t.Context(), store, next); err != nil {
		t.Fatal(err)
	}
	known.put(name, next[name][0])
	return known
}

func TestAPauseOnOneServerCountsOnAll(t *testing.T) {
	store := storetest.New()
	if c := mustRead(t, store, nil); len(c.Pauses) > 0 || c.Interrupt.By != "" {
		t.Errorf("before the first pause: %+v", c)
	}
	all := Pause{By: "ann", Server: "web-1", Since: two, Until: two.Add(time.Hour), Reason: "deploying 4.2"}
	change(t, store, nil, Everything, all)
	change(t, store, nil, "report", Pause{By: "bob"})
	change(t, store, nil, "report", Pause{By: "cat", Ended: two})
	c := mustRead(t, store, nil)
	all.Version = c.Pauses.Last(Everything).Version
	if c.Pauses.Last(Everything) != all || c.Pauses.Last("report").By != "cat" ||
		c.Pauses.Last("report").InEffect(two) || len(c.Pauses) != 2 {
		t.Errorf("%+v", c)
	}
}

// A store was started again without its data, and gets the pauses back from servers that remember
// them. A server was away for long, and still remembers as in effect a pause that was ended
// meanwhile.
func TestAStoreThatLostItsDataGetsThePausesBack(t *testing.T) {
	store := storetest.New()
	away := change(t, store, nil, "import", Pause{By: "ann"})
	here := change(t, store, nil, "report", Pause{By: "ann"})
	here = change(t, store, here, "import", Pause{By: "ann", Ended: two})
	store.LoseData()
	mustRead(t, store, away)
	for range 2 { // a pause that the absent server remembers does not come back
		if c := mustRead(t, store, here); !c.Pauses.Last("report").InEffect(two) ||
			c.Pauses.Last("import").InEffect(two) {
			t.Errorf("%+v", c)
		}
		mustRead(t, store, away)
	}
	if c := mustRead(t, store, nil); !c.Pauses.Last("report").InEffect(two) || c.Pauses.Last("import").InEffect(two) {
		t.Errorf("for a server that remembers nothing: %+v", c)
	}
}

func TestAReaderThatOnlyLooksWritesNothing(t *testing.T) {
	store := storetest.New()
	c, _, err := readStore(t.Context(), store, Pauses{"report": {{Version: 1, By: "ann"}}}, false)
	if err != nil || !c.Pauses.Last("report").InEffect(two) {
		t.Errorf("%+v, %v", c, err)
	}
	if c := mustRead(t, store, nil); len(c.Pauses) > 0 {
		t.Errorf("written: %+v", c)
	}
}

// A version that sched never gave must not keep a pause in effect for good: neither in the store,
// nor on a server with a copy.
func TestAForgedVersionKeepsNoPauseInEffect(t *testing.T) {
	for _, version := range []int64{math.MaxInt64, math.MinInt64, -1, 0, 1 << 52,
		time.Now().Add(time.Minute).UnixMicro()} {
		store := storetest.New()
		forged := fmt.Appendf(nil, `{"version": %d, "by": "ann"}`, version)
		if err := store.Put(t.Context(), tableControls, "report", forged, time.Hour); err != nil {
			t.Fatal(err)
		}
		there := mustRead(t, store, nil).Pauses
		if !there.Last("report").InEffect(two) {
			t.Fatalf("version %d: %+v", version, there)
		}
		change(t, store, nil, "report", Pause{By: "bob", Ended: two})
		for _, remembered := range []Pauses{there, {"report": {{Version: version, By: "ann"}}}, nil} {
			if c := mustRead(t, store, remembered); c.Pauses.Last("report").InEffect(two) {
				t.Errorf("version %d, for one that remembers %v: %+v", version, remembered, c)
			}
		}
	}
}

// The copy on each machine takes over a forged version, too.
func TestAForgedVersionKeepsNoCopyInEffect(t *testing.T) {
	store := storetest.New()
	store.Put(t.Context(), tableControls, "report", fmt.Appendf(nil, `{"version": %d, "by": "ann"}`, math.MaxInt64), time.Hour)
	here, there := Source{Dir: t.TempDir(), Store: store}, Source{Dir: t.TempDir(), Store: store}
	if err := there.changeLocal(func(Pauses) Pauses { return Pauses{"report": {{Version: math.MaxInt64, By: "ann"}}} }); err != nil {
		t.Fatal(err)
	}
	here.Read()
	err := here.Pause(func(all Pauses) Pauses {
		pause := all.Last("report")
		pause.Ended = two
		return Pauses{"report": {pause}}
	})
	if err != nil {
		t.Fatal(err)
	}
	there.Read()
	store.GoDown()
	for _, source := range []Source{here, there} {
		if c, err := source.Read(); err == nil || c.Pauses.Last("report").InEffect(two) || len(c.Pauses) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

func TestAPauseOfAClockThatWasSetBackReplacesTheOneBefore(t *testing.T) {
	store := storetest.New()
	before := change(t, store, nil, "report", Pause{By: "ann"})
	store.Advance(-30 * time.Minute)
	change(t, store, nil, "report", Pause{By: "ann", Ended: two})
	if c := mustRead(t, store, before); c.Pauses.Last("report").InEffect(two) {
		t.Errorf("%+v", c)
	}
}

func TestWhatNoSchedWroteOnTheBoardIsLeftOutAndTheRestCleaned(t *testing.T) {
	store := storetest.New()
	change(t, store, nil, "report", Pause{By: "ann"})
	for name, value := range map[string]string{
		"report@soon": `{"by": "eve", "planned": true, "since": "2026-01-05T14:00:00Z", "until": "2026-01-06T14:00:00Z"}`,
		"a":           "{torn", "b": `[]`, "c\x1b[2J": `{"by": "eve"}`, interruptKey: `"now"`, "d": `{"by": "eve\u001b[2J", "reason": "\u001b]0;x\u0007y\nz"}`,
	} {
		if err := store.Put(t.Context(), tableControls, name, []byte(value), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	c := mustRead(t, store, nil)
	if len(c.Pauses) != 2 || c.Pauses.Last("d").By != "eve" || c.Pauses.Last("d").Reason != "y z" ||
		c.Interrupt.By != "" {
		t.Errorf("%+v", c)
	}
}

func TestAnInterruptHasItsAgeFromTheClockOfTheStore(t *testing.T) {
	store := storetest.New()
	wrong := time.Now().Add(-12 * time.Hour) // the clock of the server on which ann is
	source := Source{Store: store}
	if err := source.Interrupt(Interrupt{By: "ann", Server: "web-1", At: wrong}); err != nil {
		t.Fatal(err)
	}
	first := mustRead(t, store, nil).Interrupt
	if first.Age < 0 || first.Age > time.Minute || first.String() != "interrupted by ann on web-1" {
		t.Errorf("%+v", first)
	}
	store.Advance(5 * time.Minute)
	if again := mustRead(t, store, nil).Interrupt; !again.Same(first) || again.Age < 5*time.Minute {
		t.Errorf("%+v after %+v", again, first)
	}
	if err := source.Interrupt(Interrupt{By: "ann", Server: "web-1", At: wrong.Add(time.Second)}); err != nil {
		t.Fatal(err)
	}
	if next := mustRead(t, store, nil).Interrupt; next.Same(first) {
		t.Errorf("%+v is the one before", next)
	}
}

func TestAnOutageOfTheStoreIsNoAnswer(t *testing.T) {
	store := storetest.New()
	store.GoDown()
	if c, _, err := readStore(t.Context(), store, nil, true); err == nil {
		t.Errorf("%+v", c)
	}
	if err := putPauses(t.Context(), store, Pauses{"report": {{Version: 1, By: "ann"}}}); err == nil {
		t.Error("paused")
	}
}
