package web

import (
	"fmt"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A bar is a run or a slot in a picture. across is in percent, up in pixels: styles are forbidden.
type bar struct {
	across, wide float64
	top, high    float64
	class, href  string
	title        string
}

// bar draws a link that the tab key skips: a list has it, and a text describes the picture.
func (w *writer) bar(b bar) {
	w.put(`<a href="%s" tabindex="-1"><rect class="%s" x="%.2f%%" width="%.2f%%" y="%.1f" height="%.1f" rx="1"><title>%s</title></rect></a>`,
		b.href, b.class, b.across, b.wide, b.top, b.high, b.title)
}

// shape is the class of the bar of an outcome, and which part of the height it has: a failure is
// tall, a slot that did not run is low.
func shape(o outcome.Outcome) (class string, high float64) {
	switch o {
	case outcome.Succeeded:
		return "good", 0.6
	case outcome.Skipped:
		return "skip", 0.3
	case outcome.Missed:
		return "miss", 1
	}
	return "bad", 1
}

const stripRuns = 30

// strip draws the last outcomes of a task, given newest first.
func (p *page) strip(records []state.Row) {
	const height = 18.0
	p.put(`<span class="hidden">%s</span><svg class="strip" aria-hidden="true">`, tally(records))
	wide := 100.0 / stripRuns
	for i, r := range records {
		class, high := shape(r.Outcome)
		high *= height
		p.bar(bar{100 - float64(i+1)*wide, wide * 0.75, height - high, high, class, p.recordURL(r), p.recordTitle(r)})
	}
	p.put(`</svg>`)
}

// recordURL leads to a run, or for a slot without a run to the list that has the slot.
func (p *page) recordURL(r state.Row) string {
	if r.Ran() {
		return p.runURL(r.ID)
	}
	return p.runsURL(r.Task, strings.ReplaceAll(string(r.Outcome), " ", "-"))
}

func (p *page) recordTitle(r state.Row) string {
	return humanize.SlotZone(r.Slot, p.zoneOf(r.Task)) + ": " + view.Describe(r)
}

func tally(records []state.Row) string {
	counts := counts{}
	for _, r := range records {
		counts[r.Outcome]++
	}
	if len(records) == 0 {
		return "no runs yet"
	}
	return "the last " + fmt.Sprint(len(records)) + ": " + counts.String()
}

type counts map[outcome.Outcome]int

func (c counts) String() string {
	var parts []string
	for _, o := range outcome.All {
		if c[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[o], o))
		}
	}
	return strings.Join(parts, ", ")
}

// plot draws how long the last runs took, given newest first.
func (p *page) plot(records []state.Row, usual time.Duration) {
	const height = 96.0
	longest := usual
	for _, r := range records {
		longest = max(longest, r.Duration())
	}
	if longest == 0 || len(records) == 0 {
		p.put(`<p class="quiet">No runs yet.</p>`)
		return
	}
	up := func(d time.Duration) float64 { return max(2, float64(d)/float64(longest)*height) }
	p.put(`<figure class="plot"><svg aria-hidden="true">`)
	if usual > 0 {
		p.put(`<line class="usual" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, height-up(usual), height-up(usual))
	}
	wide := 100.0 / float64(max(len(records), 20))
	for i, r := range records {
		class, _ := shape(r.Outcome)
		p.bar(bar{100 - float64(i+1)*wide, wide * 0.8, height - up(r.Duration()), up(r.Duration()), class, p.runURL(r.ID), p.recordTitle(r)})
		if class == "bad" {
			p.put(`<text class="mark" x="%.2f%%" y="%.1f">✕</text>`, 100-(float64(i)+0.6)*wide, height-4)
		}
	}
	p.put(`</svg><figcaption>%s, the longest %s`, humanize.Count(len(records), "run"), humanize.Duration(longest))
	if usual > 0 {
		p.put(`; usually %s (the line)`, humanize.Duration(usual))
	}
	p.put(`</figcaption></figure>`)
}
