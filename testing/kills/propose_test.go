//go:build linux

package kills_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sched/testing/machine"
	"sched/testing/schedtest"
)

// proposals returns the ids of the proposals that wait.
func (b *box) proposals() (ids []string) {
	b.Helper()
	out, err := b.Command("proposals", "--json").Output()
	var all []struct{ ID string }
	if err != nil || json.Unmarshal(out, &all) != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}

// Wherever sched propose and sched approve are killed, a proposal waits whole or not at all, a task
// is written whole or not at all, and the same command then comes to its end.
func TestAKillLeavesAProposalWaitingOrDecided(t *testing.T) {
	t.Parallel()
	b := newBox(t, "timezone: UTC\ninclude: [d/*.yaml]\nx-proposals: {folder: d}\ntasks: [{name: other, every: day, command: 'true'}]\n")
	os.Mkdir(b.Path("d"), 0o700)
	b.Write("keys", "every: day at 09:00\ncommand: echo hello\n")
	propose := func() (killed bool) {
		c := b.Command("propose", "hello")
		keys, err := os.Open(b.Path("keys"))
		if err != nil {
			t.Fatal(err)
		}
		defer keys.Close()
		c.Stdin = keys
		return !schedtest.KilledBeforeRename(t, c, 1) || c.ProcessState.ExitCode() != 0
	}
	for step := 1; ; step += machine.Sized(9, 1) {
		for len(b.proposals()) == 0 {
			if !propose() {
				break
			}
			c := b.Command("propose", "hello")
			c.Stdin = strings.NewReader(b.Read("keys"))
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("after a kill: %v: %s", err, out)
			}
		}
		id := b.proposals()[0]
		ended := schedtest.KilledBefore(t, b.Command("approve", id), step)
		if out, code := b.Sched("check"); code != 0 {
			t.Fatalf("killed before step %d the schedule is invalid: %s", step, out)
		}
		if waits := b.proposals(); !ended && len(waits) == 1 {
			if out, code := b.Sched("approve", id); code != 0 {
				t.Fatalf("killed before step %d: %s", step, out)
			}
		}
		if waits, out := b.proposals(), b.Says("list"); len(waits) > 0 || !strings.Contains(out, "hello") {
			t.Fatalf("killed before step %d: %v wait, and the tasks are %s", step, waits, out)
		}
		if ended {
			return
		}
		os.Remove(b.Path("d/hello.yaml"))
	}
}
