package servers

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/mutex"
	"sched/mutex/redistest"

	"sched/schedule/controls"
)

func mustOrders(t *testing.T, r *mutex.Redis, known controls.Pauses) controls.Controls {
	t.Helper()
	orders, err := Orders(ctx, r, known)
	if err != nil {
		t.Fatal(err)
	}
	return orders
}

func mustPause(t *testing.T, r *mutex.Redis, name string, p controls.Pause) {
	t.Helper()
	if err := Pause(ctx, r, controls.Pauses{name: p}); err != nil {
		t.Fatal(err)
	}
}

func TestThePauseWithTheNewestVersionCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, r *mutex.Redis) {
		if o := mustOrders(t, r, nil); len(o.Pauses) > 0 || o.Of != "shop" || o.Interrupt.By != "" {
			t.Errorf("before anybody paused: %+v", o)
		}
		first := controls.Pause{Version: 1999, By: "ann", Server: "web-1", Since: noon, Until: noon.Add(time.Hour), Reason: "deploying 4.2"}
		mustPause(t, r, controls.Everything, first)
		mustPause(t, r, "report", controls.Pause{Version: 1001, By: "bob"})
		mustPause(t, r, "report", controls.Pause{Version: 2000, By: "cat", Ended: noon})
		mustPause(t, r, "report", controls.Pause{Version: 1500, By: "late"}) // a process that was stopped for a while
		o := mustOrders(t, r, nil)
		if o.Pauses[controls.Everything] != first || o.Pauses["report"].By != "cat" || len(o.Pauses) != 2 {
			t.Errorf("%+v", o)
		}
	})
}

// A Redis that was started again without its data has forgotten what is paused; the servers have not, and
// tell it. One of them that was away knows only of a pause that is over.
func TestWhatRedisForgotItIsToldAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, r *mutex.Redis) {
		paused := controls.Pauses{"report": {Version: 2000, By: "ann"}, "import": {Version: 3000, By: "ann", Ended: noon}}
		if o := mustOrders(t, r, paused); o.Pauses["report"].By != "ann" {
			t.Errorf("%+v", o)
		}
		old := controls.Pauses{"import": {Version: 1000, By: "ann"}}
		if o := mustOrders(t, r, old); o.Pauses["report"].By != "ann" || o.Pauses["import"].InEffect(noon) {
			t.Errorf("%+v", o)
		}
	})
}

func TestAnInterruptHasItsAgeFromTheClockOfRedis(t *testing.T) {
	everywhere(t, func(t *testing.T, r *mutex.Redis) {
		wrong := time.Now().Add(-12 * time.Hour) // the clock of who interrupts
		if err := Interrupt(ctx, r, controls.Interrupt{By: "ann", Server: "web-1", At: wrong}); err != nil {
			t.Fatal(err)
		}
		first := mustOrders(t, r, nil).Interrupt
		if first.Age < -time.Second || first.Age > time.Minute || first.String() != "interrupted by ann on web-1" {
			t.Errorf("%+v", first)
		}
		if again := mustOrders(t, r, nil).Interrupt; !again.Same(first) || again.Age < first.Age {
			t.Errorf("%+v after %+v", again, first)
		}
		if err := Interrupt(ctx, r, controls.Interrupt{By: "ann", Server: "web-1", At: wrong.Add(time.Second)}); err != nil {
			t.Fatal(err)
		}
		if next := mustOrders(t, r, nil).Interrupt; next.Same(first) {
			t.Errorf("%+v is the one before", next)
		}
	})
}

// Whoever pauses is killed when one of three servers has heard it. As long as that one answers everything is
// paused for all, and then for good.
func TestAPauseThatOneOfThreeHeardIsToldToTheOthers(t *testing.T) {
	one, two, three := miniredis.RunT(t), miniredis.RunT(t), miniredis.RunT(t)
	urls := []string{"redis://" + one.Addr(), "redis://" + two.Addr(), "redis://" + three.Addr()}
	mustPause(t, dial(t, urls[0]), "report", controls.Pause{Version: 1000, By: "ann"})

	two.Close()
	if o := mustOrders(t, dial(t, urls...), nil); o.Pauses["report"].By != "ann" {
		t.Fatalf("%+v", o)
	}
	one.Close()
	if err := two.Restart(); err != nil {
		t.Fatal(err)
	}
	if o := mustOrders(t, dial(t, urls...), nil); o.Pauses["report"].By != "ann" {
		t.Errorf("it was forgotten with the server that heard it: %+v", o)
	}
}

// A tick asks before it starts anything, so it does not wait for a server that hangs when the others have answered.
func TestOneServerOfThreeThatHangsIsNotWaitedFor(t *testing.T) {
	hangs := redistest.Start(t)
	r := dial(t, hangs.URL, "redis://"+miniredis.RunT(t).Addr(), "redis://"+miniredis.RunT(t).Addr())
	mustPause(t, r, "report", controls.Pause{Version: 1000, By: "ann"})
	hangs.Pause()
	defer hangs.Resume()
	begun := time.Now()
	if o := mustOrders(t, r, nil); o.Pauses["report"].By != "ann" {
		t.Errorf("%+v", o)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestWithoutAMajorityNobodyKnows(t *testing.T) {
	up, down := miniredis.RunT(t), miniredis.RunT(t)
	gone := "redis://" + down.Addr()
	down.Close()
	r := dial(t, "redis://"+up.Addr(), gone, gone)
	if o, err := Orders(ctx, r, nil); err == nil {
		t.Errorf("%+v", o)
	}
	if err := Pause(ctx, r, controls.Pauses{"report": {Version: 1000, By: "ann"}}); err == nil {
		t.Error("paused")
	}
}
