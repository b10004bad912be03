package web

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

const (
	timelineRows = 30  // tasks of a page
	timelineBars = 120 // of a task before now, and after it; a task with more is drawn by coarse
)

// spans are how much time a timeline can show, each with the time between the lines of its axis.
var spans = []struct {
	hours, lines int
	label        string
}{{6, 1, "6 hours"}, {24, 2, "a day"}, {168, 24, "a week"}}

type timeline struct {
	taskList
	from, to time.Time
	hours    int
	lines    time.Duration
	pauses   pause.Pauses
}

func showTimeline(made *page) error {
	p := taskList{made}
	p.title = "Timeline"
	t := newTimeline(p)
	every := p.rows(p.judged())
	rows := t.grouped(p.filtered(every))
	all, _ := p.View.Records(p.request.Context()) // read tells of the error; slots to come are shown all the same
	defer all.Close()
	shown := p.read(pageOf(rows, p.number("page"), timelineRows), all)
	p.put(`<h1 class="hidden">Timeline</h1>`)
	p.filterForm("/timeline")
	p.put(`<div id="timeline" data-live>`)
	t.navigation()
	p.chips(every)
	if len(rows) == 0 {
		p.put(`<p class="empty">No task is chosen by this filter. <a href="%s/timeline">Show all</a></p></div>`, p.base)
		return nil
	}
	p.put(`<div class="wide"><table class="timeline"><thead><tr><th>Task<th class="axis">`)
	t.axis()
	p.put(`</tr></thead><tbody>`)
	var usual map[string]state.Usual
	var past map[string]view.Past
	if all.Err == nil {
		var err error
		if usual, past, err = t.read(all, names(shown)); err != nil {
			return err
		}
	}
	for i, r := range shown {
		if i == 0 || t.group(r) != t.group(shown[i-1]) {
			t.groupHead(t.group(r), i > 0)
		}
		t.row(r, past[r.Name], usual[r.Name].Duration)
	}
	p.put(`</tbody></table></div>`)
	t.legend()
	p.pager(len(rows), timelineRows)
	p.put(`</div>`)
	return nil
}

// group is the tag by which a row is grouped: its first, or the tag that the filter asks for; ""
// for a task without tags.
func (p *timeline) group(r row) string {
	switch {
	case p.query("tag") != "":
		return p.query("tag")
	case len(r.definition.Tags) > 0:
		return r.definition.Tags[0]
	}
	return ""
}

// grouped orders the rows by their groups, in the order in which the file names the groups. Rows
// without a tag are last.
func (p *timeline) grouped(rows []row) []row {
	rank := map[string]int{"": len(p.Schedule.Tasks)}
	for i, t := range p.Schedule.Tasks {
		if group := p.group(row{definition: t}); group != "" && rank[group] == 0 {
			rank[group] = i + 1
		}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int { return rank[p.group(a)] - rank[p.group(b)] })
	return rows
}

// groupHead writes the line above a group. If there is only one group, without a tag, it needs no
// line.
func (p *timeline) groupHead(tag string, others bool) {
	switch {
	case tag != "":
		p.put(`<tr class="group"><th colspan="2" scope="rowgroup"><a href="%s">%s</a></th></tr>`, p.with("tag", tag, "page", ""), tag)
	case others:
		p.put(`<tr class="group"><th colspan="2" scope="rowgroup">without a tag</th></tr>`)
	}
}

// read also returns slots before the picture: their runs may reach into it.
func (t *timeline) read(all *view.Records, tasks []string) (map[string]state.Usual, map[string]view.Past, error) {
	usual, err := all.Usual(t.request.Context(), tasks)
	if err != nil {
		return nil, nil, err
	}
	var spans []state.Span
	for _, task := range tasks {
		spans = append(spans, state.Span{Task: task, Since: t.from.Add(-min(3*usual[task].Duration, t.to.Sub(t.from)))})
	}
	past, err := all.PastOf(t.request.Context(), spans, t.to, timelineBars)
	return usual, past, err
}

// ahead is which part of a timeline is yet to come, unless it shows another time than now: what has
// happened is asked for more often.
const ahead = 0.2

// newTimeline reads the parameters hours and at (the middle; unless given, now is at the right).
func newTimeline(p taskList) *timeline {
	t := &timeline{taskList: p, hours: 24, lines: 2 * time.Hour, pauses: p.View.Pauses()}
	for _, s := range spans {
		if p.query("hours") == strconv.Itoa(s.hours) {
			t.hours, t.lines = s.hours, time.Duration(s.lines)*time.Hour
		}
	}
	long := time.Duration(t.hours) * time.Hour
	t.to = p.now.Add(time.Duration(ahead * float64(long)))
	if at := stamp(p.query("at")); at.Year() >= 2 && at.Year() <= 9998 {
		t.to = at.Add(long / 2)
	}
	t.from = t.to.Add(-long)
	return t
}

func (t *timeline) navigation() {
	step := t.to.Sub(t.from) / 2
	move := func(at time.Time) string { return t.with("at", at.UTC().Format(time.RFC3339)) }
	middle := t.from.Add(step)
	t.put(`<nav class="chips" aria-label="Time"><a class="chip" href="%s">← earlier</a><a class="chip" href="%s">now</a><a class="chip" href="%s">later →</a><span class="gap"></span>`,
		move(middle.Add(-step)), t.with("at", ""), move(middle.Add(step)))
	for _, s := range spans {
		t.put(`<a class="chip" href="%s"%s>%s</a>`, t.with("hours", strconv.Itoa(s.hours)), here(s.hours == t.hours), s.label)
	}
	t.put(`</nav>`)
}

