package simulation

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sched/schedule/state"
	"sched/testing/machine"
)

// template makes a folder with an empty database, which each server of each world gets a copy of.
func template(t *testing.T) string {
	dir := t.TempDir()
	db := state.At(dir, state.Patience)
	if _, err := db.Values().Covered(t.Context()); err != nil {
		t.Fatal(err)
	}
	own, err := db.Owners().New(state.Tick) // makes the file and the folder of locks
	if err != nil {
		t.Fatal(err)
	}
	own.Release()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scratch is a folder in memory, if the machine has one.
func scratch(t *testing.T) string {
	shm := "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "sched-simulation-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// simulate runs the world of a seed.
func simulate(t *testing.T, seed uint64, template string, d defects) (w *world) {
	dir := scratch(t)
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed, dir, template, d)
		w.run()
	})
	return w
}

// seeds are the seeds that SCHED_SIMULATION asks for, as in 1-10000; none without it.
func seeds(t *testing.T) (from, to uint64) {
	if text := os.Getenv("SCHED_SIMULATION"); text != "" {
		if n, err := fmt.Sscanf(text, "%d-%d", &from, &to); n != 2 {
			t.Fatal(err)
		}
	}
	return from, to
}

func TestNoSeedBreaksAPromise(t *testing.T) {
	folder, begun, n, ticks := template(t), time.Now(), 0, 0
	from, to := seeds(t)
	goesOn := func(seed uint64) bool { return seed <= to }
	if to == 0 {
		from, goesOn = 1, func(uint64) bool { return time.Since(begun) < time.Duration(machine.Sized(2, 5))*time.Second }
	}
	for seed := from; goesOn(seed) && !t.Failed(); seed++ {
		w := simulate(t, seed, folder, nil)
		if n, ticks = n+1, ticks+int(w.ticks.Load()); len(w.broken) > 0 {
			t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(w.log, "\n"), strings.Join(w.broken, "\n"))
		}
	}
	t.Logf("%d hours with %d ticks in %s", n, ticks, time.Since(begun).Round(time.Millisecond))
}

// A seed replays exactly, but for the ids of runs.
func TestASeedReplaysExactly(t *testing.T) {
	folder := template(t)
	runs := regexp.MustCompile(`[0-9a-f-]{12,}|pid \d+`)
	for seed := range uint64(8) {
		first, second := simulate(t, seed, folder, nil), simulate(t, seed, folder, nil)
		for i, line := range first.log {
			if runs.ReplaceAllString(line, "") != runs.ReplaceAllString(second.log[i], "") {
				t.Fatalf("seed %d:\n%s\n%s", seed, line, second.log[i])
			}
		}
	}
}

// A defect is a rule that was broken in the past, or would be by a mistake that is easy to make.
type defect struct {
	name string
	was  string // what is wrong
	seed uint64 // that finds it
}

var pasts = []defect{
	{"unchecked", "a run begins whatever became of the claim of its slot", 5},
	{"held", "no answer is taken for a slot of another server", 10},
	{"expiry", "a claim ends as early as a lease", 2},
	{"delete", "who does not get a key deletes it, as a plain mutex of redsync does", 5},
	{"nonce", "a withdrawal goes by the run, not by the attempt", 705},
	{"withdrawal", "a claim that is found keeps the value of an earlier attempt", 10},
	{"mutex", "a slot is claimed by the mutex of its task", 1},
	{"covered", "the covered minute is written before the rows of the minute", 8},
	{"resume", "the slot of a killed tick gets a new run, which finds it claimed", 1},
	{"renewal", "a renewal takes the lease of another run", 21},
	{"release", "a late release frees the mutex of another run", 1611},
	{"extend", "a lock that its run acquires again ends when it would have ended", 4520},
	{"start", "a command starts without a look at its lease", 21},
	{"again", "a clock that was set back runs its slots again", 1},
	{"placement", "a slot counts as missed on servers that it is not for", 21},
}

var write = flag.Bool("write", false, "write the table of spec/README.md")

// With SCHED_SIMULATION the first seed is looked for that finds the defect.
func TestDefectsOfThePastAreFound(t *testing.T) {
	folder, table := template(t), "\n| defect | is found by seed | as |\n|---|---|---|\n"
	for _, d := range pasts {
		t.Run(d.name, func(t *testing.T) {
			from, to := seeds(t)
			if to == 0 {
				from, to = d.seed, d.seed
			}
			for seed := from; seed <= to; seed++ {
				if w := simulate(t, seed, folder, defects{d.name: true}); len(w.broken) > 0 {
					t.Logf("seed %d: %s", seed, w.broken[0])
					table += fmt.Sprintf("| %s | %d | %s |\n", d.was, seed, w.broken[0])
					return
				}
			}
			t.Errorf("no seed from %d to %d finds that %s", from, to, d.was)
		})
	}
	if *write && !t.Failed() {
		text, err := os.ReadFile("../README.md")
		if err != nil {
			t.Fatal(err)
		}
		made := regexp.MustCompile(`(?s)(<!-- made by go test ./spec/simulation -write -->\n).*?(<!-- end -->)`)
		if err := os.WriteFile("../README.md", made.ReplaceAll(text, []byte("${1}"+table+"${2}")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
