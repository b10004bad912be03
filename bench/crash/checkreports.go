//go:build linux

package main

import (
	"context"
	"strings"
	"time"

	"sched/schedule/state"
)

// inFlight is how many attempts of a task that does not overlap may be unrecorded when its budget
// runs out: the one that lives, and the one of a run that no tick has found yet.
const inFlight = 2

// checkReports checks that each report was counted, and once, and that no budget was exceeded by
// more than the attempts that went on when it ran out.
func (c *check) checkReports() {
	db, err := state.OpenRead(c.state(), state.Patience)
	if err != nil {
		return // damaged, which check says
	}
	defer db.Close()
	type place struct {
		run     string
		attempt int
	}
	said, counted := map[place]bool{}, map[place]bool{}
	for _, e := range c.events {
		// A command may be killed after it has reported, before it says so.
		if e.what == reported || e.what == attemptBegan && e.attempt == 1 {
			said[place{e.run, e.attempt}] = true
		}
	}
	spent := map[string]int{}
	for _, t := range c.campaign.tasks {
		if !t.reports && t.budget == 0 {
			continue
		}
		all, err := db.Runs().Spent(context.Background(), t.name, "cost", time.Unix(0, 0))
		if err != nil {
			c.violate(nil, nil, "what %s reported cannot be read: %v", t.name, err)
		}
		for _, s := range all {
			counted[place{s.Run, s.Attempt}] = true
			spent[t.name]++
			if s.Value != 1 || !said[place{s.Run, s.Attempt}] {
				c.violate(nil, c.traces[s.Run], "%s of run %s, attempt %d, was never reported", t.name, short(s.Run), s.Attempt)
			}
		}
		if t.budget > 0 && len(all) > t.budget+inFlight {
			c.violate(nil, nil, "%s has spent %d of %d", t.name, len(all), t.budget)
		}
		c.values += len(all)
	}
	for _, e := range c.events {
		if e.what == reported && !counted[place{e.run, e.attempt}] {
			s := c.traces[e.run]
			if n := len(c.setAside); c.unread || n > 0 && e.at < c.setAside[n-1] {
				c.excuse(damagedHistory, "what attempt %d of run %s reported is gone", e.attempt, short(e.run))
				continue
			}
			c.violateUnlessExcused(nil, s, e.at, max(e.at, s.last), "what attempt %d of run %s reported is not counted",
				e.attempt, short(e.run))
		}
	}
	for _, r := range c.records {
		if t := c.tasks[r.Task]; strings.HasPrefix(r.Reason, "the budget of cost is spent") &&
			spent[r.Task] < t.budget && len(c.windows) == 0 {
			c.violate(&r, nil, "%d of %d were spent", spent[r.Task], t.budget)
		}
	}
}