// at is the position of a time, in percent of the width.
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
	t.put(`<svg role="img" aria-label="from %s to %s">`, humanize.MinuteZone(t.from, t.zone), humanize.MinuteZone(t.to, t.zone))
	for i, at := range t.ticks() {
		label := at.Format("15:04")
		if label == "00:00" {
			label = at.Format("Mon 2 Jan")
		}
		isSpare := t.hours == 168 && i%2 == 1 || t.hours < 168 && at.Hour()*int(time.Hour)%int(2*t.lines) != 0
		class := markupIf(isSpare, "spare") // a phone has no room for it
		switch across := t.at(at); {        // half of the label would be cut off at an edge
		case across < 4:
			class += " first"
		case across > 96:
			class += " last"
		}
		t.put(`<text x="%.2f%%" y="15" class="%s">%s</text>`, t.at(at), class, label)
	}
	t.put(`</svg>`)
}

// A piece is a run, a slot without one, or a slot to come, on the axis.
type piece struct {
	from, to time.Time
	class    string
	high     float64
	href     string
	title    func() string // a function, because few are shown
	count    int           // of the pieces that it stands for, if several are too close to be told apart
}

func (t *timeline) row(r row, past view.Past, usual time.Duration) {
	many := t.kindsOf(past.Hours)
	t.put(`<tr><th scope="row"><a href="%s" title="%s">%s</a></th><td><span class="hidden">%s</span><svg aria-hidden="true">`,
		t.taskURL(r.Name), r.Name, r.Name, t.tally(many, past.Records))
	for _, at := range t.ticks() {
		t.put(`<line class="line" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.at(at), t.at(at))
	}
	pieces := t.past(past.Records)
	for _, running := range r.Running {
		if !running.Began.IsZero() {
			pieces = append(pieces, piece{running.Began, t.now, "live", 1, t.runURL(running.Run),
				func() string { return "running for " + humanize.Duration(max(0, t.now.Sub(running.Began))) }, 1})
		}
	}
	if t.Schedule.Active(r.definition) {
		if t.dueOften(r.definition) {
			t.addDue(&many, t.future(r.definition, usual, t.finest()))
		} else {
			pieces = append(pieces, t.future(r.definition, usual, 0)...)
		}
	}
	t.coarse(many, r.Name)
	t.draw(pieces, t.runsURL(r.Name, ""))
	if t.now.After(t.from) && t.now.Before(t.to) {
		t.put(`<line class="now" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.at(t.now), t.at(t.now))
	}
	t.put(`</svg></td></tr>`)
}

// past are the pieces of records, oldest first.
func (t *timeline) past(all []state.Row) (pieces []piece) {
	for _, r := range slices.Backward(all) {
		class, high := shape(r.Result)
		one := piece{class: class, high: high, href: t.recordURL(r), title: func() string { return t.recordTitle(r) }, count: 1}
		if one.from, one.to = reach(r); t.shows(r) {
			pieces = append(pieces, one)
		}
	}
	return pieces
}

func reach(r state.Row) (from, to time.Time) {
	from, to = r.Started, r.Ended
	if r.Started.IsZero() {
		from, to = r.Slot, r.Slot
	}
	if r.IsRange() {
		to = r.LastSlot
	}
	return from, to
}

func (t *timeline) shows(r state.Row) bool {
	from, to := reach(r)
	return to.After(t.from) && from.Before(t.to)
}

// dueOften reports whether more slots are to come than have a bar each.
func (t *timeline) dueOften(task *schedule.Task) bool {
	from := humanize.Later(t.now, t.from)
	for range timelineBars + 1 {
		at, ok := task.When.Next(from)
		if !ok || !at.Before(t.to) {
			return false
		}
		from = at
	}
	return true
}

// future are the slots to come, as long as runs usually take. Each is at least step after the one
// before it.
func (t *timeline) future(task *schedule.Task, usual, step time.Duration) (pieces []piece) {
	from, href := humanize.Later(t.now, t.from), t.taskURL(task.Name)
	for {
		at, ok := task.When.Next(from)
		if !ok || !at.Before(t.to) {
			return pieces
		}
		one := piece{from: at, to: at.Add(usual), class: "due", high: 0.6, href: href, count: 1}
		unmet := task.UnmetCondition(at)
		if unmet == "" && view.PauseOf(t.pauses, task, at) != nil {
			unmet = "paused"
		}
		if unmet != "" {
			one.class, one.high, one.to = "skip", 0.3, at
		}
		one.title = func() string {
			title := humanize.SlotZone(at, t.zoneOf(task.Name)) + ": due"
			if unmet != "" {
				title += ", will be skipped: " + unmet
			}
			return title
		}
		pieces, from = append(pieces, one), at.Add(max(0, step-1))
	}
}

const (
	rowHeight = 22.0
	thinnest  = 0.3 // percent
)

// draw draws pieces in the order of their beginnings. Pieces of one kind that are too close to be
// told apart become one piece, which leads to the list. A piece that begins before the last one has
// ended is lower, and outlined.
func (t *timeline) draw(pieces []piece, list string) {
	pieces = t.joined(pieces, list)
	var busy time.Time
	for _, one := range pieces {
		high, class := one.high*(rowHeight-8), one.class
		b := bar{across: t.at(one.from), top: rowHeight - 6 - high, high: high, href: one.href, title: one.title()}
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
			last.title = func() string {
				return fmt.Sprintf("%d from %s to %s", last.count, humanize.SlotZone(last.from, t.zone), humanize.SlotZone(one.from, t.zone))
			}
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
