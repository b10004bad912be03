package every

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/cron"
)

func TestParse(t *testing.T) {
	tests := []struct{ every, cron string }{
		// case, plural, spaces, and a word too many
		{"5 Minute", "*/5 * * * *"},
		{"1 minutes", "* * * * *"},
		{"  EVERY 10   SECONDS ", "*/10 * * * * *"},
		{"weekday at 02:30", "30 2 * * 1-5"},
		{"Weekends at 2:30", "30 2 * * 0,6"},
		{"1 day at 8:00", "0 8 * * *"},
		{"1 weekday", "0 0 * * 1-5"},
		{"Mon,Wed AND Fri at 8:00", "0 8 * * 1,3,5"},
		{"monday, wednesday, and friday", "0 0 * * 1,3,5"},

		// a whole of something is one of the next
		{"60 seconds", "* * * * *"},
		{"60 minutes", "0 * * * *"},
		{"24 hours", "0 0 * * *"},
		{"24 hours at :15, :45", "15,45 0 * * *"},

		// times with the same minute share an expression, others have their own
		{"day at 13:00, 19:30", "0 13 * * *; 30 19 * * *"},
		{"day at 19:30 and 13:00", "0 13 * * *; 30 19 * * *"},
		{"day at 8:00, 8:30, 9:30", "0 8 * * *; 30 8,9 * * *"},
		{"monday at 8:00, 8:00", "0 8 * * 1"},

		// days in any order, each once
		{"saturday, sunday", "0 0 * * 0,6"},
		{"weekdays and saturday at 9:00", "0 9 * * 1,2,3,4,5,6"},
		{"week on monday and friday", "0 0 * * 1,5"},
		{"month on 16th, 1st", "0 0 1,16 * *"},
		{"month on 15 and last day", "0 0 15,L * *"},
		{"month on the last day", "0 0 L * *"},
		{"month at 13:00 on 4", "0 13 4 * *"},
		{"year on June 1 at 17:00", "0 17 1 6 *"},
		{"year on 29 feb", "0 0 29 2 *"},

		// the days of a month that are named by their weekday
		{"first monday of month", "0 0 * * 1#1"},
		{"second tuesday of month at 8:00", "0 8 * * 2#2"},
		{"third sunday of the month", "0 0 * * 0#3"},
		{"fourth sat of each month", "0 0 * * 6#4"},
		{"the last Friday of every month at 17:00", "0 17 * * 5L"},
		{"last sundays of months", "0 0 * * 0L"},
		{"month on first monday at 8:00", "0 8 * * 1#1"},
		{"first and third wednesday of month", "0 0 * * 3#1,3#3"},
		{"first, second, fourth friday and last monday of month", "0 0 * * 5#1,5#2,5#4,1L"},
		{"first monday of quarter", "0 0 * 1-12/3 1#1"},
		{"first weekday of month at 6:00", "0 6 1W * *"},
		{"last weekday of month", "0 0 LW * *"},
		{"last day of month", "0 0 L * *"},
		{"first and last day of month", "0 0 1,L * *"},
		{"1, 16 of month at 13:00", "0 13 1,16 * *"},
		{"month on 15 and last weekday", "0 0 15,LW * *"},
		{"month on 1 and first monday", "0 0 1 * 1#1"}, // either is enough

		// days that are counted from one
		{"2 weeks from 2026-01-05", "2 weeks from 2026-01-05"},
		{"Every other week from 2026-01-05 at 08:00", "2 weeks from 2026-01-05 at 8:00"},
		{"14 days at 8:00 from 2026-01-05", "14 days from 2026-01-05 at 8:00"},
		{"1 week from 2026-01-05", "week from 2026-01-05"},
		{"day from 2024-02-29 at 0:00", "day from 2024-02-29"},
		{"10 days from 2026-01-05 at 19:30, 8:00 and 9:00",
			"10 days from 2026-01-05 at 8:00, 9:00; 10 days from 2026-01-05 at 19:30"},
		{"other hour", "0 */2 * * *"},
	}
	for _, tt := range tests {
		crons, err := Parse(tt.every)
		if got := (cron.When{Crons: crons}).String(); err != nil || got != tt.cron {
			t.Errorf("%q: got %q, %v, want %q", tt.every, got, err, tt.cron)
		}
	}
}

// A date that never comes is no mistake of the words, but of the expression that they stand for.
func TestParseRefusesWhatIsNeverDue(t *testing.T) {
	_, err := Parse("year on 30 february")
	if want := "can never be due: day 30 never comes in month 2"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	checkError(t, "year on 30 february", err)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"5 minutes", "odd hours at :05", "monday, wednesday and friday at 8:00, 9:30",
		"month on 1, last day at 13:00", "quarter on 4", "year on 1 June at 17:00", "7 minutes",
		"2 weeks", "week on sun",
		"2 weeks from 2026-01-05 at 8:00, 9:30", "day from 2024-02-29", "90 minutes from 2026-01-05 06:00",
		"7 hours from 2026-03-29 at 2:30", "10 days from 2026-02-30", "other week from 2026-1-5",
		"first and third monday of month", "last weekday of the month at 17:00", "first monday of quarter",
		"fifth friday of month", "second tuesday"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		crons, err := Parse(text)
		if err != nil {
			checkError(t, text, err)
			return
		}
		for _, c := range crons {
			again := []cron.Expression{{}}
			if strings.Contains(c.String(), " from ") {
				again, err = Parse(c.String())
			} else {
				again[0], err = cron.Parse(c.String(), "")
			}
			if err != nil || len(again) != 1 || again[0] != c {
				t.Fatalf("%q reads as %q, and that as %q (%v)", text, c, again, err)
			}
		}
		w, after := cron.When{Crons: crons}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		if next, ok := w.Next(after); !ok || !next.After(after) || !slices.ContainsFunc(w.Slots(next), next.Equal) {
			t.Fatalf("%v: next after %v is %v, %v", w, after, next, ok)
		}
	})
}

// checkError checks that the error about text is one for people: a *cron.Error with a text and
// without a full stop.
func checkError(t *testing.T, text string, err error) {
	t.Helper()
	var wrong *cron.Error
	if !errors.As(err, &wrong) || wrong.Text == "" {
		t.Fatalf("%T %v is not an error for people", err, err)
	}
	if strings.HasSuffix(wrong.Text, ".") ||
		!strings.Contains(text, "%") && strings.Contains(wrong.Text+wrong.Hint, "%!") {
		t.Fatalf("error %q, hint %q", wrong.Text, wrong.Hint)
	}
}
