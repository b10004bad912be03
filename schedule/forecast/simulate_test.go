package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/schedule/load"
	"sched/schedule/pause"
)

// input returns what a test simulates: tasks of a zone, and the time that each of them takes.
func input(t testing.TB, zone, from string, span time.Duration, took map[string]string, tasks string) Input {
	t.Helper()
	s, err := load.Text([]byte("timezone: "+zone+"\n"+tasks), "/srv/schedule.yaml", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begins, err := time.ParseInLocation("2006-01-02 15:04", from, s.Location)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Schedule: s, From: begins, To: begins.Add(span), Servers: 1, Loads: map[string]Load{}}
	for _, task := range s.Tasks {
		in.Loads[task.Name] = Load{Took: time.Second}
	}
	for name, text := range took {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Loads[name] = Load{Took: d}
	}
	return in
}

// story returns the outcomes of the slots, a line each: the instant of the slot, the task, and the
// start or the reason of a skip.
func story(in Input) string {
	var b strings.Builder
	Simulate(in, func(s *Slot) {
		fmt.Fprintf(&b, "%s %s", s.At.In(in.Schedule.Location).Format("15:04:05 MST"), s.Task.Name)
		switch {
		case s.Skip == Full:
			fmt.Fprintf(&b, " full until %s", s.By.Name)
		case s.Skip == Overlap:
			fmt.Fprintf(&b, " overlap with %s", s.By.Name)
		case s.Skip != NoSkip:
			fmt.Fprintf(&b, " %s: %s", s.Skip, s.Reason)
		case s.Lateness() > 0:
			fmt.Fprintf(&b, " late by %s behind %s", s.Lateness(), s.By.Name)
		}
		if in.Servers > 1 {
			fmt.Fprintf(&b, " on %d", s.Server+1)
		}
		b.WriteString("\n")
	})
	return b.String()
}

