//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
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

// check looks at everything. It is called when all processes have ended.
func (of *campaign) check() findings {
	c := &check{campaign: of, tasks: map[string]task{}, traces: map[string]*trace{}, tickSignals: map[string][]event{},
		calledLost: map[string]bool{}}
	c.findings.losses, c.findings.outcomes = map[string]int{}, map[string]int{}
	for _, t := range of.tasks {
		c.tasks[t.name] = t
	}
	c.leftovers()
	records, err := of.recorded()
	c.unread = err != nil && strings.Contains(err.Error(), "it is damaged: ")
	switch {
	case c.unread:
		c.notes = append(c.notes, "the history was damaged where no tick met it, so it was not set aside; `sched history` says so")
	case err != nil:
		c.wrong(nil, nil, "the history cannot be read: %v", err)
	}
	c.events = of.journal.read()
	c.join(records)
	c.faultWindows()
	c.collectTraces()
	c.tickExits()
	c.slots()
	c.truth()
	c.requested()
	c.chains()
	c.overlaps()
	c.pool()
	c.order()
	c.count()
	return c.findings
}

// join adds the records that were read before the history was damaged. No record may have changed,
// with three exceptions. A missed slot gives way to a later record of it. A tick that no longer has
// the record of a missed slot may find the slot again, in another gap. A run that lives though its
// row is gone adds its row again.
func (c *check) join(records []record) {
	seen := map[string]record{}
	all := append(slices.Clone(records), c.before...)
	for i, r := range all {
		another := func(of record) bool {
			return r.Origin == "" && of.Task == r.Task && of.Run != r.Run && of.Outcome != "missed" &&
				of.covers(r.Slot) && !c.calledLost[of.Run]
		}
		first, again := seen[r.Run]
		switch {
		case i >= len(records) && r.Outcome == "missed" && r.Slots == 1 && slices.ContainsFunc(all, another):
		case !again:
			seen[r.Run] = r
			if len(c.before) > 0 && r.Outcome == "lost" && r.Attempts == 0 && slices.ContainsFunc(all, another) {
				c.excuse(damagedHistory, "%s at %s is called lost, since its record is", r.Task, r.Slot)
				c.calledLost[r.Run] = true
				continue
			}
			c.records = append(c.records, r)
		case !reflect.DeepEqual(first, r) && (first.Outcome != "missed" || r.Outcome != "missed"):
			c.wrong(&r, nil, "run %s has another record: %+v", short(r.Run), first)
		}
	}
}

// slots looks for the one outcome of every slot, beginning with the first tick. A slot whose minute
// was ticked or replayed again may have as many outcomes as there were ticks, but no "missed".
func (c *check) slots() {
	byTask := map[string][]record{}
	for _, r := range c.records {
		byTask[r.Task] = append(byTask[r.Task], r)
	}
	traces := map[string][]*trace{}
	for _, s := range c.traces {
		traces[s.task.name+s.slot.String()] = append(traces[s.task.name+s.slot.String()], s)
	}
	ticks := c.ticksWithTrace()
	byMinute := func(a, b *tick) int { return a.minute.Compare(b.minute) }
	first, last := slices.MinFunc(ticks, byMinute).minute, slices.MaxFunc(ticks, byMinute).minute
	due, open := map[string]int{}, map[string]int{} // slots of a record, and how many of them have no own record
	for minute := first; !minute.After(last); minute = minute.Add(time.Minute) {
		for _, t := range c.campaign.tasks {
			for _, slot := range t.due(minute) {
				c.all++
				of := slices.DeleteFunc(slices.Clone(byTask[t.name]), func(r record) bool { return !r.covers(slot) })
				own := slices.DeleteFunc(slices.Clone(of), func(r record) bool { return !r.Until.IsZero() })
				for _, r := range of {
					due[r.Run]++
					if len(own) == 0 && !c.goingBefore[slotName(t.name, slot)] {
						open[r.Run]++
					}
				}
				switch {
				case len(own) > 0:
					of = own // a record for several slots gives way to a record for one slot
				case len(of) > 1 && slices.ContainsFunc(of, c.lostWithHistory):
					of = of[:1] // the slot was found to be missed once more
				}
				ticks := slices.DeleteFunc(slices.Clone(c.ticks),
					func(k *tick) bool { return !k.couldStart(t.name, minute) })
				c.slot(t, slot, ticks, of, traces[t.name+slot.String()])
			}
		}
	}
	for _, r := range c.records {
		if n := max(1, r.Slots); r.Origin == "" && (n > due[r.Run] || n < open[r.Run]) {
			c.wrong(&r, nil, "it stands for %d slots, of which %d were due, and %d have no other record",
				n, due[r.Run], open[r.Run])
		}
	}
}

