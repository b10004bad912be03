//go:build linux

package main

import "strings"

// checkRequests checks that every confirmed request has one record, and that no request ran that
// was taken back. A request that was killed before sched confirmed it may have a record or no
// record.
func (c *check) checkRequests() {
	records, traces := map[string][]record{}, c.traces
	uncertain := map[string]int{}
	for _, r := range c.records {
		if r.Origin != "" && !strings.HasPrefix(r.Origin, triggeredBy) {
			records[r.Run] = append(records[r.Run], r)
		}
	}
	confirmed, lines := map[string]bool{}, map[string][]int{} // of the journal: when it was confirmed, and taken back
	for _, e := range c.events {
		if e.what == requestEnded {
			lines[e.slot] = append(lines[e.slot], e.at)
		}
	}
	for _, a := range c.requests.asked {
		confirmed[a.run] = true
		c.checkRequest(a, lines[a.run], records[a.run], traces[a.run])
	}
	for run, all := range records {
		if !confirmed[run] {
			uncertain[all[0].Task]++
			if most := c.requests.uncertain[all[0].Task]; uncertain[all[0].Task] > most {
				c.violate(&all[0], traces[run],
					"run %s was not asked for; %d commands that asked for %s were killed or failed",
					short(run), most, all[0].Task)
			}
		}
	}
	for _, run := range c.waiting() {
		c.violate(nil, nil, "request %s waits still", run)
	}
}

// checkRequest checks one request that sched confirmed in the first of the lines of the journal.
func (c *check) checkRequest(a asked, lines []int, records []record, t *trace) {
	c.asked++
	last := len(c.events)
	if t != nil {
		last = t.last
	} else if a.cancelled {
		last = lines[len(lines)-1]
	}
	switch {
	case len(records) == 0:
		c.violateUnlessExcused(nil, t, lines[0], last,
			"run %s of %s was asked for, and has no record", short(a.run), a.task)
	case len(records) > 1:
		c.violate(&records[0], t, "run %s of %s was asked for once, and has %d records",
			short(a.run), a.task, len(records))
	case records[0].Task != a.task:
		c.violate(&records[0], t, "run %s was asked for of %s", short(a.run), a.task)
	case a.cancelled && !strings.HasPrefix(records[0].Reason, cancelledBy):
		c.violate(&records[0], t, "run %s of %s was taken back", short(a.run), a.task)
	}
	if a.cancelled {
		c.cancelled++
	}
}

// cancelledBy begins the reason of a request that was taken back.
const cancelledBy = "cancelled by"
