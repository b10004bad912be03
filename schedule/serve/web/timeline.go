package web

import (
	"slices"
	"strconv"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

const (
	timelineRows = 30  // tasks of a page
	timelineBars = 120 // of a task before now, and of one kind; more runs come as hours, more bars are one drawing
)

// spans are how much time a timeline can show, each with the hours between two lines of its axis.
var spans = []struct {
	hours, lineEvery int
	label            string
}{{6, 1, "6 hours"}, {24, 2, "a day"}, {168, 24, "a week"}}

type timeline struct {
	taskList
	from, to  time.Time
	hours     int           // from from to to
	lineEvery time.Duration // between two lines of the axis
	pauses    pause.Pauses
}

func showTimeline(made *page) error {
	p := taskList{made}
	p.title = "Timeline"
	t := newTimeline(p)
	all := p.allRows(p.View.Status(p.health()))
	rows := t.grouped(p.filtered(all))
	p.put(`<h1 class="hidden">Timeline</h1>`)
	p.filterForm("/timeline")
	p.put(`<div id="timeline" data-live>`)
	t.navigation()
	p.stateChips(all)
	if len(rows) == 0 {
		p.put(`<p class="empty">No task is chosen by this filter. <a href="%s/timeline">Show all</a></p></div>`, p.base)
		return nil
	}
	if err := t.table(rows); err != nil {
		return err
	}
	t.legend()
	p.pager(len(rows), timelineRows)
	p.put(`</div>`)
	return nil
}

// table draws the rows of this page of the list.
func (t *timeline) table(rows []taskRow) error {
	all, _ := t.View.Records(t.request.Context()) // readTasks reports all.Err; slots to come are shown all the same
	defer all.Close()
	shown := t.readTasks(pageOf(rows, t.number("page"), timelineRows), all)
	usual, past, err := t.readPast(all, namesOf(shown))
	if err != nil {
		return err
	}
	t.put(`<div class="wide"><table class="timeline"><thead><tr><th>Task<th class="axis">`)
	t.axis()
	t.put(`</tr></thead><tbody>`)
	for i, r := range shown {
		if i == 0 || t.groupOf(r) != t.groupOf(shown[i-1]) {
			t.groupHead(t.groupOf(r), i > 0)
		}
		t.drawRow(r, past[r.Name], usual[r.Name].Duration)
	}
	t.put(`</tbody></table></div>`)
	return nil
}

// groupOf returns the tag by which a row is grouped: the tag that the filter asks for, or else its
// first; "" for a task without tags.
func (p *timeline) groupOf(r taskRow) string {
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
func (p *timeline) grouped(rows []taskRow) []taskRow {
	rank := map[string]int{"": len(p.Schedule.Tasks)}
	for i, t := range p.Schedule.Tasks {
		if group := p.groupOf(taskRow{definition: t}); group != "" && rank[group] == 0 {
			rank[group] = i + 1
		}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b taskRow) int { return rank[p.groupOf(a)] - rank[p.groupOf(b)] })
	return rows
}

// groupHead writes the line above a group. If there is only one group, without a tag, it needs no
// line.
func (p *timeline) groupHead(tag string, others bool) {
	switch {
	case tag != "":
		p.put(`<tr class="group"><th colspan="2" scope="rowgroup"><a href="%s">%s</a></th></tr>`, p.urlWith("tag", tag, "page", ""), tag)
	case others:
		p.put(`<tr class="group"><th colspan="2" scope="rowgroup">without a tag</th></tr>`)
	}
}

// readPast returns how long runs usually take, and the slots of the picture, by task. There are
// slots before the picture, too: their runs may reach into it. It returns nothing if the history
// cannot be read.
func (t *timeline) readPast(
	all *view.Records, tasks []string,
) (usual map[string]state.Usual, past map[string]view.TaskPast, err error) {
	if all.Err != nil {
		return nil, nil, nil
	}
	if usual, err = all.Usual(t.request.Context(), tasks); err != nil {
		return nil, nil, err
	}
	var spans []state.Span
	for _, task := range tasks {
		spans = append(spans, state.Span{Task: task, Since: t.from.Add(-min(3*usual[task].Duration, t.to.Sub(t.from)))})
	}
	past, err = all.PastOf(t.request.Context(), spans, t.to, timelineBars)
	return usual, past, err
}

// partToCome is the part of a timeline after now: people ask more often about the past. A timeline
// around another time than now does not use it.
const partToCome = 0.2

// newTimeline reads the parameters hours and at (the middle; unless given, now is at the right).
func newTimeline(p taskList) *timeline {
	t := &timeline{taskList: p, hours: 24, lineEvery: 2 * time.Hour, pauses: p.View.Pauses()}
	for _, s := range spans {
		if p.query("hours") == strconv.Itoa(s.hours) {
			t.hours, t.lineEvery = s.hours, time.Duration(s.lineEvery)*time.Hour
		}
	}
	long := time.Duration(t.hours) * time.Hour
	t.to = p.now.Add(time.Duration(partToCome * float64(long)))
	if at := parseTime(p.query("at")); at.Year() >= 2 && at.Year() <= 9998 {
		t.to = at.Add(long / 2)
	}
	t.from = t.to.Add(-long)
	return t
}

func (t *timeline) navigation() {
	step := t.to.Sub(t.from) / 2
	move := func(at time.Time) string { return t.urlWith("at", at.UTC().Format(time.RFC3339)) }
	middle := t.from.Add(step)
	t.put(`<nav class="chips" aria-label="Time"><a class="chip" href="%s">← earlier</a><a class="chip" href="%s">now</a><a class="chip" href="%s">later →</a><span class="gap"></span>`,
		move(middle.Add(-step)), t.urlWith("at", ""), move(middle.Add(step)))
	for _, s := range spans {
		t.put(`<a class="chip" href="%s"%s>%s</a>`, t.urlWith("hours", strconv.Itoa(s.hours)), currentIf(s.hours == t.hours), s.label)
	}
	t.put(`</nav>`)
}

// percent returns the position of a time, in percent of the width.
func (t *timeline) percent(at time.Time) float64 {
	return min(100, max(0, float64(at.Sub(t.from))/float64(t.to.Sub(t.from))*100))
}

// axisLines returns the times of the lines of the axis: whole hours of the clock on the wall, or
// midnights.
func (t *timeline) axisLines() (all []time.Time) {
	from := t.from.In(t.zone)
	at := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, t.zone)
	for ; at.Before(t.to); at = t.nextLine(at) {
		if at.After(t.from) {
			all = append(all, at)
		}
	}
	return all
}

