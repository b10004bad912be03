package cron

import (
	"sync"
	"testing"
	"time"
)

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

func TestExpressionIsDue(t *testing.T) {
	for _, tt := range dueTests {
		w := When{Crons: []Expression{mustParse(t, tt.cron)}}
		at := instant(t, tt.at)
		if got := contains(w.Slots(at), at); got != tt.want {
			t.Errorf("%q at %s: due is %v, want %v", tt.cron, tt.at, got, tt.want)
		}
	}
}

func TestParseAcceptsRareDates(t *testing.T) {
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

func TestExpressionString(t *testing.T) {
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

func TestBothDays(t *testing.T) {
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

func TestStepBothDays(t *testing.T) {
	for cron, want := range map[string]bool{
		"0 0 */2 * FRI":  true,
		"0 0 13 * */2":   true,
		"0 0 0 */15 * 1": true,
		"0 0 */2 * *":    false,
		"0 0 * * */2":    false,
		"0 0 */1 * FRI":  false,
		"0 0 13 * FRI":   false,
		"*/15 */2 * * 1": false,
		"0 0 */2 * ?":    false,
	} {
		if got := mustParse(t, cron).StepBothDays(); got != want {
			t.Errorf("%q: got %v, want %v", cron, got, want)
		}
	}
}

// gronx's checker keeps the time that it evaluates. An Expression must not.
func TestExpressionIsSafeForSeveralGoroutines(t *testing.T) {
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

// gronx v1.20.4 finds other instants for these, or none, when it evaluates the whole expression.
// TestParseRefuses has the mistakes that its IsValid accepts (*,61 and 5/99 and 0/15 as a day and
// MON#9 and 0 0 31 2 *).
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
		// its IsDue is false for five fields when the instant has seconds; Slots takes any instant
		// of the minute
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