// Each row is a story: a schedule, how long its runs take, and the outcomes of its slots.
func TestStories(t *testing.T) {
	for _, row := range []struct {
		name, zone, from string
		span             time.Duration
		took             map[string]string
		tasks            string
		change           func(*Input)
		want             string
	}{
		{
			name: "a foreground queue is behind: those after a long run wait for it, and the next tick waits for nothing",
			zone: "UTC", from: "2026-03-02 10:00", span: 2 * time.Minute, took: map[string]string{"long": "90s"},
			tasks: `tasks:
- {name: long, cron: "0 10 * * *", command: "true"}
- {name: quick, cron: "* * * * *", command: "true"}
- {name: strict, cron: "0 10 * * *", command: "true", start_deadline: 1m}
- {name: beside, cron: "0 10 * * *", command: "true", background: true}
`,
			want: `10:00:00 UTC beside
10:00:00 UTC long
10:01:00 UTC quick
10:00:00 UTC quick late by 1m30s behind long
10:00:00 UTC strict too late: it could not start within 1 m 0 s of its time, and 1 m 31 s have passed
`,
		}, {
			name: "a task that takes longer than its interval skips what overlaps",
			zone: "UTC", from: "2026-03-02 10:00", span: 5 * time.Minute, took: map[string]string{"sync": "130s"},
			tasks: `tasks: [{name: sync, cron: "* * * * *", command: "true", background: true, without_overlapping: true}]`,
			want: `10:00:00 UTC sync
10:01:00 UTC sync overlap with sync
10:02:00 UTC sync overlap with sync
10:03:00 UTC sync
10:04:00 UTC sync overlap with sync
`,
		}, {
			name: "a pool of two, with tasks that have a mutex besides",
			zone: "UTC", from: "2026-03-02 10:00", span: 3 * time.Minute,
			took: map[string]string{"a": "70s", "b": "10s", "c": "10s"},
			tasks: `pools: {db: 2}
defaults: {pool: db, background: true}
tasks:
- {name: a, cron: "* * * * *", command: "true", without_overlapping: true}
- {name: b, cron: "* * * * *", command: "true"}
- {name: c, cron: "* * * * *", command: "true"}
- {name: free, cron: "0 10 * * *", command: "true", pool: false}
`,
			want: `10:00:00 UTC a
10:00:00 UTC b
10:00:00 UTC c full until b
10:00:00 UTC free
10:01:00 UTC a overlap with a
10:01:00 UTC b
10:01:00 UTC c full until a
10:02:00 UTC a
10:02:00 UTC b
10:02:00 UTC c full until b
`,
		}, {
			name: "tasks that wait for their mutex: first come, first served, one run of each, and not for ever",
			zone: "UTC", from: "2026-03-02 10:00", span: 3 * time.Minute,
			took: map[string]string{"import": "130s", "mail": "5s"},
			tasks: `defaults: {mutex: db, background: true, without_overlapping: wait}
tasks:
- {name: import, cron: "0 10 * * *", command: "true"}
- {name: export, cron: "* 10 * * *", command: "true"}
- {name: mail, cron: "1 10 * * *", command: "true"}
- {name: hurried, cron: "1 10 * * *", command: "true", wait_at_most: 30s}
`,
			want: `10:00:00 UTC import
10:01:00 UTC export overlap with import
10:01:00 UTC hurried overlap with import
10:02:00 UTC export overlap with import
10:00:00 UTC export late by 2m10s behind import
10:01:00 UTC mail late by 1m11s behind import
`,
		}, {
			name: "two tasks of one mutex",
			zone: "UTC", from: "2026-03-02 10:00", span: 3 * time.Minute, took: map[string]string{"import": "70s"},
			tasks: `defaults: {mutex: db, background: true, without_overlapping: true}
tasks:
- {name: import, cron: "*/2 * * * *", command: "true"}
- {name: export, cron: "* * * * *", command: "true"}
`,
			want: `10:00:00 UTC import
10:00:00 UTC export overlap with import
10:01:00 UTC export overlap with import
10:02:00 UTC import
10:02:00 UTC export overlap with import
`,
		}, {
			name: "seconds: one that takes longer than its interval leaves the others their turn",
			zone: "UTC", from: "2026-03-02 10:00", span: time.Minute, took: map[string]string{"a": "25s", "b": "1s"},
			tasks: `tasks:
- {name: a, cron: "*/20 * * * * *", command: "true"}
- {name: b, cron: "*/20 * * * * *", command: "true"}
`,
			want: `10:00:00 UTC a
10:00:00 UTC b too late: it could not start before its next slot
10:00:20 UTC b late by 5s behind a
10:00:20 UTC a late by 6s behind a
10:00:40 UTC b late by 11s behind a
10:00:40 UTC a late by 12s behind a
`,
		}, {
			name: "clocks go forward: what is fixed to the hour that is missing runs right after it",
			zone: "Europe/Berlin", from: "2026-03-29 01:30", span: time.Hour,
			tasks: `tasks:
- {name: fixed, cron: "15 2 * * *", command: "true"}
- {name: half-hourly, cron: "*/30 * * * *", command: "true"}
`,
			want: `01:30:00 CET half-hourly
03:00:00 CEST fixed
03:00:00 CEST half-hourly late by 1s behind fixed
`,
		}, {
			name: "clocks go back: what is fixed to the hour that comes twice runs in the first",
			zone: "Europe/Berlin", from: "2026-10-25 01:45", span: 2*time.Hour + 15*time.Minute,
			tasks: `tasks:
- {name: fixed, cron: "15 2 * * *", command: "true", background: true}
- {name: half-hourly, cron: "*/30 * * * *", command: "true"}
`,
			want: `02:00:00 CEST half-hourly
02:15:00 CEST fixed
02:30:00 CEST half-hourly
02:00:00 CET half-hourly
02:30:00 CET half-hourly
`,
		}, {
			name: "a pause with an end, and one without, of which time does not tell when it is over",
			zone: "UTC", from: "2026-03-02 10:00", span: 2 * time.Minute,
			tasks: `defaults: {background: true}
tasks:
- {name: a, cron: "* * * * *", command: "true"}
- {name: b, cron: "* * * * *", command: "true"}
`,
			change: func(in *Input) {
				in.Pauses = pause.Pauses{
					"a": {{By: "ann", Server: "web-1", Since: in.From, Until: in.From.Add(time.Minute)}},
					"b": {{By: "ann", Server: "web-1", Since: in.From}},
				}
			},
			want: `10:00:00 UTC a paused: paused by ann on web-1 since 10:00 UTC, until 10:01 UTC
10:00:00 UTC b
10:01:00 UTC a
10:01:00 UTC b
`,
		}, {
			name: "a holiday",
			zone: "UTC", from: "2026-12-24 12:00", span: 48 * time.Hour,
			tasks: `holidays: [2026-12-25 Christmas Day]
tasks: [{name: daily, every: day at 12:00, command: "true", except: holidays}]
`,
			want: `12:00:00 UTC daily
12:00:00 UTC daily condition: it is a holiday: 2026-12-25 Christmas Day
`,
		}, {
			name: "two servers share what runs on one server, and each runs what does not",
			zone: "UTC", from: "2026-03-02 10:00", span: time.Minute, took: map[string]string{"a": "10s", "b": "5s"},
			tasks: `name: shop
store: redis://127.0.0.1
tasks:
- {name: a, cron: "* * * * *", command: "true", one_server: true}
- {name: b, cron: "* * * * *", command: "true", one_server: true}
- {name: each, cron: "* * * * *", command: "true"}
`,
			change: func(in *Input) { in.Servers = 2 },
			want: `10:00:00 UTC a on 1
10:00:00 UTC b on 2
10:00:00 UTC each late by 5s behind b on 2
10:00:00 UTC each late by 10s behind a on 1
`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := input(t, row.zone, row.from, row.span, row.took, row.tasks)
			if row.change != nil {
				row.change(&in)
			}
			if got := story(in); got != row.want {
				t.Errorf("got:\n%swant:\n%s", got, row.want)
			}
		})
	}
}
