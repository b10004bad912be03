package cover_test

import (
	"testing"
	"time"

	"sched/schedule/crontab/cover"
	"sched/schedule/load"
)

func TestIdleStarts(t *testing.T) {
	for _, test := range []struct {
		keys, times string
		idle        bool
	}{
		{"every: 10 seconds", "* * * * *", false},
		{"every: 40 minutes from 2026-01-05 06:00", "0,20,40 * * * *", true},
		{`cron: "30 2 13 * *"`, "30 2 13 * *", false},
		{`cron: "0 6 L * *"`, "0 6 28,29,30,31 * *", true},
	} {
		text := "timezone: Europe/Berlin\ntasks: [{name: a, command: x, " + test.keys + "}]\n"
		s, err := load.Text([]byte(text), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := cover.Of(s.Tasks[0].When, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), true)
		if err != nil {
			t.Fatal(err)
		}
		if c.All[0].String() != test.times || (c.Idle > 0) != test.idle {
			t.Errorf("%s is %v with %d idle starts", test.keys, c.All, c.Idle)
		}
	}
}
