package cmd

import (
	"slices"
	"testing"
	"time"
)

func TestSchedWorkStartsEachTickWithItsFlagsInTheSameOrder(t *testing.T) {
	minute := time.Date(2026, 11, 21, 10, 44, 0, 0, time.UTC)
	setup := workSetup{sched: "/usr/bin/sched", file: "/srv/shop/schedule.yaml"}
	setup.options = workOptions{reportOptions: reportOptions{quiet: true, json: true}, strict: true}
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
