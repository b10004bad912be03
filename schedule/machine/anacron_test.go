package machine

import (
	"testing"
	"time"
)

// Debian's anacron 2.3-36 was started on each day after the last run, until it ran the job.
func TestWhenAnacronRunsANamedPeriodAgain(t *testing.T) {
	now := func(after time.Time) time.Time { return after.Add(time.Second) }
	for _, row := range []struct{ last, monthly, yearly string }{
		{"2026-01-10", "2026-02-07", "2027-01-10"},
		{"2026-01-31", "2026-02-28", "2027-01-31"},
		{"2026-02-10", "2026-03-10", "2027-02-10"},
		{"2026-02-28", "2026-03-28", "2027-02-28"},
		{"2026-03-31", "2026-04-30", "2027-03-31"},
		{"2026-04-15", "2026-05-15", "2027-04-15"},
		{"2026-05-01", "2026-05-31", "2027-05-01"},
		{"2026-07-31", "2026-08-31", "2027-07-31"},
		{"2027-12-31", "2028-01-31", "2028-12-30"},
		{"2028-01-31", "2028-02-29", "2029-01-30"},
	} {
		last, err := time.Parse(time.DateOnly, row.last)
		if err != nil {
			t.Fatal(err)
		}
		for period, want := range map[int]string{Monthly: row.monthly, Yearly: row.yearly} {
			got := nextOfAnacron(AnacronLine{Days: period, Last: last}, now, last).Format(time.DateOnly)
			if got != want {
				t.Errorf("after %s it runs at %s, not at %s", row.last, got, want)
			}
		}
	}
}
