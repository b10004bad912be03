//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// checkSlots looks for the one outcome of every slot, beginning with the first tick. A slot whose
// minute was ticked or replayed again may have as many outcomes as there were ticks, but no
// "missed".
func (c *check) checkSlots() {
	byTask := map[string][]record{}
	for _, r := range c.records {
		byTask[r.Task] = append(byTask[r.Task], r)
	}
	traces := map[string][]*trace{}
	for _, t := range c.traces {
		name := slotName(t.task.name, t.slot)
		traces[name] = append(traces[name], t)
	}
	ticks := c.ticksWithTrace()
	byMinute := func(a, b *tick) int { return a.minute.Compare(b.minute) }
	counted := slices.DeleteFunc(slices.Clone(ticks), func(t *tick) bool { return t.replay })
	first, last := slices.MinFunc(counted, byMinute).minute, slices.MaxFunc(ticks, byMinute).minute
	due, open := map[string]int{}, map[string]int{} // slots of a record, and how many of them have no own record
	for minute := first; !minute.After(last); minute = minute.Add(time.Minute) {
		for _, t := range c.campaign.tasks {
			ticks := slices.DeleteFunc(slices.Clone(c.ticks),
				func(k *tick) bool { return !k.couldStart(t.name, minute) })
			for _, slot := range t.due(minute) {
				c.all++
				name := slotName(t.name, slot)
				records := slices.DeleteFunc(slices.Clone(byTask[t.name]), func(r record) bool { return !r.covers(slot) })
				own := slices.DeleteFunc(slices.Clone(records), func(r record) bool { return !r.Until.IsZero() })
				for _, r := range records {
					due[r.Run]++
					if len(own) == 0 && !c.goingBefore[name] {
						open[r.Run]++
					}
				}
				switch {
				case len(own) > 0:
					records = own // a record for several slots gives way to a record for one slot
				case len(records) > 1 && slices.ContainsFunc(records, c.lostWithHistory):
					records = records[:1] // the slot was found to be missed once more
				}
				c.checkSlot(t, slot, ticks, records, traces[name])
			}
		}
	}
	for _, r := range c.records {
		if n := max(1, r.Slots); r.Origin == "" && (n > due[r.Run] || n < open[r.Run]) {
			c.violate(&r, nil, "it stands for %d slots; %d were due, and %d have no other record",
				n, due[r.Run], open[r.Run])
		}
	}
}

// ticksWithTrace leaves out the first ticks if they were killed before they had planned anything:
// the tick after them is the first for sched, and nothing was missed before it. A replay covers no
// minute, so it is the first for nobody.
func (c *check) ticksWithTrace() []*tick {
	for i, t := range c.ticks {
		if t.replay {
			continue
		}
		info, err := os.Stat(c.output(t))
		planned := func(r record) bool { return r.covers(t.minute) }
		if !t.status.Signaled() || err != nil || info.Size() > 0 || slices.ContainsFunc(c.records, planned) {
			return c.ticks[i:]
		}
	}
	return c.ticks
}

// checkSlot compares the records of one slot with the commands that ran for it, and with the ticks
// of its minute.
func (c *check) checkSlot(t task, slot time.Time, ticks []*tick, records []record, traces []*trace) {
	name := slotName(t.name, slot)
	ran := slices.DeleteFunc(slices.Clone(traces), func(s *trace) bool { return len(s.attempts) == 0 })
	for _, r := range records {
		c.outcomes[r.Outcome]++
		if r.Outcome == "missed" && len(records) > 1 {
			c.checkMissed(r, records, name)
		}
	}
	if len(records) == 0 {
		c.checkNoRecord(name, slot, ticks, ran)
		return
	}
	runsLater := t.once || t.all
	most := max(1, len(ticks))
	if runsLater && (len(ticks) > 1 || len(ticks) == 1 && ticks[0].replay) {
		most++ // a later tick may have run it besides
	}
	switch {
	case len(records) <= most:
		for _, s := range ran {
			if !c.calledLost[s.run] && !slices.ContainsFunc(records, func(r record) bool { return r.Run == s.run }) {
				c.violateUnlessExcused(&records[0], s, s.first, s.last, "%s ran, and its record is of another run", name)
			}
		}
	case len(slices.DeleteFunc(slices.Clone(records), c.lostWithHistory)) <= most:
		c.excuse(damagedHistory, "%s ran again, since its record was", name)
	case runsLater && c.unrecorded(ticks):
		c.excuse("tick that could not write down its minute", "%s ran again", name)
	default:
		c.violate(&records[0], nil, "%s has %d outcomes and %d ticks; the second: %+v",
			name, len(records), len(ticks), records[1])
	}
}

// checkNoRecord looks for a fault that explains why a slot has no record. A replay accounts for no
// minute: if no other tick came, it is for the next one to say that the slot was missed.
func (c *check) checkNoRecord(name string, slot time.Time, ticks []*tick, ran []*trace) {
	onlyReplays := !slices.ContainsFunc(ticks, func(t *tick) bool { return !t.replay })
	switch {
	case c.goingBefore[name]:
		c.excuse(damagedHistory, "%s has no outcome: its row was lost", name)
	case len(ran) > 0:
		c.violateUnlessExcused(nil, ran[0], ran[0].first, ran[0].last, "%s ran and has no outcome", name)
	case c.gapForgotten(slot):
		c.excuse(damagedHistory, "%s has no outcome: which minute was the last before it is forgotten", name)
	case onlyReplays:
		from, to := c.spanAfter(slot)
		c.violateUnlessExcused(nil, nil, from, to, "%s has no outcome; no tick came", name)
	case c.lostBeforeClockWasSetBack(ticks):
		c.excuse(damagedHistory, "%s has no outcome: an earlier tick of its minute had it", name)
	default:
		last := ticks[len(ticks)-1]
		for _, t := range ticks {
			if !t.replay {
				last = t // it accounts for the minute, which a replay does not
			}
		}
		from, to := c.span(last)
		c.violateUnlessExcused(nil, nil, from, to, "%s has no outcome; tick %d, %s",
			name, last.number, ending(last.status))
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

// checkMissed reports a "missed" beside another record of the slot: "missed" gives way to other
// outcomes. It is excused if the other record was lost with a damaged history, so that sched could
// not know of it.
func (c *check) checkMissed(missed record, records []record, what string) {
	others := slices.DeleteFunc(slices.Clone(records),
		func(r record) bool { return r.Run == missed.Run || c.lostWithHistory(r) })
	if len(others) > 0 {
		c.violate(&missed, nil, "%s is called missed, and has another outcome: %+v", what, others[0])
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

// slotName is how findings name a slot.
func slotName(task string, slot time.Time) string {
	return fmt.Sprintf("%s at %s", task, slot.UTC().Format(time.RFC3339))
}
