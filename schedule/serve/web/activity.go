package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/view"
)

// An activityStrip draws what all tasks did in the last 24 hours: for each bucket a column of the
// runs that succeeded, upon it the runs that failed, and a tall mark if slots were missed.
type activityStrip struct {
	Text    string   // all of it in words
	Scale   []string // the numbers of the vertical axis, from the top down
	Picture templ.Component
	Axis    templ.Component
	Shown   []sample // the marks that there are
}

// A sample says what marks of a class mean.
type sample struct{ Class, Means string }

const (
	stripMarks   = 12.0 // pixels above the columns, for the signs of failures
	stripColumns = 60.0 // pixels of the columns
	fewest       = 5    // runs that fill a column at least: a quiet night looks quiet
	mostUnits    = 20   // runs of a column that are drawn one by one
	leastFailed  = 3.0  // pixels of the mark of failures: one among hundreds of runs is seen, too
)

func newActivityStrip(p *page, a view.Activity) *activityStrip {
	if a.To.IsZero() { // the history cannot be read
		return nil
	}
	t := &timeline{page: p, hours: 24, lineEvery: 3 * time.Hour, from: a.From, to: a.To}
	s := &activityStrip{Text: activityText(a), Axis: t.axis()}
	highest, succeeded := 0, 0
	runs := map[time.Time]int{}
	var bad []past.Bucket
	for _, b := range a.Buckets {
		runs[b.Begin] += b.Runs
		highest = max(highest, runs[b.Begin])
		if b.Outcome == outcome.Succeeded {
			succeeded += b.Runs
		} else {
			bad = append(bad, b)
		}
	}
	top := max(fewest, roundUp(highest))
	s.Scale = []string{humanize.Count(top, "run"), "0"}
	var d stripDrawing
	d.put(`<svg aria-hidden="true">`)
	for _, at := range t.axisLines() {
		d.put(`<line class="line" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/>`, t.percent(at), t.percent(at))
	}
	d.columns(t, a.Buckets, top)
	d.missed(t, a.Missed)
	d.failures(t, a.Buckets, bad, top)
	d.live(t, a.Live)
	d.put(`</svg>`)
	s.Picture = d.picture()
	goodMeans := "runs that succeeded; a column has 10 minutes"
	if top <= mostUnits {
		goodMeans = "a run that succeeded; a column has 10 minutes"
	}
	for _, one := range []struct {
		is           bool
		class, means string
	}{
		{succeeded > 0, "good", goodMeans},
		{len(bad) > 0, "bad", "failed, timed out, stopped or lost"},
		{len(a.Missed) > 0, "miss", "missed"},
		{len(a.Live) > 0, "live", "running"},
	} {
		if one.is {
			s.Shown = append(s.Shown, sample{one.class, one.means})
		}
	}
	return s
}

// A stripDrawing is the picture of an activityStrip.
type stripDrawing struct{ drawing }

// roundUp returns the next number of 1, 2, 5, 10, 20, 50 … that is at least n.
func roundUp(n int) int {
	for size := 1; ; size *= 10 {
		for _, factor := range []int{1, 2, 5} {
			if factor*size >= n {
				return factor * size
			}
		}
	}
}

// columns draws the runs that succeeded as one path, and over each column a link that says what it
// stands for. Runs are drawn one by one if there is room.
func (d *stripDrawing) columns(t *timeline, buckets []past.Bucket, top int) {
	var path []byte
	var links drawing
	unit := stripColumns / float64(top)
	for _, b := range buckets {
		if b.Outcome != outcome.Succeeded {
			continue
		}
		left, wide := t.percent(b.Begin), t.percent(b.Begin.Add(view.BucketWidth))-t.percent(b.Begin)
		height, pieces := unit*float64(b.Runs), 1
		if top <= mostUnits {
			pieces = b.Runs
		}
		each := max(1.5, height/float64(pieces))
		for n := range pieces {
			path = fmt.Appendf(path, "M%.2f %.1fh%.2fv-%.1fh-%.2fz",
				left+wide*0.1, stripColumns-each*float64(n), wide*0.8, max(1, each-1), wide*0.8)
		}
		links.bar(bar{left: left, width: wide, top: stripMarks, height: stripColumns, class: "cover",
			href: bucketURL(t, b), title: bucketSpan(t, b) + ": " + humanize.Count(b.Runs, "run") + " succeeded"})
	}
	d.put(`<svg y="%.0f" height="%.0f" viewBox="0 0 100 %.0f" preserveAspectRatio="none"><path class="good" d="`,
		stripMarks, stripColumns, stripColumns)
	d.Write(path)
	d.put(`"/></svg>`)
	d.WriteString(links.String())
}

