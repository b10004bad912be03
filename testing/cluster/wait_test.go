//go:build linux

package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"sched/testing/redistest"
	"sched/testing/schedtest"
)

// Runs wait on several servers, in no order that anybody promises, and all of them run. A server
// that died is in nobody's way.
func TestRunsWaitOnSeveralServersAndADeadOneIsInNobodysWay(t *testing.T) {
	t.Parallel()
	s := newServers(t, 3, redistest.Start(t).URL, strings.NewReplacer(", env: {SHARED: .}", "", `second, cron: "* * * * *"`, `second, cron: "0 0 29 2 *"`).Replace(schedtest.InTurn))
	leapDay := []string{"--only", "second", "--at", "2028-02-29 00:00", "--force"}
	s[0].tick("--only", "first")
	s[0].pids()
	s[1].tick(leapDay...)
	s[1].Waiter("second")
	s[2].tick("--only", "third")
	s[2].Waiter("third")
	s[0].tick(leapDay...)
	witness, supervisor := s[0].Waiter("second")
	s[0].tick("--only", "third")
	s[0].Waiter("third")
	for _, pid := range []int{witness, supervisor} {
		s[0].Kill(pid)
		s[0].Gone(pid)
	}
	s[0].Write("go", "")
	s[0].Until("four commands have begun", func() bool { return len(s[0].linesOf("order")) >= 4 })
	got := s[0].linesOf("order")
	slices.Sort(got)
	if !slices.Equal(got, []string{"first", "second", "third", "third"}) {
		t.Errorf("these ran: %v", got)
	}
	s[0].tick("--only", "second") // the server is back, and its run waits on
	s[0].Until("the last has run", func() bool { return strings.Count(strings.Join(s[0].linesOf("order"), " "), "second") == 2 })
	s[0].Until("it has ended", func() bool { r := s[0].History("second"); return len(r) == 1 && r[0].Outcome == "succeeded" })
}

// A run that this state folder does not know can only be replaced where it was started: on another
// machine, also of the same name, or in another folder. The next run is skipped, and does not wait
// for an hour.
func TestARunOfAnotherFolderIsNotReplaced(t *testing.T) {
	t.Parallel()
	s := newServers(t, 2, redistest.Start(t).URL,
		strings.Replace(held, "without_overlapping: true", "without_overlapping: replace", 1)+"\n")
	s[1].env = s[0].env
	s[0].tick()
	s[0].pids()
	if out, _, _ := s[1].tick("--dry-run"); !strings.Contains(out, "of another state folder or another machine of that name") {
		t.Errorf("a dry run says\n%s", out)
	}
	s[1].tick()
	if r := s[1].Outcome("long", 1); r.Outcome != "skipped" || !strings.Contains(r.Reason, "where alone it can be replaced") {
		t.Errorf("%+v", r)
	}
	s[0].Write("go", "")
	if r := s[0].Outcome("long", 1); r.Outcome != "succeeded" {
		t.Errorf("%+v", r)
	}
}