func (t *timeline) nextLine(at time.Time) time.Time {
	if t.lineEvery == 24*time.Hour {
		return time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, t.zone)
	}
	return at.Add(t.lineEvery)
}

func (t *timeline) axis() {
	t.put(`<svg role="img" aria-label="from %s to %s">`, humanize.MinuteZone(t.from, t.zone), humanize.MinuteZone(t.to, t.zone))
	for i, at := range t.axisLines() {
		label := at.Format("15:04")
		if label == "00:00" {
			label = at.Format("Mon 2 Jan")
		}
		class := markupIf(t.isSpare(i, at), "spare")
		left := t.percent(at)
		switch { // half of the label would be cut off at an edge
		case left < 4:
			class += " first"
		case left > 96:
			class += " last"
		}
		t.put(`<text x="%.2f%%" y="15" class="%s">%s</text>`, left, class, label)
	}
	t.put(`</svg>`)
}

// isSpare reports whether a phone has no room for the label of a line: for every second one.
func (t *timeline) isSpare(i int, at time.Time) bool {
	if t.lineEvery == 24*time.Hour {
		return i%2 == 1
	}
	return at.Hour()*int(time.Hour)%int(2*t.lineEvery) != 0
}

func (t *timeline) drawRow(r taskRow, past view.TaskPast, usual time.Duration) {
	hours := t.hourPieces(past.Hours)
	pieces := slices.Concat(hours, t.recordPieces(past.Records), t.livePieces(r.Running))
	text := tallyText(past.Records) // for readers who cannot see the picture
	if len(hours) > 0 {
		text = "in this time: " + sumOf(pieces).String()
	}
	if t.Schedule.Active(r.definition) {
		pieces = append(pieces, t.duePieces(r.definition, usual)...)
	}
	t.put(`<tr><th scope="row"><a href="%s" title="%s">%s</a></th><td><span class="hidden">%s</span><svg aria-hidden="true">`,
		t.taskURL(r.Name), r.Name, r.Name, text)
	for _, at := range t.axisLines() {
		t.put(`<line class="line" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.percent(at), t.percent(at))
	}
	t.draw(pieces, r.Name)
	if t.now.After(t.from) && t.now.Before(t.to) {
		t.put(`<line class="now" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.percent(t.now), t.percent(t.now))
	}
	t.put(`</svg></td></tr>`)
}

func (t *timeline) legend() {
	t.put(`<ul class="legend" aria-label="What the bars mean">`)
	for _, row := range []struct{ class, means markup }{
		{"good", "succeeded"}, {"bad", "failed, timed out, stopped or lost"}, {"live", "running"},
		{"due", "to come, as long as usual"},
		{"skip", "skipped, or will be"}, {"miss", "missed"}, {"good over", "overlaps"},
	} {
		t.put(`<li><svg width="14" height="14" aria-hidden="true"><rect class="%s" x="1" y="1" width="12" height="12" rx="1"/></svg> %s`, row.class, row.means)
	}
	t.put(`</ul>`)
}
