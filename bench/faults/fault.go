//go:build linux

package main

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"sched/testing/redistest"
)

// A fault is one way in which something fails for a part of a trial.
type fault struct {
	name    string
	kind    kind
	options []string // of each redis-server
	begin   func(*trial)
	end     func(*trial)  // nil: the fault is over when begin returns
	atLeast time.Duration // how long it goes on at least
	outage  bool          // no majority answers or grants, so slots that do not wait for the store may be skipped
	after   time.Duration // how long that goes on after its end
	forgets bool          // Redis loses data: a slot may run again, and a run begin beside another one
	freezes bool          // the first server stands still: its lease runs out, and its commands go on when it thaws
	skews   map[int]time.Duration
}

// lease of the schedule: the shortest, so that faults of more than a lease take little time.
const lease = 5 * time.Second

// faults are all faults that are tried.
func faults() []fault {
	on := func(n int, f redistest.Fault) func(*trial) { return func(t *trial) { t.store.set(n, f) } }
	mend := func(t *trial) { t.store.set(len(t.store.most), redistest.Fault{}) }
	silent, refuse, swallow := redistest.Fault{Silent: true}, redistest.Fault{Refuse: true},
		redistest.Fault{Swallow: true}
	slow, half := redistest.Fault{Delay: 300 * time.Millisecond}, redistest.Fault{HalfEnd: true}
	return append([]fault{
		{name: "nothing fails", kind: one},
		{name: "one of three is silent", kind: three, begin: on(1, silent), end: mend},
		{name: "one of three refuses", kind: three, begin: on(1, refuse), end: mend},
		{name: "one of three takes 300 ms", kind: three, begin: on(1, slow), end: mend},
		{name: "one of three swallows its answers", kind: three, begin: on(1, swallow), end: mend},
		{name: "one of three half-closes", kind: three, begin: on(1, half), end: mend},
		{name: "one of three is restarted with its data", kind: three, options: saves, begin: restart},
		{name: "one of three is restarted empty", kind: three, begin: restart},
		{name: "two of three are silent", kind: three, begin: on(2, silent), end: mend, outage: true},
		{name: "a few servers are cut off", kind: three, begin: func(t *trial) { t.store.cutOff(silent) },
			end: func(t *trial) { t.store.cutOff(redistest.Fault{}) }},
		{name: "clocks are 30 s ahead and behind", kind: three,
			skews: map[int]time.Duration{0: 30 * time.Second, 1: -30 * time.Second}},
		{name: "a server is frozen for longer than a lease", kind: three, freezes: true,
			begin: func(t *trial) { t.freeze(0) },
			end:   func(t *trial) { t.thaw(0) }, atLeast: lease * 3 / 2},
		{name: "one Redis takes 300 ms", kind: one, begin: on(1, slow), end: mend},
		// only the greeting is answered
		{name: "one Redis half-closes", kind: one, begin: on(1, half), end: mend, outage: true},
		{name: "one Redis refuses for 400 ms, again and again",
			kind: one, begin: blips, end: func(t *trial) { t.blips.Wait() }},
		{name: "one Redis refuses", kind: one, begin: on(1, refuse), end: mend, outage: true},
		{name: "one Redis swallows its answers", kind: one, begin: on(1, swallow), end: mend, outage: true},
		{name: "one Redis is stopped (SIGSTOP)", kind: one, begin: func(t *trial) { t.store.redis[0].Pause() },
			end: func(t *trial) { t.store.redis[0].Resume() }, atLeast: lease * 3 / 2, outage: true},
		{name: "one Redis is restarted with its data", kind: one, options: saves, begin: restart},
		{name: "one Redis is restarted empty", kind: one, begin: restart, outage: true, after: lease, forgets: true},
		{name: "FLUSHALL", kind: one, begin: flush, outage: true, after: lease, forgets: true},
		{name: "Sentinels: the primary is killed", kind: sentinel, begin: failOver, outage: true,
			after: lease, forgets: true},
	}, append(databaseFaults("PostgreSQL", postgres), databaseFaults("MariaDB", mariadb)...)...)
}

// databaseFaults are the faults that are tried with a database, which loses no data.
func databaseFaults(name string, k kind) []fault {
	on := func(f redistest.Fault) func(*trial) { return func(t *trial) { t.store.set(1, f) } }
	mend := on(redistest.Fault{})
	return []fault{
		{name: name + ": nothing fails", kind: k},
		{name: name + " takes 40 ms", kind: k, begin: on(redistest.Fault{Delay: 40 * time.Millisecond}), end: mend},
		{name: name + " refuses for 400 ms, again and again",
			kind: k, begin: blips, end: func(t *trial) { t.blips.Wait() }, outage: true},
		{name: name + " swallows its answers", kind: k, begin: on(redistest.Fault{Swallow: true}),
			end: mend, outage: true},
		{name: name + " is stopped (SIGSTOP)", kind: k, begin: func(t *trial) { t.store.database.Pause() },
			end: func(t *trial) { t.store.database.Resume() }, atLeast: lease * 3 / 2, outage: true},
		{name: name + " is killed and restarted", kind: k,
			begin: func(t *trial) { t.store.database.Restart() }, outage: true},
		{name: name + ": a server is frozen for longer than a lease",
			kind: k, freezes: true, begin: func(t *trial) { t.freeze(0) },
			end: func(t *trial) { t.thaw(0) }, atLeast: lease * 3 / 2},
	}
}

// restart restarts the first Redis server. Its options decide which data it keeps.
func restart(t *trial) { t.store.redis[0].Restart() }

func flush(t *trial) {
	if out, err := exec.Command("redis-cli", "-u", t.store.redis[0].URL, "FLUSHALL").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// failOver kills the primary, and waits until the replica takes its place.
func failOver(t *trial) {
	t.store.sentinels.Primary.Kill()
	t.store.sentinels.AwaitFailover(t)
}

// blips has connections refused at the beginning of each minute, until the fault is over.
func blips(t *trial) {
	t.blips.Go(func() {
		for m := t.nextMinute(); m < t.faultEnds; m++ {
			time.Sleep(time.Until(t.at(m)) - 100*time.Millisecond)
			t.store.set(1, redistest.Fault{Refuse: true})
			time.Sleep(400 * time.Millisecond)
			t.store.set(1, redistest.Fault{})
		}
	})
}

// freeze stops all processes of a server, and thaw lets them go on. Its cron starts no ticks
// meanwhile.
func (t *trial) freeze(server int) {
	t.frozen.Store(int64(server) + 1)
	t.signal(server, syscall.SIGSTOP)
	t.signal(server, syscall.SIGSTOP) // processes that were forked meanwhile
}

func (t *trial) thaw(server int) {
	t.signal(server, syscall.SIGCONT)
	t.frozen.Store(0)
}

// try runs a trial with the fault.
func (f fault) try(tb testing.TB, size trialSize) verdict {
	t := newTrial(tb, f, size)
	t.run()
	return t.judge()
}
