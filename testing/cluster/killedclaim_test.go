//go:build linux && amd64

package cluster_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// at is `sched run` on a server when its clock shows the time.
func (s *server) at(clock time.Time) *exec.Cmd {
	c := s.Command("run")
	c.Env = append(append(c.Env, s.env...), "SCHED_TEST_CLOCK="+clock.Format(time.RFC3339), "GOMAXPROCS=1")
	return c
}

// waitForStore has a slot of the task report wait for the store, as a tick does that finds it down.
func (s *server) waitForStore(slot time.Time) {
	db, err := state.Open(s.Path(".sched"), state.Patience)
	if err == nil {
		_, err = db.Runs().Request(context.Background(),
			state.Row{ID: outcome.NewID(), Task: "report", Mutex: "report", Slot: slot, Scheduled: true,
				Wait:   state.Wait{For: state.ForStore, Since: slot, Until: slot.Add(12 * time.Hour)},
				Result: state.Result{Reason: "down"}})
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		s.Fatal(err)
	}
}

// ranOnce reports how often a slot of the task report ran on all servers, and whether its run is
// known to be lost on the first one.
func ranOnce(servers []*server, slot time.Time) (ran int, lost bool) {
	ran = len(slices.DeleteFunc(servers[0].linesOf("ran"),
		func(line string) bool { return line != slot.Format(time.RFC3339) }))
	return ran, slices.Contains(servers[0].Outcomes("report"), slot.Format("15:04")+" lost")
}

// A tick that was killed right after its claim once lost the slot: its server recorded the slot as
// missed, and no other server could have it. So every kill is tried: whatever step web-1 is killed
// before, the slot runs once, there or on web-2, or its run is known to be lost.
func TestASlotIsNotLostWhereverItsTickIsKilled(t *testing.T) {
	t.Parallel()
	servers := newServers(t, 2, redistest.Start(t).URL,
		"tasks: [{name: report, cron: '*/2 * * * *', one_server: true, command: 'echo $SCHED_SLOT >> $SHARED/ran'}]\n")
	slot := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
	madeUp := 0
	step, apart := schedtest.Kills(17)
	for ended := false; !ended; step, slot = step+apart, slot.Add(2*time.Minute) {
		ended = schedtest.KilledBefore(t, servers[0].at(slot), step)
		servers[1].at(slot.Add(time.Second)).Run()
		out, _ := servers[0].at(slot.Add(time.Minute)).CombinedOutput()
		if strings.Contains(string(out), "1 of them runs now") {
			madeUp++
		}
		if ran, lost := ranOnce(servers, slot); ran != 1 && !(lost && ran == 0) {
			t.Errorf("killed before step %d: the slot ran %d times\nthe next tick: %s\nweb-1: %v\nweb-2: %v",
				step, ran, out,
				servers[0].Outcomes("report"), servers[1].Outcomes("report"))
		}
	}
	if madeUp == 0 && apart == 1 {
		t.Error("no next tick ran a slot that was claimed")
	}
}

// A slot waits for the store on two servers. It runs on one of them, and waits nowhere then,
// wherever the tick is killed that makes up for it on the other.
func TestAWaitingSlotRunsOnceWhereverItsTickIsKilled(t *testing.T) {
	t.Parallel()
	servers := newServers(t, 2, redistest.Start(t).URL,
		"tasks: [{name: report, every: day at 3:00, one_server: true, store_down: wait, command: 'echo $SCHED_SLOT >> $SHARED/ran'}]\n")
	slot := time.Now().UTC().Truncate(24 * time.Hour).Add(-21 * time.Hour)
	minute := slot.Add(time.Minute)
	servers[0].at(slot.Add(-time.Minute)).Run()
	step, apart := schedtest.Kills(17)
	for ended := false; !ended; step, slot, minute = step+apart, slot.Add(time.Minute), minute.Add(2*time.Minute) {
		for _, s := range servers {
			s.waitForStore(slot)
		}
		ended = schedtest.KilledBefore(t, servers[0].at(minute), step)
		var said string
		for _, s := range servers {
			out, _ := s.at(minute.Add(time.Minute)).CombinedOutput()
			said += string(out)
		}
		if ran, lost := ranOnce(servers, slot); ran != 1 && !(lost && ran == 0) {
			t.Errorf("killed before step %d: the slot ran %d times\n%s", step, ran, said)
		}
		for _, s := range servers {
			if waiting := schedtest.OpenRows(s.Path(".sched")); len(waiting) > 0 {
				t.Errorf("killed before step %d: on %s wait %v", step, s.name, waiting)
			}
		}
	}
}

// A tick finds the store down, and is killed anywhere. Its slot runs when the store is back, or is
// recorded as missed, once.
func TestASlotIsKeptWhereverItsTickIsKilled(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	proxy := redistest.StartProxy(t, redis)
	servers := newServers(t, 1, proxy.URL,
		"tasks: [{name: report, cron: '*/2 * * * *', one_server: true, store_down: wait, command: 'echo $SCHED_SLOT >> $SHARED/ran'}]\n")
	slot := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
	servers[0].at(slot.Add(-time.Minute)).Run()
	madeUp := 0
	for step, ended := 3, false; !ended; step, slot = step+7, slot.Add(2*time.Minute) {
		proxy.Set(redistest.Fault{Swallow: true})
		ended = schedtest.KilledBefore(t, servers[0].at(slot), step)
		proxy.Set(redistest.Fault{})
		out, _ := servers[0].at(slot.Add(time.Minute)).CombinedOutput()
		ran, lost := ranOnce(servers, slot)
		missed := slices.Contains(servers[0].Outcomes("report"), slot.Format("15:04")+" missed")
		if madeUp += ran; ran > 1 || (ran == 1) == missed || lost {
			t.Errorf("killed before step %d: ran %d times, missed: %t, lost: %t\n%s", step, ran, missed, lost, out)
		}
	}
	if madeUp == 0 {
		t.Error("no slot was made up")
	}
}
