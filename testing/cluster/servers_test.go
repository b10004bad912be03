package cluster_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// everywhere returns the runs that `sched history --all-servers` shows, of the servers whose runs
// these are.
func (b *box) everywhere(server string) (runs []string) {
	b.Helper()
	c := b.Command("history", "--all-servers", "--json", "-n", "0")
	c.Env = append(c.Env, "SCHED_TEST_SERVER="+server)
	out, err := c.Output()
	if err != nil {
		b.Fatalf("sched history --all-servers: %v", err)
	}
	var records []schedtest.Record
	if err := json.Unmarshal(out, &records); err != nil {
		b.Fatal(err)
	}
	for _, r := range records {
		runs = append(runs, r.Server+" "+r.Run)
	}
	slices.Sort(runs)
	return runs
}

// Ticks are killed at random moments, while Redis hangs and while it answers. In the end another
// server knows every run of this one, once, however far the ticks had come.
func TestEveryRunIsKnownElsewhereThoughTicksAreKilled(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	schedule := "name: shop\ntimezone: UTC\nstore: " + redis.URL + "\ntasks:\n" +
		"  - {name: fore, cron: 0-58 * * * *, command: \"true\"}\n" +
		"  - {name: back, cron: 0-58 * * * *, command: \"true\", background: true}\n"
	here, there := newBox(t, schedule), newBox(t, schedule)
	kills := machine.Sized(10, 40)
	for n := range kills {
		if n == kills/2 {
			redis.Pause()
		}
		c := here.Command("run", "-q", "--at", fmt.Sprintf("2026-01-01 00:%02d", n))
		c.Env = append(c.Env, "SCHED_TEST_SERVER=web-1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if n > 0 { // on a busy machine the others may all be killed before anything ran
			defer time.AfterFunc(rand.N(150*time.Millisecond), func() { c.Process.Kill() }).Stop()
		}
		c.Wait()
		if n == kills/2+kills/8 {
			redis.Resume()
		}
	}
	last := func() {
		c := here.Command("run", "-q", "--at", "2026-01-01 00:59")
		c.Env = append(c.Env, "SCHED_TEST_SERVER=web-1")
		c.Run() // it may tell of failures: of runs that the kills have ended
	}
	// A run may end after a tick has collected the ended runs. All is published when no run has a
	// file any more, either.
	here.Until("all is published", func() bool {
		last()
		return here.OpenRuns() == "" && !here.HasUnpublished()
	})
	var want []string
	for _, r := range here.History("") {
		want = append(want, r.Server+" "+r.Run)
	}
	slices.Sort(want)
	if len(want) == 0 {
		t.Fatal("nothing ran before it was killed")
	}
	if got := there.everywhere("web-2"); !slices.Equal(got, want) {
		t.Errorf("web-1 knows\n%v\nweb-2 knows\n%v", want, got)
	}
}
