package assertion

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
)

// firstAbove returns the first start of the tasks at which more than most starts have come in less
// than the length, and how many that are; 0 if there is no such start.
//
// The starts of one span of 24 hours are counted second by second. They leave the window again
// while starts of two earlier spans come, the old one and the older one:
//
//	| older | old | … | now |
//	     |--- length ----|
func firstAbove(s span, most int, tasks []*schedule.Task, length time.Duration) (at time.Time, count int) {
	seconds := int64((length + time.Second - 1) / time.Second) // starts come at whole seconds
	back, rest := seconds/spanSeconds, int32(seconds%spanSeconds)
	counter := newCounter(s, tasks)
	last := make([]*tally, back+2) // the spans up to now
	for i := range last {
		last[i] = &tally{}
	}
	before := 0 // the starts of all of them but the last one
	for n := int64(0); s.part(n).from.Before(s.to); n++ {
		before += last[back+1].total() - last[0].total()
		last = append(last[1:], counter.count(n))
		three := tallies{last[back+1], last[1], last[0]}
		if three.now.total() > 0 && before+counter.peak(three, rest) > most {
			second, count := three.above(most-before, rest)
			return s.part(n).from.Add(time.Duration(second) * time.Second), before + count
		}
	}
	return time.Time{}, 0
}

const spanSeconds = int64(cron.SpanLength / time.Second)

// A tally has the seconds of a span in which tasks start, in order.
type tally struct {
	seconds []int32 // from the beginning of the span
	upTo    []int   // how many starts have come with that second
	hasKey  bool    // spans with the same starts have the same tally
}

func (t *tally) total() int {
	if len(t.upTo) == 0 {
		return 0
	}
	return t.upTo[len(t.upTo)-1]
}

// tallies are the tally of a span, and the tallies of the two spans whose starts leave the window
// in it.
type tallies struct{ now, old, older *tally }

// above returns the first second at which more than most starts have come, less those that have
// left the window: they are rest seconds older in their span. If there is no such second, it
// returns the largest number.
func (t tallies) above(most int, rest int32) (second int32, count int) {
	var gone, i, j int
	for n, second := range t.now.seconds {
		for ; i < len(t.older.seconds) && t.older.seconds[i] <= second-rest+int32(spanSeconds); i++ {
			gone = t.older.upTo[i]
		}
		for ; j < len(t.old.seconds) && t.old.seconds[j] <= second-rest; j++ {
			gone = t.older.total() + t.old.upTo[j]
		}
		if now := t.now.upTo[n] - gone; n == 0 || now > count {
			count = now
			if now > most {
				return second, now
			}
		}
	}
	return 0, count
}

// A counter counts the starts of spans of 24 hours. It counts spans with the same key once.
type counter struct {
	whole   span
	days    taskDays // one for tasks with the same times
	tasks   []int    // how many tasks that are
	coming  int64    // the next span with starts
	keys    []map[taskKey]uint64
	tallies map[string]*tally
	size    int // of the tallies, in seconds
	peaks   map[tallies]int
	starts  [spanSeconds]int32 // all 0 but while count runs
}

func newCounter(s span, tasks []*schedule.Task) *counter {
	c := &counter{whole: s, tallies: map[string]*tally{}, peaks: map[tallies]int{}}
	index := map[string]int{}
	var distinct []*schedule.Task
	for _, t := range tasks {
		w := t.When
		same := fmt.Sprint(w.Texts(), w.Location, w.Shift, w.From, w.Until, w.Rule, t.Conditions, t.Lacks == "")
		i, isKnown := index[same]
		if !isKnown {
			i = len(distinct)
			index[same], distinct, c.tasks = i, append(distinct, t), append(c.tasks, 0)
			c.keys = append(c.keys, map[taskKey]uint64{})
		}
		c.tasks[i]++
	}
	c.days = newTaskDays(s, distinct)
	c.coming = c.days.next(0)
	return c
}

// maxTallied is for how many seconds a counter remembers tallies: 12 bytes each.
const maxTallied = 4_000_000

// count returns the tally of a span. The numbers of later calls must be larger.
func (c *counter) count(n int64) *tally {
	part := c.whole.part(n)
	key, hasKey := []byte{'-'}, part.isWhole()
	var due []int
	if c.coming == n {
		for i, t := range c.days {
			if t.coming != n {
				continue
			}
			due = append(due, i)
			taskKey, has := t.key(part.from)
			hasKey = hasKey && has
			id, isKnown := c.keys[i][taskKey]
			if !isKnown {
				id = uint64(len(c.keys[i]))
				c.keys[i][taskKey] = id
			}
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(i)), id)
		}
		c.coming = c.days.next(n + 1)
	}
	if known, isKnown := c.tallies[string(key)]; hasKey && isKnown {
		return known
	}
	counted := c.tally(part, due)
	if hasKey {
		if c.size += len(counted.seconds); c.size > maxTallied {
			clear(c.tallies)
			clear(c.peaks)
			c.size = len(counted.seconds)
		}
		counted.hasKey = true
		c.tallies[string(key)] = counted
	}
	return counted
}

// peak returns the largest number that tallies.above finds.
func (c *counter) peak(t tallies, rest int32) int {
	if peak, isKnown := c.peaks[t]; isKnown {
		return peak
	}
	_, peak := t.above(math.MaxInt, rest)
	if t.now.hasKey && t.old.hasKey && t.older.hasKey {
		c.peaks[t] = peak
	}
	return peak
}

// tally counts the starts of the tasks in a part.
func (c *counter) tally(part span, tasks []int) *tally {
	counted := &tally{}
	for _, i := range tasks {
		for at := range part.starts(c.days[i].task) {
			c.starts[at.Sub(part.from)/time.Second] += int32(c.tasks[i])
		}
	}
	total := 0
	for second, count := range c.starts {
		if count > 0 {
			total += int(count)
			counted.seconds, counted.upTo = append(counted.seconds, int32(second)), append(counted.upTo, total)
		}
	}
	clear(c.starts[:])
	return counted
}
