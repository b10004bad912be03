//go:build linux

package main

import (
	"regexp"
	"slices"
	"strings"
)

// checkPool looks for more commands of the pool at once than it has seats, and for skips that name
// holders without a seat. It compares attempts and not runs: a run that waits between two attempts
// may have given its seat back.
func (c *check) checkPool() {
	first, last := map[attemptOf]int{}, map[attemptOf]int{}
	for _, e := range c.events {
		if !c.tasks[e.task].pool || e.what != attemptBegan && e.what != attemptLives && e.what != attemptEnded {
			continue
		}
		this := attemptOf{e.run, e.attempt, e.tick}
		if first[this] == 0 {
			first[this] = e.at
		}
		last[this] = e.at
	}
	for this, begin := range first {
		var beside []string
		for other := range first {
			if other != this && first[other] < begin && last[other] > begin {
				beside = append(beside, short(other.run))
			}
		}
		if len(beside) >= seats {
			slices.Sort(beside)
			c.violate(nil, c.traces[this.run], "run %s began in line %d although %s had all %d seats",
				short(this.run), begin, strings.Join(beside, " and "), seats)
		}
	}
	c.checkFullPools()
	c.checkLastTick()
}

// checkLastTick checks that no seat is lost: before the last tick all runs had ended, so it must
// start at least as many runs of the pool as the pool has seats.
func (c *check) checkLastTick() {
	last := c.ticks[len(c.ticks)-1]
	began := 0
	for _, s := range c.traces {
		if s.task.pool && s.tick == last.name() && len(s.attempts) > 0 {
			began++
		}
	}
	if began < seats {
		from, to := c.span(last)
		c.violateUnlessExcused(nil, nil, from, to,
			"tick %d, the last and quiet one, has begun %d runs of the pool with %d seats", last.number, began, seats)
	}
}

// holders finds the runs that the reason of a skip names.
var holders = regexp.MustCompile(`\(run ([0-9a-f]{12})`)

// checkFullPools checks skips because of a full pool: different runs of tasks of the pool must have
// all seats. A run that somebody has asked for may have two for a moment: two processes answer the
// request, and the one that comes second gives its seat back.
func (c *check) checkFullPools() {
	for _, r := range c.records {
		if r.Outcome != "skipped" || !strings.HasPrefix(r.Reason, "pool "+poolName+" is full") {
			continue
		}
		named, twice := map[string]bool{}, 0
		for _, found := range holders.FindAllStringSubmatch(r.Reason, -1) {
			i := slices.IndexFunc(c.records, func(of record) bool { return short(of.Run) == found[1] })
			if named[found[1]] && i >= 0 && c.records[i].Origin != "" {
				twice++
			}
			named[found[1]] = true
			if i >= 0 && !c.tasks[c.records[i].Task].pool {
				c.violate(&r, nil, "it names run %s of %s, which has no pool", found[1], c.records[i].Task)
			}
		}
		if len(named) > seats || len(named)+twice < seats && !strings.Contains(r.Reason, "by a run that left no name") {
			c.violate(&r, nil, "it names %d runs for %d seats", len(named), seats)
		}
		if !c.tasks[r.Task].pool {
			c.violate(&r, nil, "it has no pool")
		}
	}
}
