package web

import (
	"math"
	"testing"

	"sched/schedule/judge"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/testing/chromium"
)

const reporting = `
name: shop
timezone: UTC
tasks:
  - name: import
    every: hour
    command: ./import
    report:
      rows: {at_least: 1000, warn_above: 20000, at_most: 900000, usual: 50%}
      size: {unit: bytes, at_least: 1MiB}
      change: {}
`

// reportingBox has a task with the values of 40 runs: the newest but one failed, and the newest has
// a warning.
func reportingBox(t *testing.T) (b *box, newest string) {
	b = newBox(t, reporting, serve.ScopeRead)
	b.ticked()
	for i := 40; i > 0; i-- {
		r := b.Ended("import", 60*i, outcome.Succeeded, "")
		n := float64(i)
		r.Values = map[string]float64{"rows": 12000 + 300*math.Mod(n*7, 11), "size": (3 + n/40) * (1 << 20), "change": 6 - math.Mod(n, 9)}
		switch i {
		case 2:
			r.Values, r.Outcome, r.Kind, r.Reason = map[string]float64{"rows": 0}, outcome.Failed, outcome.Reported,
				"rows is 0, at least 1000 was asked for; size was not reported"
		case 1:
			r.Values["rows"], r.Kind, r.Reason = 25000, outcome.Warning, "rows is 25000, above 20000"
		}
		b.Remember(r)
		newest = r.ID
	}
	return b, newest
}

func TestThePageOfATaskDrawsWhatItReports(t *testing.T) {
	b, newest := reportingBox(t)
	b.has("task", b.get("/tasks/import", 200), "What it reports", "<h3>rows</h3>", "<h3>size</h3>", "<h3>change</h3>",
		"The last is 25000; they go from 0 to 25000", "at least 1000<", "a warning above 20000<", "at most 900000 (outside)<",
		"usual from 6750<", "usual up to 20250<", "at least 1 MiB<", `<line class="bound"`, `<line class="usual"`,
		"rows 25000, ", `<span>40000</span><span>20000</span><span>0</span>`, `<span>6</span>`, `<span>-2</span>`, "not NaN")
	b.has("run", b.get("/runs/"+newest, 200), "<dt>rows</dt><dd>25000</dd>", "<dt>size</dt><dd>3 MiB</dd>")
	b.has("overview", b.get("/", 200), "Unusual since", "once, the last", "(rows is 25000, above 20000)",
		`not class="well"`)
	b.has("api", b.get("/api/v1/runs?limit=1", 200), `"rows": 25000`)
	page := b.get("/metrics", 200)
	b.has("metrics", page, `sched_task_value{schedule="shop",task="import",value="rows"} 25000`,
		`sched_task_last_run_warning{schedule="shop",task="import"} 1`)
}

func TestTheAxisOfAValueEndsAtARoundNumber(t *testing.T) {
	for _, tt := range []struct {
		number float64
		unit   string
		want   float64
	}{
		{0, "", 0}, {-3, "", 0}, {0.3, "", 0.4}, {1, "", 1}, {18204, "usd", 20000}, {81, judge.Percent, 100},
		{3 << 20, judge.Bytes, 4 << 20}, {61, judge.Seconds, 120}, {math.MaxFloat64, "", math.MaxFloat64},
		{math.MaxFloat64, judge.Bytes, math.MaxFloat64},
	} {
		if got := axisEnd(tt.number, tt.unit); math.Abs(got-tt.want) > tt.want*1e-9 {
			t.Errorf("%g %s: %g, want %g", tt.number, tt.unit, got, tt.want)
		}
	}
}

func TestChartsOfExtremeValuesHaveNumbers(t *testing.T) {
	b := newBox(t, reporting, serve.ScopeRead)
	b.ticked()
	for i, number := range []float64{math.MaxFloat64, -math.MaxFloat64, 5e-324, 0} {
		r := b.Ended("import", 60*(i+1), outcome.Succeeded, "")
		r.Values = map[string]float64{"rows": number, "other": 0, "negative": min(0, number)}
		b.Remember(r)
	}
	b.has("task", b.get("/tasks/import", 200), "<h3>negative</h3>", "not NaN", "not Inf")
}

func TestChartsOfValuesFitAPhone(t *testing.T) {
	t.Parallel()
	browser := chromium.Start(t)
	b, newest := reportingBox(t)
	address := b.served(t, "")
	for _, path := range []string{"/tasks/import", "/runs/" + newest, "/"} {
		if photo := browser.Photograph(address+path, onPhone); photo.PageWidth > onPhone.Width {
			t.Errorf("%s is %d wide in a window of %d", path, photo.PageWidth, onPhone.Width)
		}
	}
}
