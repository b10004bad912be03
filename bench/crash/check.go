//go:build linux

package main

import (
	"reflect"
	"slices"
	"strings"
)

// A check compares what sched recorded with the journal.
type check struct {
	*campaign
	events      []event
	records     []record
	tasks       map[string]task
	traces      map[string]*trace
	spans       map[string][2]int  // the lines in which ticks began and ended; nil: not looked up yet
	tickSignals map[string][]event // that ticks got, by the number of the tick
	tellers     map[string]*tick   // by run: the first tick whose output names it; nil before teller needs it
	windows     []window
	unwritable  []window        // in which the folder was full or read-only
	calledLost  map[string]bool // runs whose record join excused; they may have run, in a second tick of their minute
	unread      bool            // the history is damaged at the end, and was not set aside
	findings
}

// judge looks at everything. It is called when all processes have ended.
func judge(w *campaign) findings {
	c := &check{
		campaign:    w,
		tasks:       map[string]task{},
		traces:      map[string]*trace{},
		tickSignals: map[string][]event{},
		calledLost:  map[string]bool{},
	}
	c.findings.losses, c.findings.outcomes = map[string]int{}, map[string]int{}
	for _, t := range w.tasks {
		c.tasks[t.name] = t
	}
	c.checkLeftovers()
	records, err := w.recorded()
	c.unread = err != nil && strings.Contains(err.Error(), "it is damaged: ")
	switch {
	case c.unread:
		c.notes = append(c.notes, "the history was damaged where no tick met it, so it was not set aside; `sched history` says so")
	case err != nil:
		c.violate(nil, nil, "the history cannot be read: %v", err)
	}
	c.events = w.journal.read()
	c.joinRecords(records)
	c.findWindows()
	c.collectTraces()
	c.placeRequests()
	c.checkTickExits()
	c.checkSlots()
	c.checkTruth()
	c.checkRequests()
	c.checkChains()
	c.checkOverlaps()
	c.checkPool()
	c.checkReports()
	c.checkOrder()
	c.count()
	return c.findings
}

// joinRecords adds the records that were read before the history was damaged. No record may have
// changed, with three exceptions:
//
//   - A missed slot gives way to a later record of it: the missed record is left out.
//   - A tick that no longer has the record of a missed slot may find the slot again, in another gap.
//   - A run that lives though its row is gone adds its row again. The record that calls this run
//     lost is left out.
func (c *check) joinRecords(records []record) {
	seen := map[string]record{}
	all := append(slices.Clone(records), c.before...)
	for i, r := range all {
		hasOther := func() bool {
			return slices.ContainsFunc(all, func(other record) bool {
				return r.Origin == "" && other.Task == r.Task && other.Run != r.Run && other.Outcome != "missed" &&
					other.covers(r.Slot) && !c.calledLost[other.Run]
			})
		}
		isOld := i >= len(records)
		first, again := seen[r.Run]
		switch {
		case isOld && r.Outcome == "missed" && r.Slots == 1 && hasOther():
		case again && !reflect.DeepEqual(first, r) && (first.Outcome != "missed" || r.Outcome != "missed"):
			c.violate(&r, nil, "run %s has another record: %+v", short(r.Run), first)
		case again:
		case len(c.before) > 0 && r.Outcome == "lost" && r.Attempts == 0 && hasOther():
			seen[r.Run] = r
			c.excuse(damagedHistory, "%s at %s is called lost, since its record is", r.Task, r.Slot)
			c.calledLost[r.Run] = true
		default:
			seen[r.Run] = r
			c.records = append(c.records, r)
		}
	}
}

// checkOverlaps looks for a command that goes on after the next command with its mutex has begun. A
// command that was killed writes no end, but nothing else either. overlaps compares attempts and
// not runs: a run that waits between two attempts may have given its mutex back.
func (c *check) checkOverlaps() {
	newest := map[string]attemptOf{}      // the attempt that began last, of each mutex
	follower := map[attemptOf]attemptOf{} // the attempt that began after this one, with the same mutex
	for _, e := range c.events {
		name, this := c.tasks[e.task].lock(), attemptOf{e.run, e.attempt, e.tick}
		switch {
		case name == "" || e.what != attemptBegan && e.what != attemptLives && e.what != attemptEnded:
		case follower[this] != attemptOf{}:
			s := c.traces[e.run]
			c.violate(nil, s, "run %s goes on in line %d although %s has begun, which has its mutex, too",
				short(e.run), e.at, short(follower[this].run))
			delete(follower, this) // once is enough
		case e.what == attemptBegan && newest[name] != this:
			follower[newest[name]] = this
			newest[name] = this
		}
	}
}

// An attemptOf names one command that ran. An attempt that nobody could write down, because the
// folder was read-only, may run again in a later tick.
type attemptOf struct {
	run    string
	number int
	tick   string
}
