package web

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
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
