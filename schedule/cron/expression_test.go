package cron

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata"
)

// mustParse parses an expression of a test.
func mustParse(t testing.TB, text string) Expression {
	t.Helper()
	c, err := Parse(text, "task")
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return c
}

// Instant reads a UTC time with or without seconds.
func instant(t testing.TB, text string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	t.Fatalf("bad time %q", text)
	return time.Time{}
}

// dueTests say at which times expressions are due.
var dueTests = []struct {
	cron, at string
	want     bool
}{
	// ordinary fields
	{"* * * * *", "2026-03-02 09:07", true},
	{"*/5 * * * *", "2026-03-02 09:10", true},
	{"*/5 * * * *", "2026-03-02 09:11", false},
	{"0 9 * * *", "2026-03-02 09:00", true},
	{"0 9 * * *", "2026-03-02 21:00", false},
	{"05 09 * * *", "2026-03-02 09:05", true},
	{"1,3-5,10-20/5 * * * *", "2026-03-02 09:04", true},
	{"1,3-5,10-20/5 * * * *", "2026-03-02 09:15", true},
	{"1,3-5,10-20/5 * * * *", "2026-03-02 09:16", false},

	// five fields mean second 0, and only that; six start with the second
	{"* * * * *", "2026-03-02 09:07:01", false},
	{"*/10 * * * * *", "2026-03-02 09:07:50", true},
	{"*/10 * * * * *", "2026-03-02 09:07:51", false},
	{"30 0 9 * * *", "2026-03-02 09:00:30", true},

	// an open step runs to the end of the field: 5/15 is 5-59/15
	{"5/15 * * * *", "2026-03-02 09:50", true},
	{"5/15 * * * *", "2026-03-02 09:00", false},
	{"0/15 * * * *", "2026-03-02 09:45", true},
	{"0 0 10/10 * *", "2026-03-30 00:00", true},
	{"0 0 */10 * *", "2026-03-31 00:00", true}, // days count from 1: 1, 11, 21, 31
	{"0 0 */10 * *", "2026-03-10 00:00", false},
	{"0 0 1 2/3 *", "2026-11-01 00:00", true},
	{"0 0 1 */3 *", "2026-04-01 00:00", true},
	{"0 0 * * 1/2", "2026-03-06 00:00", true},  // Monday, Wednesday, Friday
	{"0 0 * * 1/2", "2026-03-08 00:00", false}, // and not Sunday, the 7th day of ISO 8601

	// names, in any case, in lists and ranges
	{"0 0 * JAN *", "2026-01-05 00:00", true},
	{"0 0 * jan,Mar-may *", "2026-04-05 00:00", true},
	{"0 0 * jan,Mar-may *", "2026-02-05 00:00", false},
	{"0 0 * * mon-FRI", "2026-03-06 00:00", true},
	{"0 0 * * mon-FRI", "2026-03-07 00:00", false},
	{"0 0 * jul *", "2026-07-05 00:00", true}, // holds an L
	{"0 0 * * wed", "2026-03-04 00:00", true}, // holds a W
	{"0 0 * mar thu", "2026-03-05 00:00", true},

	// Sunday is 0 and 7, also in ranges; 2026-03-08 is a Sunday
	{"0 0 * * 0", "2026-03-08 00:00", true},
	{"0 0 * * 7", "2026-03-08 00:00", true},
	{"0 0 * * 5-7", "2026-03-08 00:00", true},
	{"0 0 * * 5-7", "2026-03-09 00:00", false},
	{"0 0 * * FRI-SUN", "2026-03-08 00:00", true},
	{"0 0 * * FRI-SUN", "2026-03-05 00:00", false},
	{"0 0 * * SAT-SUN", "2026-03-07 00:00", true},
	{"0 0 * * 6-0", "2026-03-08 00:00", true},
	{"0 0 * * 6-0", "2026-03-09 00:00", false},
	{"0 0 * * SUN-TUE", "2026-03-10 00:00", true},
	{"0 0 * * 7-2", "2026-03-08 00:00", true},
	{"0 0 * * 7-2", "2026-03-11 00:00", false},
	{"0 0 * * 7-0", "2026-03-08 00:00", true},
	{"0 0 * * 7-0", "2026-03-09 00:00", false},
	{"0 0 * * 0-7", "2026-03-11 00:00", true},
	{"0 0 * * 0-7/2", "2026-03-10 00:00", true},
	{"0 0 * * 0-7/2", "2026-03-11 00:00", false},
	{"0 0 * * 1-7/3", "2026-03-08 00:00", true}, // 1, 4 and 7
	{"0 0 * * 7/3", "2026-03-11 00:00", true},   // 0, 3 and 6
	{"0 0 * * */7", "2026-03-08 00:00", true},
	{"0 0 * * */7", "2026-03-09 00:00", false},

	// both day fields restricted: one is enough; 2026-03-13 is a Friday
	{"0 0 13 * FRI", "2026-03-06 00:00", true},
	{"0 0 13 * FRI", "2026-04-13 00:00", true},
	{"0 0 13 * FRI", "2026-04-14 00:00", false},
	{"0 0 L * 1#2", "2026-03-31 00:00", true},
	{"0 0 L * 1#2", "2026-03-09 00:00", true},
	{"0 0 1-5,* * FRI", "2026-03-17 00:00", true}, // does not start with *: crontab(5) says OR

	// a day field that starts with * makes it AND
	{"0 0 */2 * MON", "2026-03-09 00:00", true},
	{"0 0 */2 * MON", "2026-03-02 00:00", false},
	{"0 0 */2 * MON", "2026-03-03 00:00", false},
	{"0 0 1-7 * */2", "2026-03-03 00:00", true},
	{"0 0 1-7 * */2", "2026-03-10 00:00", false},
	{"0 0 1-7 * */2", "2026-03-04 00:00", false},
	{"0 0 13 * *,5", "2026-03-06 00:00", false},
	{"0 0 *,13 * FRI", "2026-03-05 00:00", false},
	{"0 0 13 * ?", "2026-03-06 00:00", false}, // ? is *
	{"0 0 ? * FRI", "2026-03-06 00:00", true},
	{"0 0 ? * FRI", "2026-03-07 00:00", false},

	// L is the last day, LW the last working day
	{"0 0 L * *", "2026-02-28 00:00", true},
	{"0 0 L * *", "2028-02-28 00:00", false},
	{"0 0 L * *", "2028-02-29 00:00", true},
	{"0 0 1,l * *", "2026-03-31 00:00", true},
	{"0 0 LW * *", "2026-01-30 00:00", true}, // the 31st is a Saturday
	{"0 0 LW * *", "2026-05-29 00:00", true}, // the 31st is a Sunday
	{"0 0 LW * *", "2026-05-31 00:00", false},
	{"0 0 lw,15 * *", "2026-03-31 00:00", true},
	{"0 0 lw,15 * *", "2026-03-15 00:00", true},

	// 15W is the working day nearest to the 15th, and stays in the month
	{"0 0 15W * *", "2026-02-16 00:00", true}, // the 15th is a Sunday
	{"0 0 15W * *", "2026-02-15 00:00", false},
	{"0 0 15W * *", "2026-08-14 00:00", true}, // the 15th is a Saturday
	{"0 0 1W * *", "2026-08-03 00:00", true},  // the 1st is a Saturday
	{"0 0 31W * *", "2026-05-29 00:00", true}, // the 31st is a Sunday
	{"0 0 31W * *", "2026-04-30 00:00", false},
	{"0 0 3,15w,20 * *", "2026-02-16 00:00", true},
	{"0 0 3,15w,20 * *", "2026-02-20 00:00", true},

	// 5L is the last Friday, 1#2 the second Monday
	{"0 0 * * 5L", "2026-03-27 00:00", true},
	{"0 0 * * 5L", "2026-03-20 00:00", false},
	{"0 0 * * fril", "2026-03-27 00:00", true},
	{"0 0 * * 7L", "2026-03-29 00:00", true},
	{"0 0 * * 1#2", "2026-03-09 00:00", true},
	{"0 0 * * 1#2", "2026-03-16 00:00", false},
	{"0 0 * * MON#2", "2026-03-09 00:00", true},
	{"0 0 * * 7#1", "2026-03-01 00:00", true},
	{"0 0 * * sun#5", "2026-03-29 00:00", true},
	{"0 0 * * 3,FRIL,MON#2", "2026-03-09 00:00", true},
	{"0 0 * * 3,FRIL,MON#2", "2026-03-11 00:00", true},
	{"0 0 * * 3,FRIL,MON#2", "2026-03-27 00:00", true},
	{"0 0 * * 3,FRIL,MON#2", "2026-03-20 00:00", false},

	// macros, in any case
	{"@daily", "2026-03-02 00:00", true},
	{"@Midnight", "2026-03-02 00:00", true},
	{"@HOURLY", "2026-03-02 13:00", true},
	{"@weekly", "2026-03-08 00:00", true},
	{"@weekly", "2026-03-09 00:00", false},
	{"@monthly", "2026-03-01 00:00", true},
	{"@yearly", "2026-01-01 00:00", true},
	{"@annually", "2026-02-01 00:00", false},
	{"@5minutes", "2026-03-02 09:55", true},
	{"@everysecond", "2026-03-02 09:55:13", true},
}