// ticksWithTrace leaves out the first ticks if they were killed before they had planned anything:
// the tick after them is the first for sched, and nothing was missed before it.
func (c *check) ticksWithTrace() []*tick {
	for i, t := range c.ticks {
		info, err := os.Stat(c.output(t))
		planned := func(r record) bool { return r.covers(t.minute) }
		if !t.status.Signaled() || err != nil || info.Size() > 0 || slices.ContainsFunc(c.records, planned) {
			return c.ticks[i:]
		}
	}
	return c.ticks
}

// slot compares the records of one slot with the commands that ran for it, and with the ticks of
// its minute.
func (c *check) slot(t task, slot time.Time, ticks []*tick, records []record, traces []*trace) {
	what := slotName(t.name, slot)
	var ran []*trace
	for _, s := range traces {
		if len(s.attempts) > 0 {
			ran = append(ran, s)
		}
	}
	most := max(1, len(ticks))
	if (t.once || t.all) && (len(ticks) > 1 || len(ticks) == 1 && ticks[0].replay) {
		most++ // a later tick may have run it besides
	}
	for _, r := range records {
		c.outcomes[r.Outcome]++
		if r.Outcome == "missed" && len(records) > 1 {
			c.missedBesides(r, records, what)
		}
	}
	switch {
	case len(records) > most && len(slices.DeleteFunc(slices.Clone(records), c.lostWithHistory)) <= most:
		c.excuse(damagedHistory, "%s ran again, since its record was", what)
	case len(records) > most && (t.once || t.all) && c.unrecorded(ticks):
		c.excuse("tick that could not write down its minute", "%s ran again", what)
	case len(records) > most:
		c.wrong(&records[0], nil, "%s has %d outcomes and %d ticks; the second: %+v",
			what, len(records), len(ticks), records[1])
	case len(records) > 0:
		for _, s := range ran {
			if !c.calledLost[s.run] && !slices.ContainsFunc(records, func(r record) bool { return r.Run == s.run }) {
				c.wrongUnlessExcused(&records[0], s, s.first, s.last, "%s ran, and its record is of another run", what)
			}
		}
	case c.goingBefore[what]:
		c.excuse(damagedHistory, "%s has no outcome: its row was lost", what)
	case len(ran) > 0:
		c.wrongUnlessExcused(nil, ran[0], ran[0].first, ran[0].last, "%s ran and has no outcome", what)
	case c.gapForgotten(slot):
		c.excuse(damagedHistory, "%s has no outcome: which minute was the last before it is forgotten", what)
	case len(ticks) == 0:
		from, to := c.spanAfter(slot)
		c.wrongUnlessExcused(nil, nil, from, to, "%s has no outcome; no tick came", what)
	default:
		tick := ticks[len(ticks)-1]
		for _, t := range ticks {
			if !t.replay {
				tick = t // it accounts for the minute, which a replay does not
			}
		}
		if c.lostBeforeClockWasSetBack(ticks) {
			c.excuse(damagedHistory, "%s has no outcome: an earlier tick of its minute had it", what)
			return
		}
		from, to := c.span(tick)
		c.wrongUnlessExcused(nil, nil, from, to, "%s has no outcome; tick %d, %s",
			what, tick.number, ending(tick.status))
	}
}

