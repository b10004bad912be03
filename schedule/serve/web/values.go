package web

import (
	"math"
	"slices"
	"time"

	"github.com/a-h/templ"

	"sched/schedule"
	"sched/schedule/judge"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A valuePlot shows what the last runs of a task reported of one value.
type valuePlot struct {
	Name          string
	Picture, Axis templ.Component
	Scale         []string // the numbers of the vertical axis, from the top down
	Lines         []valueLine
	Text          string // in one sentence
}

// A valueLine is a number that a value is judged by, as a line across the chart.
type valueLine struct {
	Class, Means string
	at           float64
	outside      bool // it lies too far away to be drawn
}

// newValuePlots returns a chart for each value that one of the runs reported, given newest first.
// The values that the task names come first.
func newValuePlots(
	p *page, task *schedule.Task, all *view.Records, ran []state.Row,
) (plots []valuePlot, err error) {
	names := map[string]float64{}
	for _, r := range ran {
		for name := range r.Values {
			names[name] = 0
		}
	}
	for _, v := range view.ReportedBy(task, names) {
		var before []float64
		if v.Rule.Usual > 0 {
			const afterAllRuns = "~"
			before, err = all.UsualValues(p.request.Context(), task.Name, v.Rule.Name, afterAllRuns)
			if err != nil {
				return nil, err
			}
		}
		plots = append(plots, newValuePlot(p, v.Rule, ran, linesOf(v.Rule, before)))
	}
	return plots, nil
}

// linesOf returns the bounds of a value, and what is usual for it after the successes before.
func linesOf(rule judge.Value, before []float64) (lines []valueLine) {
	add := func(class, words string, at *float64) {
		if at != nil {
			lines = append(lines, valueLine{Class: class, Means: words + " " + rule.Text(*at), at: *at})
		}
	}
	add("bound", "at least", rule.AtLeast)
	add("bound", "at most", rule.AtMost)
	add("caution", "a warning below", rule.WarnBelow)
	add("caution", "a warning above", rule.WarnAbove)
	if low, high, ok := judge.UsualRange(rule, before); ok {
		add("usual", "usual from", &low)
		add("usual", "usual up to", &high)
	}
	return lines
}

// newValuePlot draws the value of each run as a bar from 0. A run that did not report the value
// has no bar.
func newValuePlot(p *page, rule judge.Value, ran []state.Row, lines []valueLine) valuePlot {
	const height = 96.0
	var numbers []float64
	for _, r := range ran {
		if number, reported := r.Values[rule.Name]; reported {
			numbers = append(numbers, number)
		}
	}
	low, high := min(0, slices.Min(numbers)), max(0, slices.Max(numbers))
	low, high = withLines(lines, low, high)
	bottom, top := 0-axisEnd(-low, rule.Unit), axisEnd(high, rule.Unit)
	if bottom == top {
		top = 1
	}
	y := func(number float64) float64 { return (top/2 - number/2) / (top/2 - bottom/2) * height }
	var d drawing
	d.put(`<svg aria-hidden="true"><line class="line" x1="0" x2="100%%" y1="%.1f" y2="%.1[1]f"/>`, height/2)
	d.put(`<line class="line" x1="0" x2="100%%" y1="%.1f" y2="%.1[1]f"/>`, y(0))
	width := 100.0 / float64(max(len(ran), 20))
	for i, r := range ran {
		number, reported := r.Values[rule.Name]
		if !reported {
			continue
		}
		class, _ := shape(r.Result)
		from, to := y(max(0, number)), y(min(0, number))
		d.bar(bar{
			left: 100 - float64(i+1)*width, width: width * 0.8, top: min(from, height-2), height: max(2, to-from),
			class: class, href: p.RunURL(r.ID), title: rule.Name + " " + rule.Text(number) + ", " + p.recordTitle(r),
		})
	}
	for _, line := range lines {
		if !line.outside {
			d.put(`<line class="%s" x1="0" x2="100%%" y1="%.1f" y2="%.1[2]f"/>`, line.Class, y(line.at))
		}
	}
	d.put(`</svg>`)
	return valuePlot{
		Name:    rule.Name,
		Picture: d.picture(),
		Axis:    plotAxis(p, ran, width),
		Scale:   []string{rule.Text(top), rule.Text(top/2 + bottom/2), rule.Text(bottom)},
		Lines:   lines,
		Text: "The last is " + rule.Text(numbers[0]) + "; they go from " + rule.Text(slices.Min(numbers)) +
			" to " + rule.Text(slices.Max(numbers)),
	}
}

// withLines widens what a chart shows by its lines. A line that would leave less than a third of
// the height to the values is marked as outside.
func withLines(lines []valueLine, low, high float64) (float64, float64) {
	least, most := low, high
	room := 2 * max(high, -low)
	for i := range lines {
		line := &lines[i]
		isFar := room > 0 && (line.at > most+room || line.at < least-room)
		if line.outside = isFar || math.IsInf(line.at, 0); line.outside {
			line.Means += " (outside)"
			continue
		}
		low, high = min(low, line.at), max(high, line.at)
	}
	return low, high
}

// axisEnd returns a round number that is not below a number of that unit: where an axis ends. It
// returns 0 for a number that is not above 0.
func axisEnd(number float64, unit string) float64 {
	switch {
	case number <= 0:
		return 0
	case unit == judge.Bytes:
		return min(math.MaxFloat64, math.Exp2(math.Ceil(math.Log2(number))))
	case unit == judge.Seconds && 0.002 <= number && number < 1e9:
		return axisTop(time.Duration(number * float64(time.Second))).Seconds()
	}
	power := math.Pow(10, math.Floor(math.Log10(number)))
	for _, n := range []float64{1, 2, 4, 6, 8} {
		if n*power >= number {
			return min(math.MaxFloat64, n*power)
		}
	}
	return min(math.MaxFloat64, 10*power)
}
