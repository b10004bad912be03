package web

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
)

// activityOf returns the strip of the overview.
func (b *box) activity() string {
	b.Helper()
	_, strip, _ := strings.Cut(b.get("/", 200), `class="activity"`)
	strip, _, ok := strings.Cut(strip, "</section>")
	if !ok {
		b.Fatal("there is no strip")
	}
	return strip
}

// The strip of 24 hours has a mark for each run, numbers and hours at its axes, and words at each
// mark. Failures are upon them, to the same scale.
func TestTheLast24HoursAreAStrip(t *testing.T) {
	b := nightBox(t)
	strip := b.activity()
	b.has("the strip", strip, "741 succeeded, 4 failed, 1 timed out, 2 missed, 1 running", "<span>10 runs</span><span>0</span>",
		">15:00</text>", ">Sun 1 Mar</text>", "<title>11:30 UTC to 11:40: 1 failed (invoices)</title>",
		"<title>2026-02-28 23:00 UTC to 23:10: 1 timed out (mirror/assets)</title>",
		"<title>07:00 UTC to 07:10: 1 slot missed (mirror/assets)</title>",
		`<a href="/runs/`+failedID+`"`, "stock-take: running for 1 h 0 m", "4 runs succeeded</title>")
	runs := 0
	for _, path := range regexp.MustCompile(`<path class="good" d="([^"]*)"`).FindAllStringSubmatch(strip, -1) {
		runs += strings.Count(path[1], "M")
	}
	if runs != 741 {
		t.Errorf("%d runs are drawn", runs)
	}
	b.has("a failure", strip, `<rect class="bad"`, `height="6.0"`)
	if strings.LastIndex(strip, `class="cover"`) > strings.Index(strip, `class="bad"`) {
		t.Error("a failure is behind a success")
	}
}

// A glance at the strip says how many runs of ten minutes failed: they stand upon those that
// succeeded, to the scale of the axis, and one among hundreds can be seen.
func TestFailuresAreDrawnToScale(t *testing.T) {
	for _, tt := range []struct {
		succeeded, failed   int
		axis, mark, because string
	}{
		{6, 2, "<span>10 runs</span>", `y="24.0" height="12.0"`, "6 and 2 of 10"},
		{0, 2, "<span>5 runs</span>", `y="48.0" height="24.0"`, "2 of 5"},
		{499, 1, "<span>500 runs</span>", `y="12.0" height="3.0"`, "the least mark, at the top"},
	} {
		b := newBox(t, shop, serve.ScopeRead)
		var rows []state.Row
		for n := range tt.succeeded + tt.failed {
			became := outcome.Succeeded
			if n >= tt.succeeded {
				became = outcome.Failed
			}
			r := b.Ended("hourly", 60, became, "")
			r.Slot = r.Slot.Add(time.Duration(n) * time.Millisecond)
			rows = append(rows, r)
		}
		b.Remember(rows...)
		strip := b.activity()
		mark := regexp.MustCompile(`<rect class="bad"[^>]*>`).FindString(strip)
		if !strings.Contains(strip, tt.axis) || !strings.Contains(mark, tt.mark) {
			t.Errorf("%s: want %s, and %s in %s", tt.because, tt.axis, tt.mark, mark)
		}
	}
}

// Thousands of runs are a picture of bounded size. A task that fails each minute is one stretch of
// marks with one sign.
func TestTheStripOfThousandsOfRunsStaysSmall(t *testing.T) {
	b := newBox(t, "timezone: UTC\ntasks: [{name: a, every: minute, command: \"true\"}, {name: b, every: minute, command: \"true\"}]\n",
		serve.ScopeRead)
	var rows []state.Row
	for ago := range 24 * 60 {
		for n := range 3 {
			r := b.Ended("a", ago, outcome.Succeeded, "")
			r.Slot = r.Slot.Add(-time.Duration(n) * time.Second)
			rows = append(rows, r)
		}
		rows = append(rows, b.Ended("b", ago, outcome.Failed, ""))
	}
	b.Remember(rows...)
	strip := b.activity()
	b.has("the strip", strip, "4291 succeeded, 1431 failed", "<span>50 runs</span>", "10 failed (b)", `height="12.0"`)
	if n := strings.Count(strip, "✕"); n != 1 {
		t.Errorf("there are %d signs", n)
	}
	if len(strip) > 100<<10 {
		t.Errorf("it has %d KiB", len(strip)>>10)
	}
}

// A night in which nothing ran says so, and a night in which nothing ticked has one mark for all
// missed slots that follow each other.
func TestAStripOfAQuietNight(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	b.has("nothing", b.activity(), "nothing ran", "not <rect", "not legend")
	gap := b.Ended("hourly", 600, outcome.Missed, "")
	gap.LastSlot, gap.Slots = gap.Slot.Add(3*time.Hour), 4
	b.Remember(gap)
	strip := b.activity()
	b.has("a gap", strip, "02:00 UTC to 05:10: 4 slots missed (hourly)", "4 missed")
	if n := strings.Count(strip, `"-1"><rect class="miss"`); n != 1 {
		t.Errorf("%d marks: %s", n, strip)
	}
}

func TestTheAxisOfAChartEndsAtARoundNumber(t *testing.T) {
	for longest, want := range map[time.Duration]string{
		3 * time.Millisecond: "4 ms", 150 * time.Millisecond: "200 ms", 900 * time.Millisecond: "2 s",
		2 * time.Second: "2 s", 45 * time.Second: "1 m", 61 * time.Second: "2 m", 25 * time.Minute: "30 m",
		50 * time.Minute: "1 h", 61 * time.Minute: "2 h", 30 * time.Hour: "32 h",
	} {
		top := axisTop(longest)
		if got := axisText(top); got != want || top < longest {
			t.Errorf("%v: %s, want %s", longest, got, want)
		}
	}
	for n, want := range map[int]int{0: 1, 1: 1, 3: 5, 6: 10, 11: 20, 21: 50, 400: 500, 1001: 2000} {
		if got := roundUp(n); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}
