package web

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/controls"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/records"
	"sched/schedule/text"
	"sched/schedule/view"
)

const (
	timelineRows = 40   // tasks of a page
	timelineBars = 1000 // of a task before now, and after it: the nearest
)

// spans are how much time a timeline can show, half of it before its middle, each with the time between the lines of its axis.
var spans = []struct {
	hours, lines int
	label        string
}{{6, 1, "6 hours"}, {24, 2, "a day"}, {168, 24, "a week"}}

// A timeline is the axis of the picture.
type timeline struct {
	taskList
	from, to time.Time
	hours    int
	lines    time.Duration
	pauses   controls.Pauses
}

// showTimeline shows what ran and what will run on one axis, a row for each task.
func showTimeline(made *page) error {
	p := taskList{made}
	p.title = "Timeline"
	t := p.timeline()
	all := p.rows(p.judged())
	rows := p.filtered(all)
	shown := p.read(pageOf(rows, p.number("page"), timelineRows))
	records, err := p.View.Records(p.request.Context())
	if err != nil {
		return err
	}
	defer records.Close()
	p.put(`<h1 class="hidden">Timeline</h1>`)
	p.filterForm("/timeline", all)
	p.put(`<div id="timeline" data-live>`)
	t.navigation()
	p.chips(all)
	if len(rows) == 0 {
		p.put(`<p class="empty">No task is chosen by this filter. <a href="%s/timeline">Show all</a></p></div>`, p.base)
		return nil
	}
	p.put(`<div class="wide"><table class="timeline"><thead><tr><th>Task<th class="axis">`)
	t.axis()
	p.put(`</tr></thead><tbody>`)
	var names []string
	for _, r := range shown {
		names = append(names, r.Name)
	}
	usual, err := records.Usual(p.request.Context(), names)
	if err != nil {
		return err
	}
	for _, r := range shown {
		if err := t.row(records, r, usual[r.Name].Duration); err != nil {
			return err
		}
	}
	p.put(`</tbody></table></div>`)
	t.legend()
	p.pager(len(rows), timelineRows)
	p.put(`</div>`)
	return nil
}

// timeline reads the parameters hours and at (the middle; now unless given).
func (p taskList) timeline() *timeline {
	t := &timeline{taskList: p, hours: 24, lines: 2 * time.Hour, pauses: p.View.Pauses()}
	for _, s := range spans {
		if p.query("hours") == strconv.Itoa(s.hours) {
			t.hours, t.lines = s.hours, time.Duration(s.lines)*time.Hour
		}
	}
	middle := p.now
	if at := stamp(p.query("at")); at.Year() >= 2 && at.Year() <= 9998 {
		middle = at
	}
	half := time.Duration(t.hours) * time.Hour / 2
	t.from, t.to = middle.Add(-half), middle.Add(half)
	return t
}

func (t *timeline) navigation() {
	step := t.to.Sub(t.from) / 2
	move := func(at time.Time) string { return t.with("at", at.UTC().Format(time.RFC3339)) }
	middle := t.from.Add(step)
	t.put(`<nav class="chips" aria-label="Time"><a class="chip" href="%s">← earlier</a><a class="chip" href="%s">now</a><a class="chip" href="%s">later →</a><span class="gap"></span>`,
		move(middle.Add(-step)), t.with("at", ""), move(middle.Add(step)))
	for _, s := range spans {
		here := markup("")
		if s.hours == t.hours {
			here = ` aria-current="true"`
		}
		t.put(`<a class="chip" href="%s"%s>%s</a>`, t.with("hours", strconv.Itoa(s.hours)), here, s.label)
	}
	t.put(`</nav>`)
}

// at is where a time is, in percent of the width.
func (t *timeline) at(when time.Time) float64 {
	return min(100, max(0, float64(when.Sub(t.from))/float64(t.to.Sub(t.from))*100))
}

// ticks are the times of the lines of the axis: whole hours of the clock on the wall, or midnights.
func (t *timeline) ticks() (all []time.Time) {
	from := t.from.In(t.zone)
	at := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, t.zone)
	for ; at.Before(t.to); at = t.after(at) {
		if at.After(t.from) {
			all = append(all, at)
		}
	}
	return all
}

func (t *timeline) after(at time.Time) time.Time {
	if t.lines == 24*time.Hour {
		return time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, t.zone)
	}
	return at.Add(t.lines)
}

func (t *timeline) axis() {
	t.put(`<svg role="img" aria-label="from %s to %s">`, text.MinuteZone(t.from, t.zone), text.MinuteZone(t.to, t.zone))
	for _, at := range t.ticks() {
		label := at.Format("15:04")
		if label == "00:00" {
			label = at.Format("Mon 2 Jan")
		}
		t.put(`<text x="%.2f%%" y="15">%s</text>`, t.at(at), label)
	}
	t.put(`</svg>`)
}

// A piece is a run, a slot without one, or a slot to come, on the axis.
type piece struct {
	from, to time.Time
	class    string
	high     float64
	href     string
	title    string
	count    int // of what it stands for, where several are too close to be told apart
}

