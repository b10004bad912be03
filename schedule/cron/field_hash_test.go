package cron

import (
	"fmt"
	"strings"
	"testing"
)

// H must not move between versions of sched: a job that ran at 03:17 would run again or not at all.
func TestHashNeverChanges(t *testing.T) {
	tests := []struct{ cron, seed, want string }{
		{"H H * * *", "nightly-report", "22 0 * * *"},
		{"H H H H H", "nightly-report", "22 0 23 4 6"},
		{"H/15 * * * *", "nightly-report", "7-59/15 * * * *"},
		{"H(0-29) * * * *", "nightly-report", "22 * * * *"},
		{"H(0-29)/10 h(1-5) * * MON-THU", "nightly-report", "2-29/10 1 * * MON-THU"},
		{"H,30 * * * *", "nightly-report", "22,30 * * * *"},
		{"0 0 H(25-31) * h(MON-FRI)", "nightly-report", "0 0 26 * 4"},
		{"H H * * *", "prune-sessions", "55 20 * * *"},
	}
	for _, tt := range tests {
		c, err := Parse(tt.cron, tt.seed)
		if err != nil || c.String() != tt.want {
			t.Errorf("%q for %q: got %q, %v, want %q", tt.cron, tt.seed, c, err, tt.want)
		}
	}
}

func TestHashSpreads(t *testing.T) {
	minutes := map[string]int{}
	for i := range 6000 {
		c, err := Parse("H 0 * * *", fmt.Sprintf("task-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		minutes[strings.Fields(c.String())[0]]++
	}
	if len(minutes) != 60 {
		t.Errorf("%d of the 60 minutes are taken", len(minutes))
	}
	for minute, n := range minutes {
		if n < 50 || n > 150 { // 100 each would be even
			t.Errorf("minute %s has %d of 6000 tasks", minute, n)
		}
	}
}
