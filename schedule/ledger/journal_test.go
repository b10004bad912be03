package ledger

import (
	"path/filepath"
	"testing"
	"time"

	"sched/schedule/outcome"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func due(task string) Due { return Due{task, noon} }

func begin(t *testing.T, state string, tasks ...string) *Journal {
	t.Helper()
	p := Promise{Minute: noon}
	for _, task := range tasks {
		p.Due = append(p.Due, due(task))
	}
	j, err := BeginJournal(state, p)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func journals(t *testing.T, state string) (dead []*Journal, live []Promise) {
	t.Helper()
	dead, live, err := ReadJournals(state)
	if err != nil {
		t.Fatal(err)
	}
	return dead, live
}

func TestTheJournalOfATick(t *testing.T) {
	state := t.TempDir()
	long := begin(t, state, "long")
	short := begin(t, state, "a", "b", "c")
	if dead, live := journals(t, state); len(dead) != 0 || len(live) != 2 || live[0].Due[0].Task != "long" {
		t.Fatalf("while they live: %v, %v", dead, live)
	}
	short.Start("a", noon)
	short.Settle(outcome.Record{Task: "b", Slot: noon, Outcome: outcome.Skipped})
	short.Settle(outcome.Record{Task: "c", Slot: noon, Outcome: outcome.Skipped, Origin: "me"})
	short.Close() // as by a kill

	dead, live := journals(t, state)
	if len(dead) != 1 || len(live) != 1 {
		t.Fatalf("after a kill: %v, %v", dead, live)
	}
	j := dead[0]
	if !j.Started[due("a")] || j.Outcomes[due("b")].Outcome != outcome.Skipped || len(j.Outcomes) != 1 || !j.Interrupted() {
		t.Errorf("it says %+v", j)
	}
	if dead, _ := journals(t, state); len(dead) != 0 {
		t.Error("two have it at once")
	}
	j.Settle(outcome.Record{Task: "c", Slot: noon, Outcome: outcome.Skipped})
	j.Close()
	if dead, _ = journals(t, state); len(dead) != 1 || dead[0].Interrupted() {
		t.Error("all was begun or settled")
	}
	dead[0].End()
	long.End()
	if dead, live := journals(t, state); len(dead)+len(live) != 0 {
		t.Errorf("at the end: %v, %v", dead, live)
	}
	if files, _ := filepath.Glob(filepath.Join(ticksDir(state), "*")); len(files) > 0 {
		t.Errorf("files are left: %v", files)
	}
}

// A claim of another boot is none: what says that its run began may be lost.
func TestAJournalKnowsWhatWasClaimed(t *testing.T) {
	state := t.TempDir()
	j := begin(t, state, "a", "b")
	j.Claim("a", noon, "run-a")
	j.append(journalEvent{Claim: &dueRun{due("b"), "run-b", "another boot"}})
	j.Close()
	if dead, _ := journals(t, state); len(dead) != 1 || dead[0].Claims[due("a")] != "run-a" || len(dead[0].Claims) != 1 {
		t.Errorf("it says %+v", dead)
	}
}
