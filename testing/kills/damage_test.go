package kills_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// A page of the history that no tick reads is damaged. Once nobody knew until `sched history`
// failed, and it failed until somebody moved the file away. The tick that prunes, once a day, finds
// the damage.
func TestDamageThatNoTickReadsIsFoundWithinADay(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\ntasks: [{name: each, cron: '* * * * *', command: 'true'}]\n")
	b.Sched("run")
	db, err := state.Open(b.Path(".sched"), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	var old []state.Row
	for n := range 600 {
		at := time.Now().Add(-time.Duration(n+10) * time.Minute).UTC()
		old = append(old, state.Row{ID: outcome.NewIDAt(at), Task: fmt.Sprintf("old-%d", n%5),
			Slot: at.Truncate(time.Minute), Result: state.Result{Outcome: outcome.Failed, Ended: at}, Started: at})
	}
	if err := db.Runs().Record(context.Background(), old, false); err != nil {
		t.Fatal(err)
	}
	db.Close()
	whole := []byte(b.Read(".sched/sched.db"))
	const page = 4096
	for at := len(whole) / page / 2; at < len(whole)/page; at++ {
		damaged := append([]byte(nil), whole...)
		clear(damaged[at*page : (at+1)*page])
		b.Write(".sched/sched.db", string(damaged))
		if out, _ := b.Sched("run", "--at", "2026-01-01 00:00"); strings.Contains(out, "damaged") {
			continue // ticks do read this one
		}
		c := b.Command("run")
		c.Env = append(c.Env, "SCHED_TEST_CLOCK_OFFSET=25h")
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out),
			"sched: the database was damaged; it is now "+b.Path(".sched/sched.db.damaged-")) {
			t.Errorf("page %d: %v\n%s", at, err, out)
		}
		if aside, _ := filepath.Glob(b.Path(".sched/sched.db.damaged-*")); len(aside) == 0 {
			t.Error("the damaged history is gone")
		}
		if _, code := b.Sched("history"); code != 0 {
			t.Errorf("sched history: exit code %d", code)
		}
		return
	}
	t.Error("ticks read every page")
}
