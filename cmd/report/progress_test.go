package report

import (
	"testing"
	"time"

	"sched/cmd/terminal"
)

func TestPace(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		now, usual time.Duration
		want       string
		bar        string
	}{
		// a task without a success
		{100 * time.Millisecond, 0, "0.1 s", ""},
		{75 * s, 0, "1 m 15 s", ""},
		// sooner than usual
		{12 * s, 40 * s, "12 s of usually 40 s", "######--------------"},
		{40 * s, 40 * s, "40 s of usually 40 s", "####################"},
		// longer
		{52 * s, 40 * s, "52 s, usually 40 s", "####################"},
	} {
		words, part := pace(row.now, row.usual)
		bar := ""
		if part >= 0 {
			bar = terminal.Stream{}.Bar(part)
		}
		if words != row.want || bar != row.bar {
			t.Errorf("%v of %v: %q %q, not %q %q", row.now, row.usual, words, bar, row.want, row.bar)
		}
	}
}
