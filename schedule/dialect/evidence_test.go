package dialect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/dialect"
)

// An evidence file holds what a real program answered: findings/dialects asked it.
type evidence struct {
	Dialect, Program, Version string
	Instants                  []struct {
		Zone string
		At   time.Time
	}
	Rows []struct {
		Expr    string
		Refused string
		Left    string // what it took for the command
		Next    []int  // seconds after the instants; -1 for never, -2 for an error
	}
}

// known are the differences that stay, with their reasons, which docs/dialects.md lists: of some
// expressions, with blanks around each; or of all, if the clocks change within a day.
var known = []struct{ dialect, reason, expressions string }{
	{"supercronic", "answers in a repeated hour west of Greenwich with a time that has passed.", ""},
	{
		"apscheduler", "adds times of the wall clock as if they had elapsed, so it passes over runs when the clocks " +
			"change, as midnight after the change; `L` is refused, and `last` is its word for it.",
		"changes\n0 0 L * *\n0 0 l * *\n0 0 L * 1\n0 0 L,15 * *\n0 0 * * MON#1\n0 0 * * mon#2\n0 0 * * 1-FRI",
	},
	{
		"laravel", "is read as `isDue` decides, minute by minute; its next date, which `schedule:list` shows, passes over " +
			"some of these minutes in lists, and where the clocks change.",
		"changes\n*/59 * * * *\n*/5/2 * * * *\n*,* * * * *\n0 0 * * 0-7/2\n3,1,2 * * * *\n*/20,5 * * * *\n5,*/20 * * * *\n" +
			"0 0 * * SUN-0\n0 0 * * MON-FRI/2\n0 0 * * MON/2\n0 0 l * *\n0 0 L-3 * *\n0 0 LW * *\n0 0 31W * *",
	},
	{
		"mcron", "is an hour off for times on the other side of a change of the clocks; numbers that are too high, fields " +
			"without a value (`22-2`) and signs behind a `*`, which it takes for odd times, are refused or never due here.",
		"changes\n*-5 * * * *\n0 0 31 12 *\n59 23 31 12 *\n0 0 31 1,3,5,7,8,10,12 *\n0 0 25 12 *\n" +
			"*/0 * * * *\n*/5.0 * * * *\n*/5/2 * * * *\n0 0 1 2-12/5 *\n50-10 * * * *\n0 22-2 * * *\n" +
			"0 0 1 11-2 *\n60 * * * *\n0-60 * * * *\n0 24 * * *\n0 0-24 * * *\n0 0 0-5 * *\n0 0 1-32 * *\n" +
			"0 0 1 13 *\n0 0 * * 8\n0 0 * * 1-8\n0 0 1 NOV-FEB *\n0 0 *-3 * 1\n0 0 * * *-3",
	},
	{"systemd", "differs in steps and in days that count from the end, where the clocks change.", "changes"},
	{
		"spring", "passes over a part of the hour in which clocks change by half an hour, and `31W` over months in " +
			"which that day is on the weekend.",
		"0 */5 * * * *\n0 */30 * * * *\n0 5/15 * * * *\n0 0 0 31W * ?\n0 45 1 * * ?",
	},
	{
		"spring4", "does the same with half an hour.",
		"0 */5 * * * *\n0 30 2 * * *\n0 */30 * * * *\n15,45 30 2 * * *\n0 5/15 * * * *\n0 0/30 2 * * ?\n0 30 2 * * ?",
	},
	{
		"fugit", "takes of several entries for one weekday the first, so `*,1` is Monday and `1#1,1#3` the first one; " +
			"weeks by `%`, and days that count from the end, are not read here.",
		"0 0 * * 1,*\n0 0 * * *,1\n0 0 1 * *,1\n0 0 * * 1#1,1#3\n0 0 0 * * *,1\n0 0 * * 1%2\n0 0 * * 1%2+1\n0 0 L,-2 * *\n0 0 -3-L * *",
	},
}

// isKnown reports whether a difference stays. near says whether the clocks change within a day.
func isKnown(dialect, expr string, near bool) bool {
	for _, k := range known {
		lines := strings.Split(k.expressions, "\n")
		if k.dialect == dialect && (slices.Contains(lines, expr) || near && slices.Contains(lines, "changes")) {
			return true
		}
	}
	return false
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/evidence/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var e evidence
			if err := json.Unmarshal(data, &e); err != nil {
				t.Fatal(err)
			}
			e.compare(t)
		})
	}
}

func (e *evidence) compare(t *testing.T) {
	d, ok := dialect.Find(e.Dialect)
	if !ok {
		t.Fatalf("there is no dialect %s", e.Dialect)
	}
	zones := map[string]*time.Location{}
	for _, i := range e.Instants {
		zone, err := time.LoadLocation(i.Zone)
		if err != nil {
			t.Fatal(err)
		}
		if zones[i.Zone] = zone; e.askedInUTC() {
			zones[i.Zone] = time.UTC
		}
	}
	for _, row := range e.Rows {
		if row.Left != "" {
			continue // it took the end for the command
		}
		_, err := d.Parse(row.Expr, time.UTC)
		if (err != nil) != (row.Refused != "") {
			if !isKnown(e.Dialect, row.Expr, false) {
				t.Errorf("%q: %v, and the program %q", row.Expr, err, row.Refused)
			}
			continue
		}
		if err != nil {
			continue
		}
		var wrong []string
		for n, i := range e.Instants {
			r, err := d.Parse(row.Expr, zones[i.Zone])
			if err != nil {
				t.Fatal(err)
			}
			got := "never"
			if next, ok := r.Next(i.At); ok {
				got = next.Format(time.RFC3339)
			}
			want := "never"
			switch seconds := row.Next[n]; {
			case seconds == -2, seconds != -1 && seconds <= 0: // an error, or a time that has passed
				continue
			case seconds != -1:
				want = i.At.Add(time.Duration(seconds) * time.Second).In(r.Location).Format(time.RFC3339)
			}
			if got != want && !isKnown(e.Dialect, row.Expr, changesAround(i.At.In(r.Location))) {
				wrong = append(wrong, fmt.Sprintf("after %s: %s, and the program %s", i.At.Format(time.RFC3339), got, want))
			}
		}
		if wrong != nil {
			t.Errorf("%q: %d, as %s", row.Expr, len(wrong), wrong[0])
		}
	}
}

// askedInUTC reports whether the program took the zone of its machine, which was UTC: noon was noon
// there.
func (e *evidence) askedInUTC() bool {
	for _, row := range e.Rows {
		for n, i := range e.Instants {
			if row.Expr == "0 12 * * *" && row.Refused == "" && i.Zone == "Europe/Berlin" {
				return i.At.Add(time.Duration(row.Next[n])*time.Second).UTC().Hour() == 12
			}
		}
	}
	return false
}

// changesAround reports whether the clocks change within 36 hours.
func changesAround(at time.Time) bool {
	_, before := at.Add(-36 * time.Hour).Zone()
	_, after := at.Add(36 * time.Hour).Zone()
	_, now := at.Zone()
	return before != now || now != after
}
