package web

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
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

// A timeline shows the runs of tasks, and the slots to come.
type timeline struct {
	*page
	taskChips
	EarlierURL, LaterURL string
	Spans                []chip
	Axis                 templ.Component
	Rows                 []timelineRow
	Pages                *pager

	from, to  time.Time
	hours     int           // from from to to
	lineEvery time.Duration // between two lines of the axis
	pauses    pause.Pauses
}

// A timelineRow is the row of a task.
type timelineRow struct {
	Name        string
	Group       string // the tag by which it is grouped
	BeginsGroup bool   // it needs a line with the group above it
	Text        string // for readers who cannot see the picture
	Picture     templ.Component
}

func readTimeline(p *page) (*timeline, error) {
	p.title = "Timeline"
	t := newTimeline(p)
	all := allRows(p, view.StatusOf(p.View, p.health()))
	rows := t.grouped(filtered(p, all))
	t.taskChips, t.Pages = newTaskChips(p, all), p.pager(len(rows), timelineRows)
	return t, t.drawRows(pageOf(rows, p.number("page"), timelineRows))
}

// partToCome is the part of a timeline after now: people ask more often about the past. A timeline
// around another time than now does not use it.
const partToCome = 0.2

// newTimeline reads the parameters hours and at (the middle; unless given, now is at the right).
func newTimeline(p *page) *timeline {
	t := &timeline{page: p, hours: 24, lineEvery: 2 * time.Hour, pauses: p.View.Pauses()}
	for _, s := range spans {
		if p.Query("hours") == strconv.Itoa(s.hours) {
			t.hours, t.lineEvery = s.hours, time.Duration(s.lineEvery)*time.Hour
		}
	}
	for _, s := range spans {
		url := p.With("hours", strconv.Itoa(s.hours))
		t.Spans = append(t.Spans, chip{URL: url, Label: s.label, Current: s.hours == t.hours})
	}
	long := time.Duration(t.hours) * time.Hour
	t.to = p.now.Add(time.Duration(partToCome * float64(long)))
	if at, _ := time.Parse(time.RFC3339, p.Query("at")); at.Year() >= 2 && at.Year() <= 9998 {
		t.to = at.Add(long / 2)
	}
	t.from = t.to.Add(-long)
	move := func(at time.Time) string { return p.With("at", at.UTC().Format(time.RFC3339)) }
	t.EarlierURL, t.LaterURL = move(t.from), move(t.to)
	t.Axis = t.axis()
	return t
}

// groupOf returns the tag by which a row is grouped: the tag that the filter asks for, or else its
// first; "" for a task without tags.
func (t *timeline) groupOf(r taskRow) string {
	switch {
	case t.Query("tag") != "":
		return t.Query("tag")
	case len(r.definition.Tags) > 0:
		return r.definition.Tags[0]
	}
	return ""
}

// grouped orders the rows by their groups, in the order in which the file names the groups. Rows
// without a tag are last.
func (t *timeline) grouped(rows []taskRow) []taskRow {
	rank := map[string]int{"": len(t.Schedule.Tasks)}
	for i, task := range t.Schedule.Tasks {
		if group := t.groupOf(taskRow{definition: task}); group != "" && rank[group] == 0 {
			rank[group] = i + 1
		}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b taskRow) int { return rank[t.groupOf(a)] - rank[t.groupOf(b)] })
	return rows
}

// drawRows draws the rows of this page of the list. If there is only one group, without a tag, it
// needs no line.
func (t *timeline) drawRows(rows []taskRow) error {
	if len(rows) == 0 {
		return nil
	}
	all, _ := t.View.Records(t.request.Context()) // readTasks reports all.Err; slots to come are shown all the same
	defer all.Close()
	shown := readTasks(t.page, rows, all)
	usual, pasts, err := t.readPast(all, namesOf(shown))
	if err != nil {
		return err
	}
	for i, r := range shown {
		row := t.drawRow(r, pasts[r.Name], usual[r.Name].Duration)
		row.Group = t.groupOf(r)
		row.BeginsGroup = i == 0 && row.Group != "" || i > 0 && row.Group != t.groupOf(shown[i-1])
		t.Rows = append(t.Rows, row)
	}
	return nil
}