// lostBeforeClockWasSetBack reports whether one of the ticks of a minute, which came again when the
// clock was set back, lived while the database was damaged. With the new database sched does not
// know that the minute was ever due, but takes it for a time before the first tick.
func (c *check) lostBeforeClockWasSetBack(ticks []*tick) bool {
	return slices.ContainsFunc(ticks, func(t *tick) bool {
		from, to := c.span(t)
		return !t.replay && c.excusedBy(from, to) == damagedHistory
	})
}

// unrecorded reports whether one of the ticks lived while the folder was full or read-only. The
// next tick may not know of it, and run once a slot that seems to be missed.
func (c *check) unrecorded(ticks []*tick) bool {
	return slices.ContainsFunc(ticks, func(t *tick) bool {
		from, to := c.span(t)
		return slices.ContainsFunc(c.unwritable, func(w window) bool { return from <= w.to && to >= w.from })
	})
}

// missedBesides reports a "missed" beside another record of the slot: "missed" gives way to other
// outcomes. It is excused if the other record was lost with a damaged history, so that sched could
// not know of it.
func (c *check) missedBesides(missed record, records []record, what string) {
	others := slices.DeleteFunc(slices.Clone(records),
		func(r record) bool { return r.Run == missed.Run || c.lostWithHistory(r) })
	if len(others) > 0 {
		c.wrong(&missed, nil, "%s is called missed, and has another outcome: %+v", what, others[0])
	} else {
		c.excuse(damagedHistory, "%s is called missed, since its record is", what)
	}
}

// lostWithHistory reports whether a record was in a damaged history, so that ticks did not know of
// it any more.
func (c *check) lostWithHistory(r record) bool {
	return slices.ContainsFunc(c.before, func(b record) bool { return b.Run == r.Run })
}

// gapForgotten reports whether the last covered minute before a slot was lost with a damaged
// history: then the next tick finds no gap. So it is for the minutes from the last tick before the
// history was set aside to the first one that ended well with the new one.
func (c *check) gapForgotten(slot time.Time) bool {
	for _, line := range c.setAside {
		var before time.Time
		for _, t := range c.ticks {
			if t.replay || t.only != "" {
				continue
			}
			if from, _ := c.span(t); from < line {
				before = t.minute
			} else if t.status.Exited() {
				if !slot.Before(before) && slot.Before(t.minute) {
					return true
				}
				break
			}
		}
	}
	return false
}

// span returns the lines of the journal between which a tick lived.
func (c *check) span(t *tick) (from, to int) {
	if c.spans == nil {
		c.spans = map[string][2]int{}
		for _, e := range c.events {
			span := c.spans[e.tick]
			switch e.what {
			case tickBegan:
				span[0] = e.at
			case tickEnded:
				span[1] = e.at
			}
			c.spans[e.tick] = span
		}
	}
	span := c.spans[t.name()]
	return span[0], span[1]
}

// spanAfter returns the lines between which the first tick after a slot lived: it can have found
// out that the slot was missed.
func (c *check) spanAfter(slot time.Time) (from, to int) {
	for _, t := range c.ticks {
		if !t.replay && t.minute.After(slot) {
			return c.span(t)
		}
	}
	return 0, 0
}

// truth checks that each record is true, and that its hooks fired: once each, or twice if a kill
// came before sched wrote down that the hook had fired.
func (c *check) truth() {
	recorded := map[string]record{}
	for _, r := range c.records {
		if r.Slots > 1 {
			continue
		}
		if _, twice := recorded[r.Run]; twice {
			c.wrong(&r, nil, "run %s has two records", short(r.Run))
		}
		recorded[r.Run] = r
		s := c.traces[r.Run]
		if s == nil {
			s = &trace{run: r.Run, task: c.tasks[r.Task], slot: r.Slot}
		}
		if s.task.name == "" { // its processes were killed before they could write
			s.task, s.slot = c.tasks[r.Task], r.Slot
		}
		if s.tick == "" {
			c.assignTick(r, s)
		}
		if wrong := contradiction(r, s); wrong != "" {
			c.wrongUnlessExcused(&r, s, s.first, s.last, "%s", wrong)
		}
		c.hooks(r, s)
	}
	for _, run := range slices.Sorted(maps.Keys(c.traces)) {
		s := c.traces[run]
		for name, events := range s.hooks {
			switch {
			case len(events) == 2 && c.excusedBy(events[0].at, events[1].at) == "" && c.firingWasKilled(s, events):
				c.excuse("killed before it wrote down that a hook had fired",
					"hook %s of run %s fired twice", name, short(s.run))
			case len(events) > 1:
				c.wrongUnlessExcused(nil, s, events[0].at, events[len(events)-1].at,
					"hook %s fired %d times", name, len(events))
			}
		}
		for n, a := range s.attempts {
			if a.began > 1 {
				c.wrong(nil, s, "attempt %d began %d times", n, a.began)
			}
		}
	}
}