// failures draws one mark for the failures of a bucket, upon its column of runs that succeeded and
// to the same scale. A column that reaches the top makes room for the least mark.
func (d *stripDrawing) failures(t *timeline, all, bad []past.Bucket, top int) {
	unit := stripColumns / float64(top)
	column := map[time.Time]float64{} // the height of the runs that succeeded
	for _, b := range all {
		if b.Outcome == outcome.Succeeded {
			column[b.Begin] = unit * float64(b.Runs)
		}
	}
	var before time.Time
	for len(bad) > 0 {
		n := slices.IndexFunc(bad, func(b past.Bucket) bool { return !b.Begin.Equal(bad[0].Begin) })
		if n < 0 {
			n = len(bad)
		}
		first, runs, words := bad[0], 0, []string{}
		for _, b := range bad[:n] {
			runs += b.Runs
			words = append(words, fmt.Sprintf("%d %s (%s)", b.Runs, b.Outcome, firstOf(b.Tasks, 3)))
		}
		height := max(leastFailed, unit*float64(runs))
		m := mark{from: first.Begin, to: first.Begin.Add(view.BucketWidth), class: "bad", href: bucketURL(t, first),
			title:  bucketSpan(t, first) + ": " + strings.Join(words, ", "),
			height: height, above: min(column[first.Begin], stripColumns-height)}
		if runs == 1 {
			m.href = t.RunURL(first.Run)
		}
		if before.IsZero() || first.Begin.Sub(before) > view.BucketWidth {
			m.sign = "✕"
		}
		d.mark(t, m)
		before, bad = first.Begin, bad[n:]
	}
}

// missed draws one mark for each stretch of buckets in which slots were missed.
func (d *stripDrawing) missed(t *timeline, missed []state.Row) {
	rows := slices.Clone(missed)
	slices.SortStableFunc(rows, func(a, b state.Row) int { return a.Slot.Compare(b.Slot) })
	var m mark
	var slots int
	var tasks []string
	put := func() {
		if slots > 0 {
			m.title = fmt.Sprintf("%s to %s: %s missed (%s)", humanize.MinuteNearZone(m.from, t.now, t.zones.zone),
				m.to.In(t.zones.zone).Format("15:04"), humanize.Count(slots, "slot"), firstOf(tasks, 3))
			d.mark(t, m)
		}
	}
	for _, r := range rows {
		from, to := extentOf(r)
		from, to = from.Truncate(view.BucketWidth), to.Truncate(view.BucketWidth).Add(view.BucketWidth)
		if slots == 0 || from.After(m.to) {
			put()
			m, slots, tasks = mark{from: from, to: to, class: "miss", sign: "!", height: stripColumns}, 0, nil
		}
		m.to = humanize.Later(m.to, to)
		m.href = t.listURL(piece{counts: countsOf(outcome.Missed, 1)}, "", m.to)
		slots += max(1, r.Slots)
		if !slices.Contains(tasks, r.Task) {
			tasks = append(tasks, r.Task)
		}
	}
	put()
}

// live draws runs that live, each from its beginning to now.
func (d *stripDrawing) live(t *timeline, live []state.Row) {
	for _, r := range live {
		left := t.percent(r.Started)
		d.bar(bar{left: left, width: max(0.5, t.percent(t.now)-left), top: stripMarks + stripColumns - 4, height: 4,
			class: "live", href: t.RunURL(r.ID), title: r.Task + ": running for " + humanize.Age(r.Started, t.now)})
	}
}

// A mark stands on the axis, or above it. Its sign is above the strip.
type mark struct {
	from, to                 time.Time
	height, above            float64 // pixels
	class, sign, href, title string
}

func (d *stripDrawing) mark(t *timeline, m mark) {
	left := t.percent(m.from)
	width := t.percent(m.to) - left
	d.bar(bar{left: left + 0.05, width: max(0.4, width-0.1), top: stripMarks + stripColumns - m.above - m.height,
		height: m.height, class: m.class, href: m.href, title: m.title})
	if m.sign != "" {
		const edge = 1.5 // percent: half of a sign would be cut off on a phone
		middle := min(100-edge, max(edge, left+width/2))
		d.put(`<text class="sign %s" x="%.2f%%" y="9">%s</text>`, m.class, middle, m.sign)
	}
}

// bucketURL leads to the list of the runs up to the end of a bucket.
func bucketURL(t *timeline, b past.Bucket) string {
	return t.listURL(piece{counts: countsOf(b.Outcome, b.Runs)}, "", b.Begin.Add(view.BucketWidth))
}

func bucketSpan(t *timeline, b past.Bucket) string {
	return humanize.MinuteNearZone(b.Begin, t.now, t.zones.zone) + " to " +
		b.Begin.Add(view.BucketWidth).In(t.zones.zone).Format("15:04")
}

// activityText says what there is, in words.
func activityText(a view.Activity) string {
	var sum counts
	for _, b := range a.Buckets {
		sum[slices.Index(outcome.All, b.Outcome)] += b.Runs
	}
	for _, r := range a.Missed {
		sum[slices.Index(outcome.All, outcome.Missed)] += max(1, r.Slots)
	}
	text := sum.String()
	if a.WithoutStore > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s, %d skipped for want of the store", text, a.WithoutStore), ", ")
	}
	if text == "" {
		text = "nothing ran"
	}
	if len(a.Live) > 0 {
		text += fmt.Sprintf(", %d running", len(a.Live))
	}
	return text
}

// firstOf returns the first names of a list, and how many more there are.
func firstOf(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