func TestCronIsDue(t *testing.T) {
	for _, tt := range dueTests {
		w := When{Crons: []Expression{mustParse(t, tt.cron)}}
		at := instant(t, tt.at)
		if got := contains(w.Slots(at), at); got != tt.want {
			t.Errorf("%q at %s: due is %v, want %v", tt.cron, tt.at, got, tt.want)
		}
	}
}

func TestCronRefuses(t *testing.T) {
	const need = "needs 5 (minute hour day month weekday), or 6 with leading seconds"
	tests := []struct{ cron, text, hint string }{
		// wrong field counts
		{"", "is empty, " + need, ""},
		{"daily", "1 field, " + need, ""},
		{"* * * *", "4 fields, " + need, ""},
		{"* * * * * * *", "7 fields, " + need, "there is no field for the year: leave out the last one"},
		{"*/5 * * * * php artisan queue:work", "8 fields, " + need, ""},
		{"0 0 1 1 * 2030", "weekday 2030 is not in 0-7", "the first of 6 fields is the second, and there is no field for the year"},
		{"CRON_TZ=UTC 0 0 * * *", `"CRON_TZ=UTC" is no field`, "the time zone has its own key, timezone:"},

		// numbers out of range
		{"61 * * * *", "minute 61 is not in 0-59", ""},
		{"60 * * * *", "minute 60 is not in 0-59", "the full hour is minute 0"},
		{"0 24 * * *", "hour 24 is not in 0-23", "midnight is hour 0"},
		{"0 0 0 * *", "day 0 is not in 1-31", ""},
		{"0 0 0/15 * *", "day 0 is not in 1-31", ""},
		{"0 0 32 * *", "day 32 is not in 1-31", ""},
		{"0 0 1 13 *", "month 13 is not in 1-12", ""},
		{"0 0 * * 8", "weekday 8 is not in 0-7", ""},
		{"60 * * * * *", "second 60 is not in 0-59", ""},
		{"1,2,99999999999999999999 * * * *", "minute 99999999999999999999 is not in 0-59", ""},
		{"10-70 * * * *", "minute 70 is not in 0-59", ""},
		{"0 0 32W * *", "day 32 is not in 1-31", ""},
		{"0 0 * * 8L", "weekday 8 is not in 0-7", ""},
		{"0 0 * * MON#6", `week "6" in "MON#6" is not in 1-5`, ""},
		{"0 0 * * 1#", `week "" in "1#" is not in 1-5`, ""},

		// what is no number
		{"a * * * *", `minute "a" is not a number in 0-59`, ""},
		{"+5 * * * *", `minute "+5" is not a number in 0-59`, ""},
		{"-5 * * * *", `minute "-5" lacks a number`, ""},
		{"5- * * * *", `minute "5-" lacks a number`, ""},
		{"*-5 * * * *", `minute "*-5": * takes a step and nothing else`, ""},
		{"1-2-3 * * * *", `minute "2-3" is not a number in 0-59`, ""},
		{"0 0 1 MON *", `month "MON" is not a number in 1-12 or a name in JAN-DEC`, ""},
		{"0 0 * * monday", `weekday "monday" is not a number in 0-7 or a name in MON-SUN`, "write MON"},
		{"0 0 1 sept *", `month "sept" is not a number in 1-12 or a name in JAN-DEC`, "write SEP"},
		{"? * * * *", `minute "?" is not a number in 0-59`, "? is for the day fields only; write *"},
		{"0 0 ?,2 * *", "day ? must stand alone", ""},
		{"0 0 ?/2 * *", "day ? must stand alone", ""},

		// empty elements
		{"1,,2 * * * *", `minute "1,,2" has an empty element`, "a list has one comma between two elements, and no spaces"},
		{"0 8, 20 * * *", `minute "8," has an empty element`, "a list has one comma between two elements, and no spaces"},
		{", * * * *", `minute "," has an empty element`, "a list has one comma between two elements, and no spaces"},

		// every element is checked, also after one that is always due
		{"*,61 * * * *", "minute 61 is not in 0-59", ""},
		{"* * * * *,MON#9", `week "9" in "MON#9" is not in 1-5`, ""},

		// steps
		{"*/0 * * * *", "minute step 0 is not in 1-59", ""},
		{"*/90 * * * *", "minute step 90 is not in 1-59", "*/90 would be 0 alone; write that, or a step that fits"},
		{"0 */24 * * *", "hour step 24 is not in 1-23", "*/24 would be 0 alone; write that, or a step that fits"},
		{"0 0 1-9/40 * *", "day step 40 is not in 1-31", ""},
		{"*/ * * * *", `minute step "" in "*/" is not a number`, ""},
		{"*/5/2 * * * *", `minute step "5/2" in "*/5/2" is not a number`, ""},
		{"*/-5 * * * *", `minute step "-5" in "*/-5" is not a number`, ""},
		{"/5 * * * *", `minute "/5" lacks a number`, ""},

		// reversed ranges
		{"0 0 * * FRI-MON", "weekday range FRI-MON runs backwards", "write FRI-SUN,MON"},
		{"0 0 * * sat-tue", "weekday range sat-tue runs backwards", "write sat-SUN,MON-tue"},
		{"0 0 * * 5-2", "weekday range 5-2 runs backwards", "write 5-7,1-2"},
		{"50-10 * * * *", "minute range 50-10 runs backwards", "write 50-59,0-10"},
		{"0 23-0 * * *", "hour range 23-0 runs backwards", "write 23,0"},
		{"0 0 1 NOV-FEB *", "month range NOV-FEB runs backwards", "write NOV-DEC,JAN-FEB"},
		{"0 22-4/2 * * *", "hour range 22-4 runs backwards", ""},

		// L and W where they mean nothing
		{"0 0 * * L", `weekday "L" needs a day`, "5L or FRIL is the last Friday of the month; L in the day field is its last day"},
		{"0 0 L-3 * *", `day "L-3" is not known: L stands alone and W follows one number`, "L is the last day, LW the last working day, 15W the working day nearest to the 15th"},
		{"0 0 W * *", `day "W" is not known: L stands alone and W follows one number`, "L is the last day, LW the last working day, 15W the working day nearest to the 15th"},
		{"0 0 WL * *", `day "WL" is not known`, "write LW"},
		{"L * * * *", `minute "L" is not a number in 0-59`, ""},
		{"0 0 * * 15W", `weekday "15W" is not a number in 0-7 or a name in MON-SUN`, ""},

		// what can never be due
		{"0 0 31 2 *", "can never be due: day 31 never comes in month 2", "the last day of a month is L, its last working day LW"},
		{"0 0 30 2 *", "can never be due: day 30 never comes in month 2", "the last day of a month is L, its last working day LW"},
		{"0 0 31W FEB *", "can never be due: day 31W never comes in month FEB", "the last day of a month is L, its last working day LW"},
		{"0 0 31 2,4,6,9,11 *", "can never be due: day 31 never comes in month 2,4,6,9,11", "the last day of a month is L, its last working day LW"},
		{"0 0 LW * */6", "can never be due: day LW of month * is never on weekday */6", ""},
		{"0 0 31 4 */2", "can never be due: day 31 of month 4 is never on weekday */2", ""},

		// macros
		{"@reboot", "@reboot is not a time: nothing of sched runs at start-up to notice it", "start the command from the init system, for example a systemd unit"},
		{"@every 5m", `macro "@every 5m" is not known`, `write it in words instead, for example "every: 5 minutes"`},
		{"@dayly", `macro "@dayly" is not known`, "the macros are @yearly, @monthly, @weekly, @daily, @midnight and @hourly"},

		// H
		{"H(5) * * * *", `minute "H(5)" is not understood`, "write H(0-29) or H(0-29)/10"},
		{"H(0-29 * * * *", `minute "H(0-29" is not understood`, "write H(0-29) or H(0-29)/10"},
		{"H(0-99) * * * *", "minute 99 is not in 0-59", ""},
		{"H(9-1) * * * *", "minute range 9-1 runs backwards", ""},
		{"H/0 * * * *", "minute step 0 is not in 1-59", ""},
		{"H-5 * * * *", `minute "H-5": H takes no range after it`, "write H(0-29) for a number in a range"},
	}
	for _, tt := range tests {
		c, err := Parse(tt.cron, "task")
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q: got %q, %v, want an error", tt.cron, c, err)
			continue
		}
		if wrong.Text != tt.text || wrong.Hint != tt.hint {
			t.Errorf("%q:\n got %s\nhint %s\nwant %s\nhint %s", tt.cron, wrong.Text, wrong.Hint, tt.text, tt.hint)
		}
	}
}