// firingWasKilled reports whether the process that first fired a hook was killed: a process of the
// run, or of the tick that found the run.
func (c *check) firingWasKilled(s *trace, fired []event) bool {
	for _, e := range append(slices.Clone(c.tickSignals[fired[0].tick]), s.signals...) {
		if e.outcome == "killed" && e.at < fired[1].at &&
			slices.Contains([]string{tickProcess, witness, supervisor, successor, finish, forked}, e.detail) {
			return true
		}
	}
	return false
}

// assignTick finds the tick of a run whose processes wrote nothing.
func (c *check) assignTick(r record, s *trace) {
	if r.Cause != nil && c.traces[r.Cause.Run] != nil {
		cause := c.traces[r.Cause.Run]
		s.tick = cause.tick
		// the process that was to start it belongs to the tick that finished its cause
		for _, tick := range cause.finishers() {
			s.signals = append(s.signals, c.tickSignals[tick]...)
		}
	}
	belongs := func(t *tick) {
		s.tick = t.name()
		s.signals = append(s.signals, c.tickSignals[s.tick]...)
		from, to := c.span(t)
		if s.first == 0 || from < s.first { // a minute may come twice, and each of its ticks may have started the run
			s.first = from
		}
		s.last = max(s.last, to)
	}
	if t := c.teller(r.Run); t != nil && s.tick == "" {
		belongs(t)
	}
	for _, t := range c.ticks { // a tick may be killed before it tells of a run that it starts
		if r.Origin == "" && t.couldStart(s.task.name, s.slot.Truncate(time.Minute)) {
			belongs(t)
		}
	}
	for _, other := range c.traces { // the run of a slot that is called lost under another id, because its row is gone
		if s.tick == "" && other.task.name == s.task.name && other.slot.Equal(s.slot) {
			s.first, s.last = other.first, max(s.last, other.last)
		}
	}
}

// teller returns the first tick that tells of a run, in any minute; nil if no tick does.
func (c *check) teller(run string) *tick {
	if c.tellers == nil {
		c.tellers = map[string]*tick{}
		for _, t := range c.ticks {
			text, _ := os.ReadFile(c.output(t))
			for _, id := range runIDs.FindAllString(string(text), -1) {
				if c.tellers[id] == nil {
					c.tellers[id] = t
				}
			}
		}
	}
	return c.tellers[run]
}

var runIDs = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// slotName is how findings name a slot.
func slotName(task string, slot time.Time) string {
	return fmt.Sprintf("%s at %s", task, slot.UTC().Format(time.RFC3339))
}

// overlaps looks for a command that goes on after the next command with its mutex has begun. A
// command that was killed writes no end, but nothing else either. overlaps compares attempts and
// not runs: a run that waits between two attempts may have given its mutex back.
func (c *check) overlaps() {
	newest := map[string]attemptOf{}      // the attempt that began last, of each mutex
	follower := map[attemptOf]attemptOf{} // the attempt that began after this one, with the same mutex
	for _, e := range c.events {
		name, this := c.tasks[e.task].lock(), attemptOf{e.run, e.attempt, e.tick}
		switch {
		case name == "" || e.what != attemptBegan && e.what != attemptLives && e.what != attemptEnded:
		case follower[this] != attemptOf{}:
			s := c.traces[e.run]
			c.wrong(nil, s, "run %s goes on in line %d although %s has begun, which has its mutex, too",
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
