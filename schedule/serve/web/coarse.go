package web

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// This file draws tasks that are due too often for one bar a slot. A stretch of time with one slot
// after another is one bar. Each kind of outcome has its own bars, so one failure among a thousand
// successes is seen.

// coarseBars is how many bars of one kind are links of their own, with the time that they stand
// for. More of them are one drawing.
const coarseBars = 20

// A stretch is a time with slots of one kind, none of them far from the next.
type stretch struct {
	from, to time.Time
	last     time.Time // the end of the minute of its last slot
}

// A kind is how outcomes look, with the stretches that have them. The stretches are in any order;
// stretches that follow each other closely are one (see add).
type kind struct {
	class     string
	due       bool // it is yet to come
	high      float64
	stretches []stretch
	counts    counts // of the picture, as far as whole minutes tell
}

// many are the kinds of a task, in the order in which they are drawn: failures are on top.
type many []*kind

// finest is how much time has to lie between two stretches: 4 thousandths of the width.
func (t *timeline) finest() time.Duration { return t.to.Sub(t.from) / 250 }

func (all *many) kind(class string, high float64, due bool) *kind {
	for _, k := range *all {
		if k.class == class && k.due == due {
			return k
		}
	}
	k := &kind{class: class, due: due, high: high, counts: counts{}}
	*all = append(*all, k)
	return k
}

func (t *timeline) kindsOf(hours []state.Hour) many {
	all := many{}
	for _, class := range []outcome.Outcome{outcome.Succeeded, outcome.Skipped, outcome.Missed, outcome.Failed} {
		class, high := shape(state.Result{Outcome: class})
		all.kind(class, high, false)
	}
	all.kind("good over", 0.6, false)
	for _, h := range hours {
		class, high := shape(state.Result{Outcome: h.Outcome})
		if class == "good" && h.Took-h.Usual() > time.Hour { // about: one of them may have gone on after the hour
			class += " over"
		}
		t.addHour(all.kind(class, high, false), h)
	}
	return all
}

func (t *timeline) addHour(k *kind, h state.Hour) {
	first := max(0, int(t.from.Sub(h.Begin)/time.Minute))
	last := min(59, int(t.to.Sub(h.Begin)/time.Minute))
	if first > last {
		return
	}
	left := h.Minutes >> first << first << (63 - last) >> (63 - last)
	if left == 0 {
		return
	}
	k.counts[h.Outcome] += max(1, h.Runs*bits.OnesCount64(left)/bits.OnesCount64(h.Minutes))
	usual, apart := h.Usual(), t.finest()
	for left != 0 {
		begin := bits.TrailingZeros64(left)
		long := bits.TrailingZeros64(^(left >> begin))
		left &^= (1<<long - 1) << begin
		from := h.Begin.Add(time.Duration(begin) * time.Minute)
		last := from.Add(time.Duration(long-1) * time.Minute)
		k.add(stretch{from, last.Add(usual), last.Add(time.Minute)}, apart)
	}
}

// addDue adds slots to come. Each stands for the slots that follow it closely.
func (t *timeline) addDue(all *many, due []piece) {
	for _, one := range due {
		k := all.kind(one.class, one.high, true)
		to := one.to
		if next := one.from.Add(t.finest()); to.Before(next) {
			to = next
		}
		k.add(stretch{from: one.from, to: to}, t.finest())
	}
}

// add adds a stretch, or prolongs the one before it if less than apart lies between them.
func (k *kind) add(s stretch, apart time.Duration) {
	if n := len(k.stretches); n > 0 {
		if last := &k.stretches[n-1]; !s.from.Before(last.from) && s.from.Sub(last.to) < apart {
			last.to, last.last = humanize.Later(last.to, s.to), humanize.Later(last.last, s.last)
			return
		}
	}
	k.stretches = append(k.stretches, s)
}

// joined are the stretches, the earliest first. Stretches with less than apart between them become
// one.
func (k *kind) joined(apart time.Duration) []stretch {
	slices.SortFunc(k.stretches, func(a, b stretch) int { return a.from.Compare(b.from) })
	out := kind{stretches: k.stretches[:0]}
	for _, s := range k.stretches {
		out.add(s, apart)
	}
	return out.stretches
}

// listURL leads to the list of the runs that a kind stands for, from slots before a time on.
func (t *timeline) listURL(k *kind, task string, before time.Time) string {
	only := ""
	if len(k.counts) == 1 {
		for o := range k.counts {
			only = strings.ReplaceAll(string(o), " ", "-")
		}
	}
	return t.runsURL(task, only) + "&below=" + strconv.FormatInt(before.UnixMicro(), 10) + "."
}

func (t *timeline) coarse(all many, task string) {
	for _, k := range all {
		high := k.high * (rowHeight - 8)
		title, href := k.counts.String(), t.listURL(k, task, t.to)
		switch {
		case k.due && k.class == "due":
			title, href = "due again and again", t.taskURL(task)
		case k.due:
			title, href = "due again and again, and will be skipped", t.taskURL(task)
		}
		stretches := k.joined(t.finest())
		if len(stretches) > coarseBars {
			t.put(`<a href="%s" tabindex="-1"><svg viewBox="0 0 100 27" preserveAspectRatio="none"><path class="%s" d="%s"><title>%s</title></path></svg></a>`,
				href, k.class, t.drawing(stretches, high), title)
			continue
		}
		for _, s := range stretches {
			b := bar{across: t.at(s.from), top: rowHeight - 6 - high, high: high, class: k.class, href: href}
			if !k.due {
				b.href = t.listURL(k, task, s.last)
			}
			b.wide = max(thinnest, t.at(s.to)-b.across)
			b.across = min(b.across, 100-b.wide)
			b.title = fmt.Sprintf("%s (from %s to %s)", title, humanize.SlotZone(s.from, t.zone), humanize.SlotZone(s.to, t.zone))
			t.bar(b)
		}
	}
}

func (t *timeline) drawing(all []stretch, high float64) markup {
	var path []byte
	for _, s := range all {
		from := t.at(s.from)
		wide := max(thinnest, t.at(s.to)-from)
		path = fmt.Appendf(path, "M%.2f %.1fh%.2fv%.1fh-%.2fz", min(from, 100-wide), rowHeight-6-high, wide, high, wide)
	}
	return markup(path)
}

// tally says in words what is drawn, for readers who cannot see it. A record of several slots
// counts with all of them.
func (t *timeline) tally(all many, records []state.Row) string {
	sum := counts{}
	for _, k := range all {
		for o, n := range k.counts {
			sum[o] += n
		}
	}
	if len(sum) == 0 {
		return tally(records)
	}
	for _, r := range records {
		if t.shows(r) {
			sum[r.Outcome] += max(1, r.Slots)
		}
	}
	return "in this time: " + sum.String()
}
