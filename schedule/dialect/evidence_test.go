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

// An exception has the answers of a program that our reading does not give, with the reason, which
// docs/dialects.md prints. The counts must be true, so that nothing else hides behind them.
type exception struct {
	dialect, reason string
	raised          int            // answers that are errors, or were not computed in time
	past            int            // answers that are not after the instant
	changes         int            // other answers within 36 hours of a change of the clocks
	expressions     map[string]int // and all else; 0: only one of the two refuses the expression
}

var known = []exception{
	{
		dialect: "supercronic",
		reason:  "answers in a repeated hour west of Greenwich with a time that has passed.",
		past:    165,
	},
	{
		dialect: "apscheduler",
		reason:  "knows the last day as `last` alone.",
		expressions: map[string]int{
			"0 0 * * 1-FRI": 0, "0 0 * * MON#1": 0, "0 0 * * mon#2": 0, "0 0 L * *": 0, "0 0 L * 1": 0,
			"0 0 L,15 * *": 0, "0 0 l * *": 0,
		},
	},
	{
		dialect: "laravel",
		reason: "is read as `isDue` decides, minute by minute; its next date, which " +
			"`schedule:list` shows, passes over some of these minutes in lists, and where the clocks change.",
		raised: 80, past: 52, changes: 335,
		expressions: map[string]int{
			"*,* * * * *": 9, "*/20,5 * * * *": 5, "*/5/2 * * * *": 0, "*/59 * * * *": 3, "0 0 * * 0-7/2": 2,
			"0 0 * * MON-FRI/2": 12, "0 0 * * MON/2": 0, "0 0 31W * *": 1, "0 0 L-3 * *": 0, "0 0 LW * *": 0,
			"0 0 l * *": 0, "3,1,2 * * * *": 12, "5,*/20 * * * *": 10,
		},
	},
	{
		dialect: "mcron",
		reason: "is an hour off for times on the other side of a change of the clocks, which were not " +
			"compared; numbers that are too high, fields without a value (`22-2`) and signs behind a `*`, which it takes for " +
			"odd times, are refused or never due here.",
		raised: 3809,
		expressions: map[string]int{
			"*-5 * * * *": 0, "*/0 * * * *": 0, "*/5.0 * * * *": 0, "*/5/2 * * * *": 0, "0 0 * * *-3": 0,
			"0 0 * * 1-8": 0, "0 0 * * 8": 0, "0 0 *-3 * 1": 0, "0 0 0-5 * *": 0, "0 0 1 11-2 *": 25,
			"0 0 1 13 *": 0, "0 0 1 2-12/5 *": 0, "0 0 1 NOV-FEB *": 25, "0 0 1-32 * *": 0, "0 0 25 12 *": 0,
			"0 0 31 1,3,5,7,8,10,12 *": 0, "0 0 31 12 *": 0, "0 0-24 * * *": 0, "0 22-2 * * *": 23,
			"0 24 * * *": 0, "0-60 * * * *": 0, "50-10 * * * *": 23, "59 23 31 12 *": 0, "60 * * * *": 0,
		},
	},
	{
		dialect: "systemd",
		reason:  "differs in steps and in days that count from the end, where the clocks change.",
		raised:  31, past: 79, changes: 16,
	},
	{
		dialect: "spring",
		reason: "passes over a part of the hour in which clocks change by half an hour, and `31W` over " +
			"months in which that day is on the weekend.",
		past: 2,
		expressions: map[string]int{
			"0 */30 * * * *": 2, "0 */5 * * * *": 2, "0 0 0 31W * ?": 10, "0 45 1 * * ?": 1,
			"0 5/15 * * * *": 2,
		},
	},
	{
		dialect: "spring4",
		reason:  "does the same with half an hour.",
		past:    1,
		expressions: map[string]int{
			"0 */30 * * * *": 1, "0 */5 * * * *": 1, "0 0/30 2 * * ?": 1, "0 30 2 * * *": 1, "0 30 2 * * ?": 1,
			"0 5/15 * * * *": 1, "15,45 30 2 * * *": 1,
		},
	},
	{
		dialect: "fugit",
		reason: "takes of several entries for one weekday the first, so `*,1` is Monday and `1#1,1#3` the " +
			"first one; weeks by `%`, and days that count from the end, are not read here.",
		expressions: map[string]int{
			"0 0 * * *,1": 26, "0 0 * * 1#1,1#3": 2, "0 0 * * 1%2": 0, "0 0 * * 1%2+1": 0, "0 0 * * 1,*": 26,
			"0 0 -3-L * *": 0, "0 0 0 * * *,1": 26, "0 0 1 * *,1": 20, "0 0 L,-2 * *": 0,
		},
	},
	{
		dialect: "systemd-cron",
		raised:  40,
	},
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
	var found exception
	if at := slices.IndexFunc(known, func(k exception) bool { return k.dialect == e.Dialect }); at >= 0 {
		found = known[at]
	}
	want := found
	found.past, found.raised, found.changes, found.expressions = 0, 0, 0, map[string]int{}
	for _, row := range e.Rows {
		if row.Left != "" {
			continue // it took the end for the command
		}
		_, err := d.Parse(row.Expr, time.UTC)
		if (err != nil) != (row.Refused != "") {
			found.expressions[row.Expr] = 0
			if _, ok := want.expressions[row.Expr]; !ok {
				t.Errorf("%q: %v, and the program %q", row.Expr, err, row.Refused)
			}
			continue
		}
		if err != nil {
			continue
		}
		for n, i := range e.Instants {
			r, err := d.Parse(row.Expr, zones[i.Zone])
			if err != nil {
				t.Fatal(err)
			}
			wrong := found.count(row.Expr, i.At, r, row.Next[n], want.changes > 0)
			if _, ok := want.expressions[row.Expr]; wrong != "" && !ok {
				t.Errorf("%q after %s: %s", row.Expr, i.At.In(r.Location).Format(time.RFC3339), wrong)
			}
		}
	}
	if fmt.Sprint(found) != fmt.Sprint(want) { // an empty map is as good as none
		t.Errorf("counted %+v, and known is %+v", found, want)
	}
}

// count compares one answer, in seconds after at, with a reading. It counts what differs, and
// returns differences that are not counted in past, raised or changes.
func (x *exception) count(expr string, at time.Time, r *dialect.Reading, seconds int, counts bool) (wrong string) {
	got, want := "never", "never"
	if next, ok := r.Next(at); ok {
		got = next.Format(time.RFC3339)
	}
	switch {
	case seconds == -2:
		x.raised++
		return ""
	case seconds != -1 && seconds <= 0:
		x.past++
		return ""
	case seconds != -1:
		want = at.Add(time.Duration(seconds) * time.Second).In(r.Location).Format(time.RFC3339)
	}
	switch {
	case got == want:
		return ""
	case counts && changesAround(at.In(r.Location)):
		x.changes++
		return ""
	}
	x.expressions[expr]++
	return got + ", and the program " + want
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
