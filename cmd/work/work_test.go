package work

import (
	"slices"
	"testing"
	"time"

	"sched/cmd/report"
)

func TestSchedWorkStartsEachTickWithItsFlagsInTheSameOrder(t *testing.T) {
	minute := time.Date(2026, 11, 21, 10, 44, 0, 0, time.UTC)
	setup := setup{sched: "/usr/bin/sched", file: "/srv/shop/schedule.yaml"}
	setup.options = options{Options: report.Options{Quiet: true, JSON: true}, strict: true}
	want := []string{
		"/usr/bin/sched", "run", "--work", "2026-11-21T10:44:00Z", "--config", "/srv/shop/schedule.yaml",
		"--quiet", "--strict", "--json",
	}
	for range 50 {
		if got := setup.tick(minute); !slices.Equal(got, want) {
			t.Fatal(got)
		}
	}
}