// row draws a task.
func (t *timeline) row(all *records.Records, r row, usual time.Duration) error {
	past, err := all.Find(t.request.Context(), history.Query{
		Task: r.Name, Since: t.from.Add(-min(3*usual, t.to.Sub(t.from))), Until: t.to, Limit: timelineBars,
	})
	if err != nil {
		return err
	}
	t.put(`<tr><th scope="row"><a href="%s" title="%s">%s</a></th><td><span class="hidden">%s</span><svg aria-hidden="true">`, t.taskURL(r.Name), r.Name, r.Name, tally(past))
	for _, at := range t.ticks() {
		t.put(`<line class="line" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.at(at), t.at(at))
	}
	pieces := t.past(past)
	for _, running := range r.Running {
		if !running.Began.IsZero() {
			pieces = append(pieces, piece{running.Began, t.now, "live", 1, t.runURL(running.Run), "running for " + text.Duration(t.now.Sub(running.Began)), 1})
		}
	}
	if t.Schedule.Active(r.definition) {
		pieces = append(pieces, t.future(r.definition, usual)...)
	}
	t.draw(pieces, t.runsURL(r.Name, ""))
	if t.now.After(t.from) && t.now.Before(t.to) {
		t.put(`<line class="now" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.at(t.now), t.at(t.now))
	}
	t.put(`</svg>`)
	if len(past) == timelineBars {
		t.put(`<small>only the newest %d</small>`, timelineBars)
	}
	t.put(`</td></tr>`)
	return nil
}

// past are the pieces of records, oldest first.
func (t *timeline) past(all []outcome.Record) (pieces []piece) {
	for _, r := range slices.Backward(all) {
		class, high := shape(r.Outcome)
		one := piece{from: r.Started, to: r.Ended, class: class, high: high, href: t.recordURL(r), title: t.recordTitle(r), count: 1}
		if r.Started.IsZero() {
			one.from, one.to = r.Slot, r.Slot
		}
		if r.IsRange() {
			one.to = r.Until
		}
		if one.to.After(t.from) && one.from.Before(t.to) {
			pieces = append(pieces, one)
		}
	}
	return pieces
}

// future are the slots to come, as long as runs usually take.
func (t *timeline) future(task *schedule.Task, usual time.Duration) (pieces []piece) {
	from := t.now
	if from.Before(t.from) {
		from = t.from
	}
	for len(pieces) < timelineBars {
		at, ok := task.When.Next(from)
		if !ok || !at.Before(t.to) {
			break
		}
		one := piece{from: at, to: at.Add(usual), class: "due", high: 0.6, href: t.taskURL(task.Name), title: text.SlotZone(at, task.When.Location) + ": due", count: 1}
		unmet := task.UnmetCondition(at)
		if unmet == "" && view.PauseOf(t.pauses, task, at) != nil {
			unmet = "paused"
		}
		if unmet != "" {
			one.class, one.high, one.to, one.title = "skip", 0.3, at, one.title+", will be skipped: "+unmet
		}
		pieces, from = append(pieces, one), at
	}
	return pieces
}

const (
	rowHeight = 22.0
	thinnest  = 0.3 // percent
)

// draw draws pieces in the order of their beginnings. Those of one kind that are too close to be told apart become one, which leads to
// the list; one that begins before the one before it has ended is lower, and outlined.
func (t *timeline) draw(pieces []piece, list string) {
	pieces = t.joined(pieces, list)
	var busy time.Time
	for _, one := range pieces {
		high, class := one.high*(rowHeight-8), one.class
		b := bar{across: t.at(one.from), top: rowHeight - 6 - high, high: high, href: one.href, title: one.title}
		b.wide = max(thinnest, t.at(one.to)-b.across)
		if b.across = min(b.across, 100-b.wide); one.from.Before(busy) && one.to.After(one.from) && one.count == 1 && class != "due" {
			b.top, class = b.top+5, class+" over"
		}
		if b.class = class; one.to.After(busy) && one.class != "due" {
			busy = one.to
		}
		t.bar(b)
	}
}

func (t *timeline) joined(pieces []piece, list string) (out []piece) {
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.from.Compare(b.from) })
	for _, one := range pieces {
		if n := len(out); n > 0 && out[n-1].class == one.class && t.at(one.from)-max(t.at(out[n-1].to), t.at(out[n-1].from)+thinnest) < 0.1 && !one.from.Before(out[n-1].to) {
			last := &out[n-1]
			last.to, last.count, last.href = one.to, last.count+one.count, list
			last.title = fmt.Sprintf("%d from %s to %s", last.count, text.SlotZone(last.from, t.zone), text.SlotZone(one.from, t.zone))
			continue
		}
		out = append(out, one)
	}
	return out
}

func (t *timeline) legend() {
	t.put(`<ul class="legend" aria-label="What the bars mean">`)
	for _, one := range []struct{ class, means markup }{
		{"good", "succeeded"}, {"bad", "failed, timed out, stopped or lost"}, {"live", "running"}, {"due", "to come, as long as usual"},
		{"skip", "skipped, or will be"}, {"miss", "missed"}, {"good over", "overlaps"},
	} {
		t.put(`<li><svg width="14" height="14" aria-hidden="true"><rect class="%s" x="1" y="1" width="12" height="12" rx="1"/></svg> %s`, one.class, one.means)
	}
	t.put(`</ul>`)
}
