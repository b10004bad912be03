//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// A fault is one way in which something fails.
type fault struct {
	name   string
	about  string // what happens, for the page
	strike func(*trial) error
	store  bool   // it is of a store
	disk   bool   // the folder of the state is small
	never  bool   // a job never ends
	night  *night // or nil: the clock is real
}

// minutes is how many minutes are judged, but for a night.
const minutes = 4

// faults are all faults, in the order of the columns.
var faults = append([]fault{
	{name: "nothing", about: "nothing fails"},
	{name: "kill before the start", strike: killBeforeStart,
		about: "kill -9 of the scheduler in the first milliseconds of a minute, before its job began, or 30 ms before it; it comes back 3 s later"},
	{name: "kill during a run", strike: killDuringRun,
		about: "kill -9 of the scheduler 30 s into a run of 80 s, whose processes live on; it comes back 3 s later"},
	{name: "stopped", strike: stopped,
		about: "SIGSTOP from 10 s before a minute until 3 s after the next one"},
	{name: "restart", strike: restart,
		about: "SIGTERM 3 s before a minute, kill -9 after 5 s; it comes back 30 s into the minute"},
	{name: "disk full", disk: true, strike: fillDisk,
		about: "the disk of its state is full for 75 s, two minutes begin meanwhile"},
	{name: "a job never ends", never: true,
		about: "one more job, which must not run beside itself, never ends"},
	{name: "store gone", store: true, strike: storeGone,
		about: "the store is killed 5 s before a minute, and comes back with its data 65 s later"},
	{name: "store frozen", store: true, strike: storeFrozen,
		about: "the same with SIGSTOP and SIGCONT"},
	{name: "store emptied", store: true, strike: storeEmptied,
		about: "the store loses its data 30 s into a run of 80 s"},
}, nights()...)

// killBeforeStart kills the first scheduler a millisecond after a minute begins. That minute counts
// if the job had not begun when all processes of the scheduler were dead. Else the next minute
// does, if that was so when it was killed shortly before it.
func killBeforeStart(t *trial) error {
	for minute, after := range []time.Duration{time.Millisecond, -30 * time.Millisecond} {
		slot := t.at(minute+1, 0)
		time.Sleep(time.Until(slot.Add(-500 * time.Millisecond)))
		known := t.processes(0, false) // it takes long to find them
		time.Sleep(time.Until(slot.Add(after)))
		for _, pid := range known {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := t.kill(0); err != nil {
			return err
		}
		time.Sleep(time.Second) // a job that was forked before has begun then
		began, err := t.begun("short", slot)
		if err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		if err := t.start(0); err != nil {
			return err
		}
		if !began {
			t.struck = append(t.struck, slot)
			return nil
		}
	}
	t.unseen = "its job had begun each time"
	return nil
}

// killDuringRun kills the scheduler that runs the long job.
func killDuringRun(t *trial) error {
	running, err := t.awaitLong()
	if err != nil || running == nil {
		return err
	}
	t.cutOff = append(t.cutOff, running.begun.Add(time.Second/2).Truncate(time.Minute))
	if err := t.kill(running.server); err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	return t.start(running.server)
}

// awaitLong waits until the long job has run for half a minute, and returns nil if it does not. Its
// first run may have begun before the minutes that are judged.
func (t *trial) awaitLong() (*run, error) {
	for ; time.Now().Before(t.at(2, 40)); time.Sleep(time.Second) {
		runs, err := readJournal(t.path("journal"))
		if err != nil {
			return nil, err
		}
		for _, r := range of(runs, "long") {
			if age := time.Since(r.begun); !r.ended && age > 25*time.Second && age < 35*time.Second && r.begun.After(t.at(0, -1)) {
				return r, nil
			}
		}
	}
	t.unseen = "its long job did not run"
	return nil, nil
}

func stopped(t *trial) error {
	time.Sleep(time.Until(t.at(1, -10)))
	t.signal(0, syscall.SIGSTOP)
	for _, pid := range t.processes(0, false) {
		if await("a stop", time.Second, func() bool { return strings.Contains("TZ", stateOf(pid)) }) != nil {
			t.unseen = fmt.Sprintf("a process of it has the state %s", stateOf(pid))
		}
	}
	if time.Now().After(t.at(1, -1)) {
		t.unseen = "it was stopped too late"
	}
	time.Sleep(time.Until(t.at(2, 3)))
	t.signal(0, syscall.SIGCONT)
	return nil
}

// stateOf returns the letter that /proc has for the state of a process, or "".
func stateOf(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	state, _, _ := strings.Cut(after, " ")
	return state
}

func restart(t *trial) error {
	time.Sleep(time.Until(t.at(1, -3)))
	syscall.Kill(t.mains[0].Process.Pid, syscall.SIGTERM)
	if t.awaitGone(0, 5*time.Second) != nil {
		t.signal(0, syscall.SIGKILL)
	}
	time.Sleep(time.Until(t.at(1, 30)))
	return t.start(0)
}

// fillDisk fills the disk of the state again and again, because a scheduler may give up space.
func fillDisk(t *trial) error {
	time.Sleep(time.Until(t.at(1, -5)))
	entries, err := os.ReadDir(t.path("state"))
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		t.unseen = "it writes no state"
	}
	full, err := os.Create(t.path("state/full"))
	if err != nil {
		return err
	}
	defer full.Close()
	block, wrote := make([]byte, 4096), false
	for time.Now().Before(t.at(2, 10)) {
		if _, err := full.Write(block); errors.Is(err, syscall.ENOSPC) {
			wrote = true
			time.Sleep(20 * time.Millisecond)
		}
	}
	if !wrote {
		t.unseen = "the disk was never full"
	}
	return os.Remove(full.Name())
}

