package web

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"sched/schedule/humanize"
	"sched/schedule/state"
)

// roomForSign is in pixels of a bar: the sign of a lower bar stands above it.
const roomForSign = 14

// A plot shows how long the last runs took.
type plot struct {
	Picture, Axis  templ.Component
	Scale          []string // the numbers of the vertical axis, from the top down
	Runs           int
	Longest, Usual time.Duration // Usual is 0 while it is not known
}

func (p plot) UsualText() string {
	if p.Usual == 0 {
		return ""
	}
	return "; usually " + humanize.Duration(p.Usual) + " (the line)"
}

// newPlot draws runs, given newest first; nil without runs.
func newPlot(p *page, records []state.Row, usual time.Duration) *plot {
	const height = 96.0
	longest := usual
	for _, r := range records {
		longest = max(longest, r.Duration())
	}
	if longest == 0 || len(records) == 0 {
		return nil
	}
	top := axisTop(longest)
	heightOf := func(d time.Duration) float64 { return max(2, float64(d)/float64(top)*height) }
	var d drawing
	d.put(`<svg aria-hidden="true"><line class="line" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, height/2, height/2)
	if usual > 0 {
		d.put(`<line class="usual" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, height-heightOf(usual), height-heightOf(usual))
	}
	width := 100.0 / float64(max(len(records), 20))
	for i, r := range records {
		class, _ := shape(r.Result)
		up := heightOf(r.Duration())
		d.bar(bar{
			left: 100 - float64(i+1)*width, width: width * 0.8, top: height - up, height: up,
			class: class, href: p.RunURL(r.ID), title: p.recordTitle(r),
		})
		if class == "bad" {
			sign, y := "mark", height-4
			if up < roomForSign {
				sign, y = "sign bad", height-up-3
			}
			d.put(`<text class="%s" x="%.2f%%" y="%.1f">✕</text>`, sign, 100-(float64(i)+0.6)*width, y)
		}
	}
	d.put(`</svg>`)
	scale := []string{axisText(top), axisText(top / 2), "0"}
	return &plot{d.picture(), plotAxis(p, records, width), scale, len(records), longest, usual}
}

// plotAxis is the horizontal axis: the slots of the first run and of the last one.
func plotAxis(p *page, records []state.Row, width float64) templ.Component {
	text := func(r state.Row) string { return humanize.MinuteNearZone(r.Slot, p.now, p.zoneOf(r.Task)) }
	var d drawing
	d.put(`<svg class="axis" aria-hidden="true">`)
	const room = 50 // percent: further right the labels of both would overlap on a phone
	if left := 100 - float64(len(records))*width; left < room {
		d.put(`<text class="first" x="%.2f%%" y="13">%s</text>`, left, text(records[len(records)-1]))
	}
	d.put(`<text class="last" x="100%%" y="13">%s</text></svg>`, text(records[0]))
	return d.picture()
}

// axisTop returns where an axis ends that reaches up to longest. Half of it is a round number, too.
func axisTop(longest time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
		for _, n := range []time.Duration{2, 4, 10, 20, 30, 60, 100, 200, 400} {
			if n*unit >= longest && (n <= 60 || unit == time.Millisecond) {
				return n * unit
			}
		}
	}
	for hours := 2 * time.Hour; ; hours *= 2 {
		if hours >= longest {
			return hours
		}
	}
}

// axisText writes a duration in one unit.
func axisText(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d m", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d/time.Millisecond)
}
