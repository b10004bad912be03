package dialect_test

import (
	"strings"
	"testing"
	"time"

	"sched/schedule/dialect"
)

// nextOf returns the next n times of an expression, in its zone; or "refused: …".
func nextOf(t *testing.T, name, expr, zone, from string, n int) string {
	t.Helper()
	d, ok := dialect.Find(name)
	if !ok {
		t.Fatal(name)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Parse(expr, location)
	if err != nil {
		return "refused: " + err.Error()
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", from, location)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for range n {
		var ok bool
		if at, ok = r.Next(at); !ok {
			words = append(words, "never")
			break
		}
		words = append(words, at.Format("01-02 15:04"))
	}
	return strings.Join(words, ", ")
}

func TestFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, expr, zone, from, want string }{
		{"vixie", "0 0 */2 * 1", "UTC", "2026-11-28 00:00", "12-07 00:00, 12-21 00:00"},
		{"robfig", "0 0 */2 * 1", "UTC", "2026-11-28 00:00", "11-29 00:00, 11-30 00:00"},
		{"supercronic", "0 0 */2 * 1", "UTC", "2026-11-28 00:00", "11-29 00:00, 11-30 00:00"},
		{"vixie", "0 0 */2,6 * 5", "UTC", "2026-11-28 00:00", "12-11 00:00, 12-25 00:00"},
		{"quartz", "0 0 0 ? * 1", "UTC", "2026-11-28 00:00", "11-29 00:00, 12-06 00:00"},
		{"quartz", "0 0 0 ? * 6L", "UTC", "2026-11-28 00:00", "12-25 00:00, 01-29 00:00"},
		{"quartz", "0 0 0 ? * 2#1", "UTC", "2026-11-28 00:00", "12-07 00:00, 01-04 00:00"},
		{"supercronic", "0 0 * * 5-7", "UTC", "2026-11-28 00:00", "refused: weekday 5-7 runs backwards"},
		{"robfig", "30 2 * * *", "Europe/Berlin", "2027-03-27 12:00", "03-29 02:30, 03-30 02:30"},
		{"vixie", "30 2 * * *", "Europe/Berlin", "2027-03-27 12:00", "03-28 03:00, 03-29 02:30"},
		{"supercronic", "30 2 * * *", "Europe/Berlin", "2027-03-27 12:00", "03-28 03:30, 03-29 02:30"},
	} {
		if got := nextOf(t, c.name, c.expr, c.zone, c.from, 2); got != c.want {
			t.Errorf("%s, %q: %s, not %s", c.name, c.expr, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, expr, want string }{
		{"robfig", "0 0 */2 * 1", `cron: "0 0 1-31/2 * MON"`},
		{"robfig", "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI", `cron: "0 9 * * MON-FRI", timezone: Europe/Berlin`},
		{"robfig", "@every 90m", `every: 90 minutes from 2026-01-01 00:00`},
		{"quartz", "0 0 0 ? * 1", `cron: "0 0 * * SUN"`},
		{"quartz", "0 0 12 ? * 6L 2027-2028", `cron: "0 12 * * FRIL", from: 2027-01-01, until: 2029-01-01`},
		{"vixie", "@daily", `cron: "0 0 * * *"`},
		{"vixie", "0 0 */2 * 1", `cron: "0 0 */2 * 1"`},
	} {
		d, _ := dialect.Find(c.name)
		r, err := d.Parse(c.expr, time.UTC)
		if err != nil {
			t.Errorf("%s, %q: %v", c.name, c.expr, err)
			continue
		}
		line, err := r.Line()
		if err != nil || line.String() != c.want {
			t.Errorf("%s, %q: %s, %v", c.name, c.expr, line, err)
		}
	}
}