func storeGone(t *trial) error   { return t.without(syscall.SIGKILL, t.store.start) }
func storeFrozen(t *trial) error { return t.without(syscall.SIGSTOP, t.store.goOn) }

// without takes the store away for 65 s.
func (t *trial) without(how syscall.Signal, comeBack func() error) error {
	time.Sleep(time.Until(t.at(1, -5)))
	t.store.signal(how)
	time.Sleep(time.Until(t.at(2, 0)))
	return comeBack()
}

func storeEmptied(t *trial) error {
	if running, err := t.awaitLong(); err != nil || running == nil {
		return err
	}
	return t.store.empty()
}

// A night is one in which the clock changes, with a clock that is thirty times as fast.
type night struct {
	zone       string
	from       string // when it begins, as the clock of the zone shows it first
	hours      float64
	daily      string // the cron of a job that is due once in it
	jump       time.Duration
	jumpsAfter time.Duration // of its clock
}

// pace is how fast the clock of a night is.
const pace = 30

// nights are the faults of the clock.
func nights() (all []fault) {
	for _, n := range []struct {
		name, about string
		night       night
	}{
		{"3 h forward", "the clock is set from 2:00 to 5:00; a job is due at 3:30",
			night{zone: "UTC", from: "2026-03-10 01:35", hours: 0.75, daily: "30 3 * * *", jump: 3 * time.Hour, jumpsAfter: 25 * time.Minute}},
		{"1 h back", "the clock is set from 2:50 to 1:50; a job is due at 2:30",
			night{zone: "UTC", from: "2026-03-10 02:05", hours: 2, daily: "30 2 * * *", jump: -time.Hour, jumpsAfter: 45 * time.Minute}},
		{"Berlin, spring", "2:00 becomes 3:00; a job is due at 2:30",
			night{zone: "Europe/Berlin", from: "2026-03-29 01:30", hours: 1.25, daily: "30 2 * * *"}},
		{"Berlin, autumn", "3:00 becomes 2:00; a job is due at 2:30",
			night{zone: "Europe/Berlin", from: "2026-10-25 01:30", hours: 2.25, daily: "30 2 * * *"}},
		{"Lord Howe", "2:00 becomes 2:30; a job is due at 2:15",
			night{zone: "Australia/Lord_Howe", from: "2026-10-04 01:30", hours: 1, daily: "15 2 * * *"}},
		{"no midnight", "0:00 becomes 1:00 in Santiago; a job is due at 0:00",
			night{zone: "America/Santiago", from: "2026-09-05 23:30", hours: 1, daily: "0 0 * * *"}},
	} {
		all = append(all, fault{name: n.name, about: n.about, night: &n.night, strike: through})
	}
	return all
}

// begin is the instant at which the night begins.
func (n *night) begin() time.Time {
	zone, err := time.LoadLocation(n.zone)
	if err != nil {
		panic(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", n.from, zone)
	if err != nil {
		panic(err)
	}
	return at
}

// passes is how much real time a span of the night takes.
func passes(d time.Duration) time.Duration { return d / pace }

// through lets the night pass.
func through(t *trial) error {
	n := t.fault.night
	if n.jump != 0 {
		time.Sleep(time.Until(t.first.Add(passes(n.jumpsAfter))))
		if err := t.target.clock.set(t, n.begin().Add(n.jumpsAfter+n.jump)); err != nil {
			return err
		}
	}
	time.Sleep(time.Until(t.first.Add(passes(time.Duration(n.hours * float64(time.Hour))))))
	return nil
}

// pulse says whether a job of every five minutes lacked runs in a night, or why the target did not
// live through it: its clock was not fast.
func (n *night) pulse(often []*run) (few, unseen string) {
	fast := false
	for i := 1; i < len(often); i++ {
		gap := often[i].begun.Sub(often[i-1].begun)
		fast = fast || (gap-passes(5*time.Minute)).Abs() < 2*time.Second
	}
	if !fast {
		return "", "no two runs of a job of every five minutes were ten seconds apart"
	}
	if want := int(n.hours * 60 / 5); len(often) < want/2 {
		return fmt.Sprintf("%d of %d of another job", len(often), want), ""
	}
	return "", ""
}
