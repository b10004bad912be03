package cron

import (
	"strings"
	"testing"
	"time"
)

// The rows are all that the Open Cron Pattern Specification publishes as test vectors, versions 1.0
// to 1.4: data/conformance-tests.json of github.com/open-source-cron/ocps, as of commit 012d92f.
// Patterns and times are theirs. ours says where sched differs on purpose, and why.
var ocps = []struct{ pattern, matches, misses, ours string }{
	// 1.0
	{"15 10 * * *", "2025-03-10 10:15", "2025-03-10 10:14", ""},
	{"30 8 * jan Mon", "2025-01-06 08:30", "2025-02-03 08:30", ""},
	{"5-59/15 9 * * *", "2025-03-10 09:05,2025-03-10 09:20,2025-03-10 09:35,2025-03-10 09:50", "2025-03-10 09:15", ""},
	{"0 12 1 * MON", "2025-10-01 12:00,2025-10-06 12:00", "2025-10-07 12:00", ""},
	{"0 12 * * MON", "2025-10-06 12:00", "2025-10-07 12:00", ""},
	{"0 12 1-31 * MON", "2025-10-06 12:00,2025-10-07 12:00", "2025-10-08 11:00", ""},
	{"60 0 * * *", "reject", "", ""},
	{"0 0 10-5 * *", "reject", "", ""},
	{"0 0 /30 * *", "reject", "", ""},
	{"* * 31 2 *", "accept", "", "refused: a task that is never due is a mistake"},
	// 1.1
	{"@yearly", "2026-01-01 00:00", "2026-01-02 00:00", ""},
	{"@monthly", "2026-02-01 00:00", "2026-02-02 00:00", ""},
	{"@weekly", "2025-10-05 00:00", "2025-10-06 00:00", ""},
	{"@daily", "2025-10-07 00:00", "2025-10-07 00:01", ""},
	{"@hourly", "2025-10-07 10:00", "2025-10-07 10:01", ""},
	{"@daily", "= 0 0 * * *", "", ""},
	{"@Daily", "reject", "", "accepted: names have any case"},
	{"@daily 0 0 * * *", "reject", "", ""},
	{"@reboot", "reject", "", ""}, // may be refused with a clear error; the key cron takes it
	// 1.2
	{"15 10 * * *", "2025-03-10 10:15:00", "2025-03-10 10:15:30", ""},
	{"30 15 10 * * *", "2025-03-10 10:15:30", "2025-03-10 10:15:29", ""},
	{"0 15 10 * * * 2025", "2025-03-10 10:15:00", "2026-03-10 10:15:00", "refused: from and until bound the years"},
	{"0 0 0 1 1 * 1970-2199/2", "2026-01-01 00:00:00", "2025-01-01 00:00:00", "refused: from and until bound the years"},
	{"15 10 * * *", "accept", "", ""},
	{"30 15 10 * * *", "accept", "", ""},
	{"0 15 10 * * * 2025", "accept", "", "refused: from and until bound the years"},
	{"0 0 0 1 1 * 1969", "reject", "", ""}, // not portable
	// 1.3
	{"0 0 L * *", "2025-02-28 00:00", "2025-02-27 00:00", ""},
	{"0 0 * * FRI#L", "2025-02-28 00:00", "2025-02-21 00:00", ""},
	{"0 0 * * TUE#3", "2025-06-17 00:00", "2025-06-10 00:00", ""},
	{"0 12 15W * *", "2025-06-16 12:00", "2025-06-15 12:00", ""},
	{"0 12 1W * *", "2025-02-03 12:00", "2025-02-01 12:00", ""},
	{"0 12 1-15W * *", "reject", "", ""},
	// 1.4
	{"0 12 1 * MON", "2025-09-01 12:00,2025-09-08 12:00,2025-10-01 12:00", "2025-10-07 12:00", ""},
	{"0 12 1 * +MON", "2025-09-01 12:00", "2025-09-08 12:00,2025-10-01 12:00", ""},
	{"0 12 +1 * MON", "reject", "", ""},
	{"? 12 * * *", "reject", "", ""},
	// Examples of the text of 1.3, and the days before the last.
	{"0 0 * * 5L", "2025-02-28 00:00", "2025-02-21 00:00", ""},
	{"0 0 * * 5#L", "2025-02-28 00:00", "2025-02-21 00:00", ""},
	{"0 0 * * MON#1", "2025-06-02 00:00", "2025-06-09 00:00", ""},
	{"0 0 L-3 * *", "2025-02-25 00:00,2025-03-28 00:00,2024-02-26 00:00", "2025-02-28 00:00", ""},
	{"0 0 L-3,L-30,1 * *", "2025-02-25 00:00,2025-03-01 00:00", "2025-02-27 00:00", ""},
}

func TestTheRowsOfTheOpenCronPatternSpecification(t *testing.T) {
	for _, row := range ocps {
		c, err := Parse(row.pattern, "")
		same, isSame := strings.CutPrefix(row.matches, "= ")
		differs := ""
		switch {
		case row.matches == "reject":
			if err == nil {
				differs = "accepted"
			}
		case err != nil:
			differs = "refused"
		case isSame:
			if other, _ := Parse(same, ""); other != c {
				differs = "another"
			}
		case row.matches != "accept":
			for text := range strings.SplitSeq(row.matches+",-,"+row.misses, ",") {
				differs = strings.TrimSpace(differs + " " + wrongly(c, text, row.misses))
			}
		}
		if said, _, _ := strings.Cut(row.ours, ":"); differs != said {
			t.Errorf("%s: %q, want %q: %v", row.pattern, differs, said, err)
		}
	}
}

// wrongly returns the time if the expression is due then and must not be, or the other way round.
func wrongly(c Expression, text, misses string) string {
	if text == "-" {
		return ""
	}
	at, err := time.Parse("2006-01-02 15:04:05", (text + ":00")[:19])
	if err != nil {
		return err.Error()
	}
	isDue := When{Crons: []Expression{c}}.Count(at, at.Add(time.Second)) > 0
	if isDue == strings.Contains(misses, text) {
		return text
	}
	return ""
}
