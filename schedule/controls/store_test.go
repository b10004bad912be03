package controls

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/mutex/redistest"
)

func mustControls(t *testing.T, r *mutex.Redis, remembered Pauses) Controls {
	t.Helper()
	c, err := readStore(t.Context(), r, remembered, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustPause(t *testing.T, r *mutex.Redis, name string, p Pause) {
	t.Helper()
	if err := storePauses(t.Context(), r, Pauses{name: p}); err != nil {
		t.Fatal(err)
	}
}

func TestThePauseWithTheNewestVersionCounts(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		if o := mustControls(t, r, nil); len(o.Pauses) > 0 || o.Of != "shop" || o.Interrupt.By != "" {
			t.Errorf("before the first pause: %+v", o)
		}
		first := Pause{Version: 1999, By: "ann", Server: "web-1", Since: noon, Until: noon.Add(time.Hour), Reason: "deploying 4.2"}
		mustPause(t, r, Everything, first)
		mustPause(t, r, "report", Pause{Version: 1001, By: "bob"})
		mustPause(t, r, "report", Pause{Version: 2000, By: "cat", Ended: noon})
		mustPause(t, r, "report", Pause{Version: 1500, By: "late"}) // a process that was stopped for a while
		o := mustControls(t, r, nil)
		if o.Pauses[Everything] != first || o.Pauses["report"].By != "cat" || len(o.Pauses) != 2 {
			t.Errorf("%+v", o)
		}
	})
}

// A Redis that was started again without its data gets the pauses back from servers that remember them. One
// server was away for long, and remembers a pause as in effect that was ended meanwhile.
func TestARedisThatLostItsDataGetsThePausesBack(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		paused := Pauses{"report": {Version: 2000, By: "ann"}, "import": {Version: 3000, By: "ann", Ended: noon}}
		if o := mustControls(t, r, paused); o.Pauses["report"].By != "ann" {
			t.Errorf("%+v", o)
		}
		old := Pauses{"import": {Version: 1000, By: "ann"}}
		if o := mustControls(t, r, old); o.Pauses["report"].By != "ann" || o.Pauses["import"].InEffect(noon) {
			t.Errorf("%+v", o)
		}
	})
}

func TestAnInterruptHasItsAgeFromTheClockOfRedis(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		wrong := time.Now().Add(-12 * time.Hour) // the clock of the server on which ann is
		if err := storeInterrupt(t.Context(), r, Interrupt{By: "ann", Server: "web-1", At: wrong}); err != nil {
			t.Fatal(err)
		}
		first := mustControls(t, r, nil).Interrupt
		if first.Age < -time.Second || first.Age > time.Minute || first.String() != "interrupted by ann on web-1" {
			t.Errorf("%+v", first)
		}
		if again := mustControls(t, r, nil).Interrupt; !again.Same(first) || again.Age < first.Age-time.Second { // another server may have answered
			t.Errorf("%+v after %+v", again, first)
		}
		if err := storeInterrupt(t.Context(), r, Interrupt{By: "ann", Server: "web-1", At: wrong.Add(time.Second)}); err != nil {
			t.Fatal(err)
		}
		if next := mustControls(t, r, nil).Interrupt; next.Same(first) {
			t.Errorf("%+v is the one before", next)
		}
	})
}

// The process that pauses is killed when it has written to one of three Redis servers. While that one answers the pause
// is in effect, and the first tick that reads it writes it to the others.
func TestAPauseOnOneOfThreeRedisServersIsWrittenToTheOthers(t *testing.T) {
	one, two, three := miniredis.RunT(t), miniredis.RunT(t), miniredis.RunT(t)
	urls := []string{"redis://" + one.Addr(), "redis://" + two.Addr(), "redis://" + three.Addr()}
	mustPause(t, redistest.Dial(t, urls[0]), "report", Pause{Version: 1000, By: "ann"})

	two.Close()
	if o := mustControls(t, redistest.Dial(t, urls...), nil); o.Pauses["report"].By != "ann" {
		t.Fatalf("%+v", o)
	}
	one.Close()
	if err := two.Restart(); err != nil {
		t.Fatal(err)
	}
	if o := mustControls(t, redistest.Dial(t, urls...), nil); o.Pauses["report"].By != "ann" {
		t.Errorf("it was lost with the Redis server that had it: %+v", o)
	}
}

// A tick reads the controls before it starts anything, so it does not wait for a Redis that hangs when a majority has
// answered. A machine that is busy is slow at times: one that waits is each time.
func TestOneRedisOfThreeThatHangsIsNotWaitedFor(t *testing.T) {
	hangs := redistest.Start(t)
	urls := []string{hangs.URL, "redis://" + miniredis.RunT(t).Addr(), "redis://" + miniredis.RunT(t).Addr()}
	read := func() time.Duration {
		r := redistest.Dial(t, urls...) // which knows nothing of a server that hangs
		mustPause(t, r, "report", Pause{Version: 1000, By: "ann"})
		hangs.Pause()
		defer hangs.Resume()
		begun := time.Now()
		if o := mustControls(t, r, nil); o.Pauses["report"].By != "ann" {
			t.Errorf("%+v", o)
		}
		return time.Since(begun)
	}
	took := read()
	for try := 1; took > time.Second && try < 5; try++ {
		took = read()
	}
	if took > time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestThereAreNoControlsWithoutAMajority(t *testing.T) {
	up, down := miniredis.RunT(t), miniredis.RunT(t)
	gone := "redis://" + down.Addr()
	down.Close()
	r := redistest.Dial(t, "redis://"+up.Addr(), gone, gone)
	if o, err := readStore(t.Context(), r, nil, true); err == nil {
		t.Errorf("%+v", o)
	}
	if err := storePauses(t.Context(), r, Pauses{"report": {Version: 1000, By: "ann"}}); err == nil {
		t.Error("paused")
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A number that sched never gave, or the last one of all, must not keep a pause in effect for good: neither in Redis, nor on a server that
// has a copy of it.
func TestAPauseWithAnyVersionCanBeEnded(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		for _, version := range []int64{math.MaxInt64, math.MaxInt64 - 1500, 1<<53 + 1, versions, versions - 1, versions - 1001, -1, 0} {
			name := fmt.Sprint("task", version)
			mustPause(t, r, name, Pause{Version: version, By: "ann"})
			here, there := Source{Dir: t.TempDir(), Store: r}, Source{Dir: t.TempDir(), Store: r}
			for _, source := range []Source{here, there} {
				if o, err := source.Read(); err != nil || !o.Pauses[name].InEffect(noon) {
					t.Fatalf("version %d: %+v, %v", version, o, err)
				}
			}
			resume := func(all Pauses) Pauses {
				pause := all[name]
				pause.Ended = noon
				return Pauses{name: pause}
			}
			if err := here.Pause(resume); err != nil {
				t.Fatal(err)
			}
			for _, source := range []Source{here, there, {Dir: t.TempDir(), Store: r}} {
				if o, err := source.Read(); err != nil || o.Pauses[name].InEffect(noon) {
					t.Errorf("version %d: %+v is in effect, %v", version, o.Pauses[name], err)
				}
			}
		}
	})
}
