package web

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A piece is a part of the row of a task in a timeline: a run, a slot without one, a slot to come,
// or the slots of some minutes of an hour. Pieces of one kind that are too close to be told apart
// become one piece. Each kind of outcome has its own pieces, so one failure among a thousand
// successes is seen.
type piece struct {
	from, to time.Time
	class    string
	height   float64 // part of the height of the row
	due      bool    // it is yet to come
	href     string
	title    func() string // a function, because few are shown

	several  bool      // it stands for several slots: its list and its counts take the place of href and title
	fromHour bool      // it comes from an hour, which may begin before the hour before it has ended
	counts   counts    // zero of what runs or is due
	last     time.Time // the end of the minute of its last slot
}

const (
	rowHeight  = 22.0
	thinnest   = 0.3 // percent
	closest    = 0.1 // percent: pieces with less between them are drawn as one
	coarseBars = 20  // of hours and of one kind; more are one drawing
)

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

// extentOf returns when a run began and ended, or from when until when the slots of a record were.
func extentOf(r state.Row) (from, to time.Time) {
	from, to = r.Started, r.Ended
	if r.Started.IsZero() {
		from, to = r.Slot, r.Slot
	}
	if r.IsRange() {
		to = r.LastSlot
	}
	return from, to
}

// hourPieces returns the pieces of hours: one for minutes with slots that follow each other. Close
// pieces become one at once, because there may be thousands.
func (t *timeline) hourPieces(hours []state.Hour) (pieces []piece) {
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
func (t *timeline) shownMinutes(h state.Hour) uint64 {
	first := max(0, int(t.from.Sub(h.Begin)/time.Minute))
	end := min(59, int(t.to.Sub(h.Begin)/time.Minute))
	if first > end {
		return 0
	}
	return h.Minutes >> first << first << (63 - end) >> (63 - end)
}

// stretches yields the beginning and the length of each stretch of minutes that follow each other.
func stretches(minutes uint64) iter.Seq2[int, int] {
	return func(yield func(begin, length int) bool) {
		for minutes != 0 {
			begin := bits.TrailingZeros64(minutes)
			length := bits.TrailingZeros64(^(minutes >> begin))
			minutes &^= (1<<length - 1) << begin
			if !yield(begin, length) {
				return
			}
		}
	}
}

// livePieces returns the pieces of runs that have begun and live.
func (t *timeline) livePieces(running []view.Running) (pieces []piece) {
	for _, r := range running {
		if !r.Began.IsZero() {
			pieces = append(pieces, piece{
				from: r.Began, to: t.now, class: "live", height: 1, href: t.runURL(r.Run),
				title: func() string { return "running for " + humanize.Age(r.Began, t.now) },
			})
		}
	}
	return pieces
}

// duePieces returns the pieces of slots to come, as long as runs usually take. A slot stands for
// the slots that follow it so closely that they could not be told apart.
func (t *timeline) duePieces(task *schedule.Task, usual time.Duration) (pieces []piece) {
	from, href, step := humanize.Later(t.now, t.from), t.taskURL(task.Name), t.to.Sub(t.from)/300
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
func (t *timeline) draw(pieces []piece, task string) {
	for _, kind := range t.groupByKind(pieces) {
		maxBars := timelineBars
		if kind[0].fromHour {
			maxBars = coarseBars
		}
		if len(kind) > maxBars {
			t.drawAsOne(kind, task)
			continue
		}
		for _, p := range kind {
			b := t.barOf(p)
			if p.several {
				b.href = t.listURL(p, task, p.last)
				b.title = fmt.Sprintf("%s (from %s to %s)", p.words(), humanize.SlotZone(p.from, t.zone),
					humanize.SlotZone(p.to, t.zone))
			} else {
				b.href, b.title = p.href, p.title()
			}
			t.bar(b)
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

func (p *piece) join(next piece) {
	p.to, p.last, p.several = humanize.Later(p.to, next.to), humanize.Later(p.last, next.last), true
	for i, n := range next.counts {
		p.counts[i] += n
	}
}

// words says for what a piece of several slots stands.
func (p piece) words() string {
	switch {
	case p.class == "due":
		return "due again and again"
	case p.due:
		return "due again and again, and will be skipped"
	}
	return p.counts.String()
}

// drawAsOne draws the pieces of a kind as one link.
func (t *timeline) drawAsOne(kind []piece, task string) {
	var path []byte
	all := kind[0]
	for i, p := range kind {
		b := t.barOf(p)
		path = fmt.Appendf(path, "M%.2f %.1fh%.2fv%.1fh-%.2fz", b.left, b.top, b.width, b.height, b.width)
		if i > 0 {
			all.join(p)
		}
	}
	t.put(`<a href="%s" tabindex="-1"><svg viewBox="0 0 100 27" preserveAspectRatio="none"><path class="%s" d="%s"><title>%s</title></path></svg></a>`,
		t.listURL(all, task, t.to), all.class, markup(path), all.words())
}

// listURL leads to the list of the runs for which a piece stands, from slots before a time on.
func (t *timeline) listURL(p piece, task string, before time.Time) string {
	only := ""
	switch all := p.counts.outcomes(); len(all) {
	case 0:
		return t.taskURL(task)
	case 1:
		only = outcome.Words(all)[0]
	}
	return t.runsURL(task, only) + "&below=" + strconv.FormatInt(before.UnixMicro(), 10) + "."
}

// sumOf adds up the outcomes of pieces. A record of several slots counts with all of them.
func sumOf(pieces []piece) counts {
	sum := piece{}
	for _, p := range pieces {
		sum.join(p)
	}
	return sum.counts
}

// tallyText says how often there is each outcome among the last records.
func tallyText(records []state.Row) string {
	if len(records) == 0 {
		return "no runs yet"
	}
	var sum counts
	for _, r := range records {
		sum[slices.Index(outcome.All, r.Outcome)]++
	}
	return "the last " + fmt.Sprint(len(records)) + ": " + sum.String()
}

// counts says how often there is each outcome, in the order of outcome.All, which has seven.
type counts [7]int

func countsOf(o outcome.Outcome, n int) (c counts) {
	c[slices.Index(outcome.All, o)] = n
	return c
}

// outcomes returns the outcomes that there are.
func (c counts) outcomes() (all []outcome.Outcome) {
	for i, o := range outcome.All {
		if c[i] > 0 {
			all = append(all, o)
		}
	}
	return all
}

func (c counts) String() string {
	var parts []string
	for i, o := range outcome.All {
		if c[i] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[i], o))
		}
	}
	return strings.Join(parts, ", ")
}
