package forecast_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sched/schedule/forecast"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/view"
	"sched/testing/controltest"
)

const week = 7 * 24 * time.Hour

func source(t *testing.T, f *controltest.Folder) view.Source {
	t.Helper()
	s, _, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(f.State(), 0o700); err != nil {
		t.Fatal(err)
	}
	v := f.View(s)
	v.Problem = t.Logf
	return v
}

// A report is made again if one of its inputs has changed, and not otherwise.
func TestACacheKeepsAReportUntilSomethingChanges(t *testing.T) {
	f := controltest.NewFolder(t, "timezone: UTC\ntasks:\n- {name: a, every: hour, command: \"true\"}\n")
	c, at := &forecast.Cache{}, controltest.Now()
	from := at.Truncate(time.Hour)
	src := source(t, f)
	src.Now = func() time.Time { return at }
	get := func() forecast.Report {
		t.Helper()
		r, err := c.Report(t.Context(), src, from, week)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	last := get()
	again := func(what string, want bool) {
		t.Helper()
		r := get()
		if made := r.Sums != last.Sums; made != want {
			t.Errorf("%s: made again: %v, want %v", what, made, want)
		}
		last = r
	}
	again("nothing has changed", false)
	f.Remember(f.Ended("a", 60, outcome.Succeeded, ""))
	again("a run has ended in this hour", false)
	at = at.Add(time.Hour)
	again("an hour later", true)
	if d := last.Loads["a"]; d.Runs != 1 {
		t.Errorf("an hour later: %+v", d)
	}
	if err := src.Controls.Pause(func(pause.Pauses) pause.Pauses {
		return pause.Pauses{"a": {{Version: 1, By: "ada", Since: at}}}
	}); err != nil {
		t.Fatal(err)
	}
	again("a pause", true)
	src.Schedule.Machine.Labels = []string{"role=db"}
	again("labels of the machine, which are in no file of the schedule", true)
	src.Schedule.Environment = "staging"
	again("the environment, which may be in a variable", true)
	again("nothing", false)
	f.Write("schedule.yaml", strings.Replace("timezone: UTC\ntasks:\n- {name: a, every: hour, command: \"true\"}\n",
		"hour", "day", 1))
	now := src.Now
	src = source(t, f)
	src.Now = now
	again("an edit", true)
	if last.Starts != 7 {
		t.Errorf("%d starts", last.Starts)
	}
}

// If the file of a run cannot be read, that says nothing of durations, so the report is kept. A
// report without a history is made again.
func TestACacheKeepsNoReportWithoutAHistory(t *testing.T) {
	f := controltest.NewFolder(t, "timezone: UTC\ntasks:\n- {name: a, every: hour, command: \"true\"}\n")
	c, src := &forecast.Cache{}, source(t, f)
	told := ""
	src.Problem = func(format string, args ...any) { told = fmt.Sprintf(format, args...) }
	kept := func() bool {
		t.Helper()
		first, err := c.Report(t.Context(), src, controltest.Now(), week)
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.Report(t.Context(), src, controltest.Now(), week)
		if err != nil {
			t.Fatal(err)
		}
		return first.Sums == second.Sums
	}
	history := f.Path(".sched/sched.db")
	if err := os.WriteFile(history, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept() || !strings.Contains(told, "history") {
		t.Errorf("without a history the report is kept; told %q", told)
	}
}

// A simulation that nobody waits for ends, and the next one begins.
func TestACacheMakesNoReportForNobody(t *testing.T) {
	var text strings.Builder
	text.WriteString("timezone: UTC\ntasks:\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "- {name: task-%d, every: minute, command: \"true\", background: true}\n", i)
	}
	f := controltest.NewFolder(t, text.String())
	c, src := &forecast.Cache{}, source(t, f)
	ctx, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer leave()
	begun := time.Now()
	// 134 million slots
	if _, err := c.Report(ctx, src, controltest.Now(), forecast.MaxSpan); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("the simulation went on for %s", took)
	}
	if _, err := c.Report(t.Context(), src, controltest.Now(), 2*time.Minute); err != nil {
		t.Error(err)
	}
}

// Instants are counted in nanoseconds. Times beyond their range were once foreseen as other times.
func TestASpanThatCannotBeForeseen(t *testing.T) {
	for _, tt := range []struct {
		from string
		span time.Duration
		want string // "": it can
	}{
		{"2026-03-01T00:00:00Z", week, ""},
		{"1970-01-01T00:00:00Z", time.Minute, ""},
		{"2261-12-31T00:00:00Z", forecast.MaxSpan, ""},
		{"2262-01-01T00:00:00Z", week, "the year 2262 cannot be foreseen"},
		{"1969-12-31T00:00:00Z", week, "the year 1969 cannot be foreseen"},
		{"2026-03-01T00:00:00Z", 59 * time.Second, "59.0 s is too short"},
		{"2026-03-01T00:00:00Z", -week, "too short"},
		{"2026-03-01T00:00:00Z", forecast.MaxSpan + time.Second, "31 d 0 h is too long"},
	} {
		from, _ := time.Parse(time.RFC3339, tt.from)
		err := forecast.CheckSpan(from, tt.span)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s for %v: %v, want %q", tt.from, tt.span, err, tt.want)
		}
	}
}