// readPast returns how long runs usually take, and the slots of the picture, by task. There are
// slots before the picture, too: their runs may reach into it. It returns nothing if the history
// cannot be read.
func (t *timeline) readPast(
	all *view.Records, tasks []string,
) (usual map[string]past.Usual, pasts map[string]view.TaskPast, err error) {
	if all.Err != nil {
		return nil, nil, nil
	}
	if usual, err = all.Usual(t.request.Context(), tasks); err != nil {
		return nil, nil, err
	}
	var spans []past.Span
	for _, task := range tasks {
		spans = append(spans, past.Span{Task: task, Since: t.from.Add(-min(3*usual[task].Duration, t.to.Sub(t.from)))})
	}
	pasts, err = all.PastOf(t.request.Context(), spans, t.to, timelineBars)
	return usual, pasts, err
}

// percent returns the position of a time, in percent of the width.
func (t *timeline) percent(at time.Time) float64 {
	return min(100, max(0, float64(at.Sub(t.from))/float64(t.to.Sub(t.from))*100))
}

// axisLines returns the times of the lines of the axis: whole hours of the clock on the wall, or
// midnights.
func (t *timeline) axisLines() (all []time.Time) {
	from := t.from.In(t.zones.zone)
	at := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, t.zones.zone)
	for ; at.Before(t.to); at = t.nextLine(at) {
		if at.After(t.from) {
			all = append(all, at)
		}
	}
	return all
}

func (t *timeline) nextLine(at time.Time) time.Time {
	if t.lineEvery == 24*time.Hour {
		return time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, t.zones.zone)
	}
	return at.Add(t.lineEvery)
}

func (t *timeline) axis() templ.Component {
	var d drawing
	d.put(`<svg role="img" aria-label="from %s to %s">`, humanize.MinuteZone(t.from, t.zones.zone), humanize.MinuteZone(t.to, t.zones.zone))
	for i, at := range t.axisLines() {
		label := at.Format("15:04")
		if label == "00:00" {
			label = at.Format("Mon 2 Jan")
		}
		class := ""
		if t.isSpare(i, at) {
			class = "spare"
		}
		left := t.percent(at)
		switch { // half of the label would be cut off at an edge
		case left < 4:
			class += " first"
		case left > 96:
			class += " last"
		}
		d.put(`<text x="%.2f%%" y="15" class="%s">%s</text>`, left, class, label)
	}
	d.put(`</svg>`)
	return d.picture()
}

// isSpare reports whether a phone has no room for the label of a line: for every second one.
func (t *timeline) isSpare(i int, at time.Time) bool {
	if t.lineEvery == 24*time.Hour {
		return i%2 == 1
	}
	return at.Hour()*int(time.Hour)%int(2*t.lineEvery) != 0
}

func (t *timeline) drawRow(r taskRow, past view.TaskPast, usual time.Duration) timelineRow {
	hours := t.hourPieces(past.Hours)
	pieces := slices.Concat(hours, t.recordPieces(past.Records), t.livePieces(r.Running))
	row := timelineRow{Name: r.Name, Text: tallyText(past.Records)}
	if len(hours) > 0 {
		row.Text = "in this time: " + sumOf(pieces).String()
	}
	if t.Schedule.Active(r.definition) {
		pieces = append(pieces, t.duePieces(r.definition, usual)...)
	}
	var d drawing
	d.put(`<svg aria-hidden="true">`)
	for _, at := range t.axisLines() {
		d.put(`<line class="line" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.percent(at), t.percent(at))
	}
	t.draw(&d, pieces, r.Name)
	if t.now.After(t.from) && t.now.Before(t.to) {
		d.put(`<line class="now" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.percent(t.now), t.percent(t.now))
	}
	d.put(`</svg>`)
	row.Picture = d.picture()
	return row
}