func TestCronAcceptsRareDates(t *testing.T) {
	tests := []struct{ cron, next string }{
		{"0 0 29 2 *", "2028-02-29 00:00"},
		{"0 0 29 2 */7", "2032-02-29 00:00"},  // AND: a Sunday
		{"0 0 * 2 MON#5", "2044-02-29 00:00"}, // a leap year that begins February on a Monday
		{"0 0 29W 2 *", "2028-02-29 00:00"},
		{"0 0 L 2 *", "2026-02-28 00:00"},
		{"0 0 31 2,3 *", "2026-03-31 00:00"},
		{"0 0 31 2 MON", "2026-02-02 00:00"}, // OR: the Mondays of February
	}
	for _, tt := range tests {
		w := When{Crons: []Expression{mustParse(t, tt.cron)}}
		got, ok := w.Next(instant(t, "2026-01-01 00:00"))
		if want := instant(t, tt.next); !ok || !got.Equal(want) {
			t.Errorf("%q: next is %v, %v, want %v", tt.cron, got, ok, want)
		}
	}
}

func TestCronString(t *testing.T) {
	tests := []struct{ cron, want string }{
		{"*/5 * * * *", "*/5 * * * *"},
		{"  0\t9  * * Mon-FRI ", "0 9 * * Mon-FRI"}, // the writer's own names stay
		{"@Daily", "0 0 * * *"},
		{"@30minutes", "0,30 * * * *"},
		{"@everysecond", "* * * * * *"},
	}
	for _, tt := range tests {
		if got := mustParse(t, tt.cron).String(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.cron, got, tt.want)
		}
	}
}

