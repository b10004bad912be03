package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/testing/controltest"
)

// A day of a task that is due every minute is a few bars. Its page does not grow with the runs, and
// one failure among them is seen.
func TestWhatIsDueEveryMinuteIsAFewBars(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: often, every: minute, command: \"true\"}\n  - {name: seldom, every: 4 hours, command: \"true\"}\n", serve.ScopeRead)
	var all []state.Row
	for ago := 1; ago < 700; ago++ {
		o := outcome.Succeeded
		switch {
		case ago == 240:
			o = outcome.Failed
		case ago%7 == 0:
			o = outcome.Skipped
		case ago > 300 && ago < 360:
			continue
		}
		r := b.Ended("often", ago, o, "")
		switch r.Ended = r.Started.Add(time.Second); o {
		case outcome.Skipped:
			r.Started, r.Ended = time.Time{}, r.Slot
		case outcome.Failed:
			r.Ended = r.Started.Add(30 * time.Minute) // many slots came meanwhile: they are no part of its list
		}
		all = append(all, r)
	}
	all = append(all, b.Ended("seldom", 240, outcome.Succeeded, ""))
	b.Remember(all...)
	page := b.get("/timeline", 200)
	failed := all[slices.IndexFunc(all, func(r state.Row) bool { return r.Outcome == outcome.Failed })]
	b.has("/timeline", page,
		"1 failed", "skipped", fmt.Sprintf(`href="/runs?outcome=failed&amp;task=often&amp;below=%d."`, failed.Slot.Add(time.Minute).UnixMicro()), `class="bad"`,
		fmt.Sprintf(`href="/runs?outcome=skipped&amp;task=often&amp;below=%d."`, controltest.Noon.Add(24*time.Hour/5).UnixMicro()), // the end of the drawing
		`<path class="skip"`, "due again and again", "the last 1: 1 succeeded", `class="now"`)
	if len(page) > 20<<10 {
		t.Errorf("%d bytes", len(page))
	}
	list := b.get(fmt.Sprintf("/runs?task=often&below=%d.", failed.Slot.Add(time.Minute).UnixMicro()), 200)
	if first := strings.Index(list, "/runs/"+failed.ID); first < 0 || strings.Contains(list[:first], all[0].ID) {
		t.Error("the list does not begin with the failure")
	}
	b.has("of a time without runs", b.get("/timeline?hours=6&at="+controltest.Noon.AddDate(0, -1,
		0).Format(time.RFC3339), 200), "no runs yet", "not <path")
	b.has("of a week", b.get("/timeline?hours=168", 200), "1 failed")
}

// Outcomes that look the same come in any order, several in an hour. Each of their stretches is
// drawn, and close stretches are drawn as one.
func TestOutcomesThatLookTheSameAreAllDrawn(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: often, every: minute, command: \"true\"}\n", serve.ScopeRead)
	var all []state.Row
	as := map[int]outcome.Outcome{190: outcome.Failed, 235: outcome.TimedOut, 191: outcome.Lost, 300: outcome.Stopped}
	for ago := 1; ago < 700; ago++ {
		all = append(all, b.Ended("often", ago, cmp.Or(as[ago], outcome.Succeeded), ""))
	}
	b.Remember(all...)
	page := b.get("/timeline", 200)
	if n := strings.Count(page, `<rect class="bad" x=`) - 1; n != 3 { // one is in the legend
		t.Errorf("%d bars, want 3 in\n%s", n, page)
	}
	b.has("/timeline", page, "(from 2026-03-01 08:05", "(from 2026-03-01 08:49")
}

// If the runs of an hour took more than an hour together, they have overlapped: their bar is
// outlined like bars of single runs.
func TestHoursInWhichRunsOverlapAreOutlined(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks:\n  - {name: often, every: minute, command: \"true\"}\n", serve.ScopeRead)
	var all []state.Row
	for ago := range 400 {
		r := b.Ended("often", ago+1, outcome.Succeeded, "")
		if r.Ended = r.Started.Add(time.Second); ago/60 == 3 {
			r.Ended = r.Started.Add(2 * time.Minute)
		}
		all = append(all, r)
	}
	b.Remember(all...)
	b.has("/timeline", b.get("/timeline", 200), `class="good over"`, `class="good"`)
}

// Runs one after the other do not overlap, even if the last one goes on after the hour. The text
// counts records that are drawn beside the hours, too.
func TestWhatIsToldOfHours(t *testing.T) {
	line := &timeline{page: &page{}, from: controltest.Noon.Add(-12 * time.Hour),
		to: controltest.Noon.Add(12 * time.Hour)}
	hour := past.Hour{Outcome: outcome.Succeeded, Begin: controltest.Noon.Add(-2 * time.Hour), Minutes: 1 | 1<<30,
		Runs: 2, Took: 75 * time.Minute}
	all := line.hourPieces([]past.Hour{hour})
	if slices.ContainsFunc(all, func(p piece) bool { return p.class == "good over" }) {
		t.Error("runs that did not overlap are outlined")
	}
	missed := state.Row{Result: state.Result{Outcome: outcome.Missed}, Slot: controltest.Noon.Add(-14 * time.Hour),
		LastSlot: controltest.Noon.Add(-11 * time.Hour), Slots: 5}
	before := missed
	before.LastSlot = missed.Slot.Add(time.Hour)
	if got, want := sumOf(append(all, line.recordPieces([]state.Row{missed, before})...)).String(),
		"2 succeeded, 5 missed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