// recordPieces returns the pieces of records.
func (t *timeline) recordPieces(all []state.Row) (pieces []piece) {
	for _, r := range all {
		from, to := extentOf(r)
		if !to.After(t.from) || !from.Before(t.to) {
			continue
		}
		class, height := shape(r.Result)
		pieces = append(pieces, piece{
			from: from, to: to, class: class, height: height, href: t.recordURL(r),
			title:  func() string { return t.recordTitle(r) },
			counts: countsOf(r.Outcome, max(1, r.Slots)),
			last:   humanize.Later(r.Slot, r.LastSlot).Truncate(time.Minute).Add(time.Minute),
		})
	}
	return pieces
}

// hourPieces returns the pieces of hours: one for minutes with slots that follow each other. Close
// pieces become one at once, because there may be thousands.
func (t *timeline) hourPieces(hours []past.Hour) (pieces []piece) {
	newest := map[outcome.Outcome]int{}
	for _, h := range hours {
		class, height := shape(state.Result{Outcome: h.Outcome})
		if class == "good" && h.Took-h.Usual() > time.Hour { // about: one of them may have gone on after the hour
			class += " over"
		}
		all, seen := bits.OnesCount64(h.Minutes), 0
		for begin, length := range stretches(t.shownMinutes(h)) {
			runs := h.Runs*(seen+length)/all - h.Runs*seen/all // as if each minute had as many
			seen += length
			from := h.Begin.Add(time.Duration(begin) * time.Minute)
			last := from.Add(time.Duration(length) * time.Minute)
			p := piece{
				from: from, to: last.Add(max(0, h.Usual()-time.Minute)), last: last,
				class: class, height: height,
				several: true, fromHour: true, counts: countsOf(h.Outcome, max(1, runs)),
			}
			i, ok := newest[h.Outcome]
			if ok && pieces[i].class == class && t.isClose(pieces[i], p) {
				pieces[i].join(p)
				continue
			}
			newest[h.Outcome] = len(pieces)
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// shownMinutes returns the minutes of an hour that lie in the picture. The minutes of an hour are
// bits.
func (t *timeline) shownMinutes(h past.Hour) uint64 {
	first := max(0, int(t.from.Sub(h.Begin)/time.Minute))
	end := min(59, int(t.to.Sub(h.Begin)/time.Minute))
	if first > end {
		return 0
	}
	return h.Minutes >> first << first << (63 - end) >> (63 - end)
}

// livePieces returns the pieces of runs that have begun and live.
func (t *timeline) livePieces(running []view.Running) (pieces []piece) {
	for _, r := range running {
		if !r.Since.IsZero() && r.LastReported == nil { // else it may have ended
			pieces = append(pieces, piece{
				from: r.Since.Time, to: t.now, class: "live", height: 1, href: t.RunURL(r.Run),
				title: func() string { return "running for " + humanize.Age(r.Since.Time, t.now) },
			})
		}
	}
	return pieces
}

// duePieces returns the pieces of slots to come, as long as runs usually take. A slot stands for
// the slots that follow it so closely that they could not be told apart.
func (t *timeline) duePieces(task *schedule.Task, usual time.Duration) (pieces []piece) {
	from, href, step := humanize.Later(t.now, t.from), t.TaskURL(task.Name), t.to.Sub(t.from)/300
	for {
		at, ok := task.When.Next(from)
		if !ok || !at.Before(t.to) {
			return pieces
		}
		p := piece{from: at, to: at.Add(max(usual, step)), class: "due", height: 0.6, due: true, href: href}
		unmet := task.UnmetCondition(at)
		if unmet == "" && view.PauseOf(t.pauses, task, at) != nil {
			unmet = "paused"
		}
		if unmet != "" {
			p.class, p.height, p.to = "skip", 0.3, at.Add(step)
		}
		p.title = func() string {
			title := humanize.SlotZone(at, t.zoneOf(task.Name)) + ": due"
			if moved := task.When.Meaning(at).Moved; moved != "" {
				title += ", " + moved
			}
			if unmet != "" {
				title += ", will be skipped: " + unmet
			}
			return title
		}
		pieces, from = append(pieces, p), at.Add(step-1)
	}
}

// draw draws pieces, one kind after another, and failures on top. Of a kind with very many pieces
// it makes one drawing, which leads to the list of all.
func (t *timeline) draw(d *drawing, pieces []piece, task string) {
	for _, kind := range t.groupByKind(pieces) {
		maxBars := timelineBars
		if kind[0].fromHour {
			maxBars = coarseBars
		}
		if len(kind) > maxBars {
			t.drawAsOne(d, kind, task)
			continue
		}
		for _, p := range kind {
			b := t.barOf(p)
			if p.several {
				b.href = t.listURL(p, task, p.last)
				b.title = fmt.Sprintf("%s (from %s to %s)", p.words(), humanize.SlotZone(p.from, t.zones.zone),
					humanize.SlotZone(p.to, t.zones.zone))
			} else {
				b.href, b.title = p.href, p.title()
			}
			d.bar(b)
		}
	}
}

// barOf returns the bar of a piece, at its place in the row. A piece that overlaps another is
// lower, and outlined.
func (t *timeline) barOf(p piece) bar {
	b := bar{class: p.class, height: p.height * (rowHeight - 8)}
	b.top = rowHeight - 6 - b.height
	if strings.HasSuffix(p.class, " over") {
		b.top += 5
	}
	left := t.percent(p.from)
	b.width = max(thinnest, t.percent(p.to)-left)
	b.left = min(left, 100-b.width)
	return b
}

// groupByKind returns the pieces by their kind. Pieces that are too close to be told apart become
// one piece.
func (t *timeline) groupByKind(pieces []piece) (kinds [][]piece) {
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.from.Compare(b.from) })
	var busy time.Time
	for _, p := range pieces {
		if !p.due && !p.fromHour {
			if p.from.Before(busy) && p.to.After(p.from) {
				p.class += " over"
			}
			busy = humanize.Later(busy, p.to)
		}
		isAlike := func(kind []piece) bool { return kind[0].class == p.class && kind[0].due == p.due }
		i := slices.IndexFunc(kinds, isAlike)
		if i < 0 {
			kinds = append(kinds, []piece{p})
		} else if last := &kinds[i][len(kinds[i])-1]; t.isClose(*last, p) {
			last.join(p)
		} else {
			kinds[i] = append(kinds[i], p)
		}
	}
	order := []string{"good", "skip", "miss", "bad"}
	rank := func(kind []piece) int {
		class, _, _ := strings.Cut(kind[0].class, " ")
		return slices.Index(order, class)
	}
	slices.SortStableFunc(kinds, func(a, b []piece) int { return rank(a) - rank(b) })
	return kinds
}

// isClose reports whether a piece is too close to the piece of its kind before it.
func (t *timeline) isClose(before, p piece) bool {
	begins := humanize.Later(before.from, before.last.Add(-time.Minute)) // its last slot, or itself
	edge := max(t.percent(before.to), t.percent(begins)+thinnest)
	return t.percent(p.from)-edge < closest && (p.fromHour || !p.from.Before(before.to))
}

// drawAsOne draws the pieces of a kind as one link.
func (t *timeline) drawAsOne(d *drawing, kind []piece, task string) {
	var path []byte
	all := kind[0]
	for i, p := range kind {
		b := t.barOf(p)
		path = fmt.Appendf(path, "M%.2f %.1fh%.2fv%.1fh-%.2fz", b.left, b.top, b.width, b.height, b.width)
		if i > 0 {
			all.join(p)
		}
	}
	d.put(`<a href="%s" tabindex="-1"><svg viewBox="0 0 100 27" preserveAspectRatio="none"><path class="%s" d="%s"><title>%s</title></path></svg></a>`,
		t.listURL(all, task, t.to), all.class, string(path), all.words())
}

// listURL leads to the list of the runs for which a piece stands, from slots before a time on.
func (t *timeline) listURL(p piece, task string, before time.Time) string {
	only := ""
	switch all := p.counts.outcomes(); len(all) {
	case 0:
		return t.TaskURL(task)
	case 1:
		only = outcome.Words(all)[0]
	}
	return t.RunsURL(task, only) + "&below=" + strconv.FormatInt(before.UnixMicro(), 10) + "."
}
