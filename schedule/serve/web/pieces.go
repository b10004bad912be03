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
	high     float64 // part of the height
	due      bool    // it is yet to come
	href     string
	title    func() string // a function, because few are shown

	several bool      // it stands for several slots: its list and its counts take the place of href and title
	ofHour  bool      // it comes from an hour, which may begin before the hour before it has ended
	counts  counts    // zero of what runs or is due
	last    time.Time // the end of the minute of its last slot
}

const (
	rowHeight  = 22.0
	thinnest   = 0.3 // percent
	closest    = 0.1 // percent: pieces with less between them are drawn as one
	coarseBars = 20  // of hours and of one kind; more are one drawing
)

// ofRecords are the pieces of records.
func (t *timeline) ofRecords(all []state.Row) (pieces []piece) {
	for _, r := range all {
		if from, to := reach(r); t.shows(r) {
			class, high := shape(r.Result)
			pieces = append(pieces, piece{from: from, to: to, class: class, high: high, href: t.recordURL(r),
				title:  func() string { return t.recordTitle(r) },
				counts: countsOf(r.Outcome, max(1, r.Slots)),
				last:   humanize.Later(r.Slot, r.LastSlot).Truncate(time.Minute).Add(time.Minute)})
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

// ofHours are the pieces of hours: one for minutes with slots that follow each other.
func (t *timeline) ofHours(hours []state.Hour) (pieces []piece) {
	newest := map[outcome.Outcome]int{}
	for _, h := range hours {
		class, high := shape(state.Result{Outcome: h.Outcome})
		if class == "good" && h.Took-h.Usual() > time.Hour { // about: one of them may have gone on after the hour
			class += " over"
		}
		first := max(0, int(t.from.Sub(h.Begin)/time.Minute))
		end := min(59, int(t.to.Sub(h.Begin)/time.Minute))
		if first > end {
			continue
		}
		inside := h.Minutes >> first << first << (63 - end) >> (63 - end)
		all, seen := bits.OnesCount64(h.Minutes), 0
		for begin, length := range stretches(inside) {
			runs := h.Runs*(seen+length)/all - h.Runs*seen/all // as if each minute had as many
			seen += length
			from := h.Begin.Add(time.Duration(begin) * time.Minute)
			last := from.Add(time.Duration(length) * time.Minute)
			p := piece{
				from: from, to: last.Add(max(0, h.Usual()-time.Minute)), last: last,
				class: class, high: high,
				several: true, ofHour: true, counts: countsOf(h.Outcome, max(1, runs)),
			}
			i, ok := newest[h.Outcome]
			if ok && pieces[i].class == class && t.close(pieces[i], p) {
				pieces[i].join(p) // else there would be thousands
				continue
			}
			newest[h.Outcome] = len(pieces)
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// stretches yields the beginning and the length of each stretch of minutes that follow each other.
// The minutes of an hour are bits.
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

// future are the slots to come, as long as runs usually take. A slot stands for those that follow
// it so closely that they could not be told apart.
func (t *timeline) future(task *schedule.Task, usual time.Duration) (pieces []piece) {
	from, href, step := humanize.Later(t.now, t.from), t.taskURL(task.Name), t.to.Sub(t.from)/300
	for {
		at, ok := task.When.Next(from)
		if !ok || !at.Before(t.to) {
			return pieces
		}
		p := piece{from: at, to: at.Add(max(usual, step)), class: "due", high: 0.6, due: true, href: href}
		unmet := task.UnmetCondition(at)
		if unmet == "" && view.PauseOf(t.pauses, task, at) != nil {
			unmet = "paused"
		}
		if unmet != "" {
			p.class, p.high, p.to = "skip", 0.3, at.Add(step)
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
	for _, kind := range t.kinds(pieces) {
		most := timelineBars
		if kind[0].ofHour {
			most = coarseBars
		}
		if len(kind) > most {
			t.drawing(kind, task)
			continue
		}
		for _, p := range kind {
			b := bar{class: p.class, href: p.href}
			if b.across, b.wide, b.top, b.high = t.box(p); p.several {
				b.href = t.listURL(p, task, p.last)
				b.title = fmt.Sprintf("%s (from %s to %s)", p.sum(), humanize.SlotZone(p.from, t.zone),
					humanize.SlotZone(p.to, t.zone))
			} else {
				b.title = p.title()
			}
			t.bar(b)
		}
	}
}

// box is the place of a piece in its row. A piece that overlaps another is lower, and outlined.
func (t *timeline) box(p piece) (across, wide, top, high float64) {
	high = p.high * (rowHeight - 8)
	top = rowHeight - 6 - high
	if strings.HasSuffix(p.class, " over") {
		top += 5
	}
	across = t.at(p.from)
	wide = max(thinnest, t.at(p.to)-across)
	return min(across, 100-wide), wide, top, high
}

// kinds are the pieces by their kind. Those that are too close to be told apart are one piece.
func (t *timeline) kinds(pieces []piece) (kinds [][]piece) {
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.from.Compare(b.from) })
	var busy time.Time
	for _, p := range pieces {
		if !p.due && !p.ofHour {
			if p.from.Before(busy) && p.to.After(p.from) {
				p.class += " over"
			}
			busy = humanize.Later(busy, p.to)
		}
		isAlike := func(kind []piece) bool { return kind[0].class == p.class && kind[0].due == p.due }
		i := slices.IndexFunc(kinds, isAlike)
		if i < 0 {
			kinds = append(kinds, []piece{p})
		} else if last := &kinds[i][len(kinds[i])-1]; t.close(*last, p) {
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

// close reports whether a piece is too close to the piece of its kind before it.
func (t *timeline) close(before, p piece) bool {
	edge := max(t.at(before.to), t.at(before.from)+thinnest, t.at(before.last.Add(-time.Minute))+thinnest)
	return t.at(p.from)-edge < closest && (p.ofHour || !p.from.Before(before.to))
}

func (p *piece) join(next piece) {
	p.to, p.last, p.several = humanize.Later(p.to, next.to), humanize.Later(p.last, next.last), true
	for i, n := range next.counts {
		p.counts[i] += n
	}
}

// sum says for what a piece of several slots stands.
func (p piece) sum() string {
	switch {
	case p.class == "due":
		return "due again and again"
	case p.due:
		return "due again and again, and will be skipped"
	}
	return p.counts.String()
}

// drawing draws the pieces of a kind as one link.
func (t *timeline) drawing(kind []piece, task string) {
	var path []byte
	all := kind[0]
	for i, p := range kind {
		across, wide, top, high := t.box(p)
		path = fmt.Appendf(path, "M%.2f %.1fh%.2fv%.1fh-%.2fz", across, top, wide, high, wide)
		if i > 0 {
			all.join(p)
		}
	}
	t.put(`<a href="%s" tabindex="-1"><svg viewBox="0 0 100 27" preserveAspectRatio="none"><path class="%s" d="%s"><title>%s</title></path></svg></a>`,
		t.listURL(all, task, t.to), all.class, markup(path), all.sum())
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

// counts are how often there is each outcome, in the order of outcome.All.
type counts [7]int

func countsOf(o outcome.Outcome, n int) (c counts) {
	c[slices.Index(outcome.All, o)] = n
	return c
}

// outcomes are those that there are.
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
