//go:build linux

package main

import (
	"cmp"
	"slices"
	"sort"
)

// A comer is a run that has begun, and needed a mutex or a seat.
type comer struct {
	run   string
	began int // the first line of its hooks and commands: it got its mutex and seat before
	tick  int // the line in which its tick began
}

// checkOrder checks "first come, first served": no run passed another one that stood before it in
// the queue for its mutex, or for a seat of its pool, from before it came until after it had begun.
// sched promises no more than that. A run whose process was killed has no place until another
// process waits in its stead. So only a place counts that one process has kept all the while.
//
// A run that waits comes when it is first seen in the queue. It may pass runs that have begun to
// wait later than itself: it may have lost its place for a while. All other runs come with their
// tick, and may pass no run.
func (c *check) checkOrder() {
	c.findLinesOfLooks()
	ticks := map[string]int{}
	for _, e := range c.events {
		if e.what == tickBegan {
			ticks[e.tick] = e.at
		}
	}
	comers := map[string]*comer{}
	for _, e := range c.events {
		if begins := e.what == attemptBegan ||
			e.what == hookFired && e.detail == "before 1"; begins && comers[e.run] == nil {
			comers[e.run] = &comer{e.run, e.at, ticks[e.tick]}
		}
	}
	for _, b := range comers {
		t := c.tasks[c.traces[b.run].task.name]
		if t.lock() != "" {
			c.checkPassed(b, t.lock())
		}
		if t.pool {
			c.checkPassed(b, poolName+"#")
		}
	}
}

// findLinesOfLooks turns the lengths of the journal in looks into lines.
func (c *check) findLinesOfLooks() {
	ends := c.journal.ends()
	line := func(size int64) int64 {
		return int64(sort.Search(len(ends), func(i int) bool { return ends[i] > size })) + 1
	}
	for i, l := range c.looks {
		c.looks[i].from, c.looks[i].to = line(l.from), line(l.to)
	}
}

// checkPassed looks for a run that stood in a queue when the comer came, and still stood there when
// the comer had begun.
func (c *check) checkPassed(b *comer, queue string) {
	after, _ := slices.BinarySearchFunc(c.looks, int64(b.began)+1,
		func(l look, line int64) int { return cmp.Compare(l.from, line) })
	if after == len(c.looks) {
		return
	}
	came, own := c.came(b, queue, after)
	if t := c.tasks[c.traces[b.run].task.name]; came < 0 || own == "" && (t.waits != "" || t.all) {
		return // it may have stood there between two looks
	}
	for p := range c.looks[came].standing {
		if p.queue != queue || p.run == b.run || own != "" && p.since > own {
			continue
		}
		c.compared++
		if stays := !slices.ContainsFunc(c.looks[came:after+1], func(l look) bool { return !l.standing[p] }); stays {
			s := c.traces[b.run]
			c.violateUnlessExcused(nil, s, int(c.looks[came].from), b.began, "run %s began in line %d although run %s (%s), owner %d, stood before it in the queue for %s from line %d to %d",
				short(b.run), b.began, short(p.run), p.since, p.owner, queue, c.looks[came].from, c.looks[after].to)
		}
	}
}

// came returns the last look before the comer came; -1 for none. own says since when the comer
// waits; "" if it was seen in no queue.
func (c *check) came(b *comer, queue string, after int) (before int, own string) {
	for i := after; i >= 0; i-- {
		for p := range c.looks[i].standing {
			if p.run == b.run {
				own = p.since
			}
			if p.run == b.run && p.queue == queue {
				return c.beforeStanding(i, p), own
			}
		}
	}
	n, _ := slices.BinarySearchFunc(c.looks, int64(b.tick)+1,
		func(l look, line int64) int { return cmp.Compare(l.to, line) })
	return n - 1, ""
}

// beforeStanding returns the last look that had surely ended before a place, seen in look i, was
// taken; -1 for none. The last look that does not see the place does not count: the place may have
// been taken while that look was under way.
func (c *check) beforeStanding(i int, p place) int {
	for i > 0 && c.looks[i-1].standing[p] {
		i--
	}
	return max(i-2, -1)
}
