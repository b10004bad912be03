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

func TestCommonStarts(t *testing.T) {
	for _, test := range []struct {
		crons   string
		isTimer bool
		times   int
		idle    bool
	}{
		{`["0 6 * * *", "30 */6 * * *"]`, false, 2, false},
		{`["0 6 * * *", "0 */6 * * *"]`, false, 1, false},
		{`["0 6 * * *", "*/30 6,7 1 * *"]`, false, 1, true},
		{`["0 6 * * *", "0 */6 * * *"]`, true, 2, false},
	} {
		text := "timezone: UTC\ntasks: [{name: a, command: x, cron: " + test.crons + "}]\n"
		s, err := load.Text([]byte(text), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := cover.Of(s.Tasks[0].When, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), test.isTimer)
		if err != nil || len(c.All) != test.times || (c.Idle > 0) != test.idle {
			t.Errorf("%s is %v with %d idle starts: %v", test.crons, c.All, c.Idle, err)
		}
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	names := cover.Names{}
	for _, want := range []string{"abcdef", "abcd-2", "abcd-3"} {
		if got := names.Take("abcdefgh", 6); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
