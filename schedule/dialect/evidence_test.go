package dialect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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

// known are differences that stay, with their reasons: see docs/dialects.md.
var known = []struct{ dialect, expr, reason string }{}

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
		zones[i.Zone] = zone
	}
	for _, row := range e.Rows {
		if row.Left != "" {
			continue // it took the end for the command
		}
		_, err := d.Parse(row.Expr, time.UTC)
		if (err != nil) != (row.Refused != "") {
			t.Errorf("%q: %v, and the program %q", row.Expr, err, row.Refused)
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
			if got != want {
				wrong = append(wrong, fmt.Sprintf("after %s: %s, and the program %s", i.At.Format(time.RFC3339), got, want))
			}
		}
		if wrong != nil {
			t.Errorf("%q: %d, as %s", row.Expr, len(wrong), wrong[0])
		}
	}
}