func TestCronBothDays(t *testing.T) {
	for cron, want := range map[string]bool{
		"0 0 13 * FRI":   true,
		"0 0 L * 1#2":    true,
		"0 0 1-5,* * 1":  true,
		"0 0 13 * *":     false,
		"0 0 13 * ?":     false,
		"0 0 * * FRI":    false,
		"0 0 */2 * FRI":  false,
		"0 0 13 * */2":   false,
		"0 0 0 13 * FRI": true,
	} {
		if got := mustParse(t, cron).BothDays(); got != want {
			t.Errorf("%q: got %v, want %v", cron, got, want)
		}
	}
}

// H must not move between versions of sched: a job that ran at 03:17 would run again or not at all.
func TestHashIsForever(t *testing.T) {
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

// gronx's checker remembers the time it is asked about. A Cron must not.
func TestCronIsSafeForSeveralGoroutines(t *testing.T) {
	w := When{Crons: []Expression{mustParse(t, "*/7 3,4 1-15,LW * 1-5,SUN#2")}, Location: zone(t, "Europe/Berlin")}
	after := instant(t, "2026-03-02 00:00")
	want, _ := w.Next(after)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 50 {
				w.Next(after.Add(time.Duration(i) * time.Hour))
				if got, _ := w.Next(after); !got.Equal(want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	group.Wait()
}

// What gronx v1.20.4 answers differently when it is given the whole expression. What its IsValid lets
// through (*,61 and 5/99 and 0/15 as a day and MON#9 and 0 0 31 2 *) is in TestCronRefuses.
func TestGronxTraps(t *testing.T) {
	tests := []struct{ cron, after, next string }{
		// *,5 as weekday starts with * and means AND; gronx knows only */
		{"0 0 13 * *,5", "2026-03-01 00:00", "2026-03-13 00:00"},
		// ranges that end with Sunday by name, or as 0, are errors to it
		{"0 0 * * SAT-SUN", "2026-03-07 00:00", "2026-03-08 00:00"},
		{"0 0 * * FRI-SUN", "2026-03-07 00:00", "2026-03-08 00:00"},
		{"0 0 * * 6-0", "2026-03-07 00:00", "2026-03-08 00:00"},
		// LW is an error to it
		{"0 0 LW * *", "2026-05-01 00:00", "2026-05-29 00:00"},
		// six fields that end with four digits are five and a year to it
		{"0 0 0 1 1 0001", "2026-01-01 00:00", "2026-01-05 00:00"},
		// its IsDue is false for five fields when the instant has seconds; Slots takes any instant of the minute
		{"30 9 * * *", "2026-03-02 09:29:59", "2026-03-02 09:30"},
	}
	for _, tt := range tests {
		w := When{Crons: []Expression{mustParse(t, tt.cron)}}
		got, ok := w.Next(instant(t, tt.after))
		want := instant(t, tt.next)
		if !ok || !got.Equal(want) {
			t.Errorf("%q after %s: next is %v, %v, want %v", tt.cron, tt.after, got, ok, want)
		}
		if slots := w.Slots(want.Add(59 * time.Second)); len(slots) != 1 || !slots[0].Equal(want) {
			t.Errorf("%q: slots of the minute of %v are %v", tt.cron, want, slots)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "*/5 1-3,7 L,15W * FRIL,1#2", "H(0-29)/10 H H * ?", "@daily",
		"0 0 31 2 *", "5/15 * * JAN-mar SAT-SUN", "1 2 3 4 5 6", "0 0 LW * */6", "0 0 29 2 7/7"} {
		f.Add(seed, "task")
	}
	f.Fuzz(func(t *testing.T, text, seed string) {
		c, err := Parse(text, seed)
		if err != nil {
			checkWhenError(t, text, err)
			return
		}
		if again, err := Parse(c.String(), "other"); err != nil || again != c {
			t.Fatalf("%q reads as %q, and that as %q (%v)", text, c, again, err)
		}
		fields := checkTimes(t, c)
		checkDays(t, fields[dayField], dayField, c.dates.days, "2024-02-01", "2024-04-01")
		checkDays(t, fields[weekdayField], weekdayField, c.dates.weekdays, "2024-02-01", "2024-04-01")
		checkNext(t, When{Crons: []Expression{c}}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	})
}

// checkWhenError holds the error about text to the voice of sched.
func checkWhenError(t *testing.T, text string, err error) {
	t.Helper()
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.Text == "" {
		t.Fatalf("%T %v is not an error for people", err, err)
	}
	if strings.HasSuffix(wrong.Text, ".") || !strings.Contains(text, "%") && strings.Contains(wrong.Text+wrong.Hint, "%!") {
		t.Fatalf("error %q, hint %q", wrong.Text, wrong.Hint)
	}
}

// checkNext checks that w has a next instant and that Slots knows it.
func checkNext(t *testing.T, w When, after time.Time) {
	t.Helper()
	next, ok := w.Next(after)
	if !ok || !next.After(after) {
		t.Fatalf("%v: next after %v is %v, %v", w, after, next, ok)
	}
	if slots := w.Slots(next); !contains(slots, next) {
		t.Fatalf("%v: next is %v, but its minute has %v", w, next, slots)
	}
}

func contains(slots []time.Time, at time.Time) bool {
	for _, slot := range slots {
		if slot.Equal(at) {
			return true
		}
	}
	return false
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}
