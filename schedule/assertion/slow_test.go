package assertion

import (
	"iter"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// The proofs go over kinds of days. The functions below say the same start by start.

// SlowProof returns what breaks an assertion, as Prove does.
func SlowProof(text string, in *schedule.Schedule, from, to time.Time) *Break {
	r, err := parse(text)
	if err != nil {
		panic(err)
	}
	s := span{Schedule: in, from: from.UTC().Truncate(time.Minute), to: to, chosen: new([]*schedule.Task)}
	switch r := r.(type) {
	case windowRule:
		return s.firstBreak(r.tasks, func(t *schedule.Task) *Break { return earlier(r.slowOutside(s, t), r.slowMissed(s, t)) })
	case neverRule:
		return s.firstBreak(r.tasks, func(t *schedule.Task) *Break {
			for at := range s.starts(t) {
				local := at.In(r.zoneOf(t))
				if r.window.Contains(local) && r.days.Contains(dateOf(r.opened(local)).Weekday()) {
					return breakAt(at, r.zoneOf(t), "%s starts inside %s on", t.Name, r.window)
				}
			}
			return nil
		})
	case orderRule:
		return r.slowProof(s)
	case countRule:
		return r.slowProof(s)
	case gapRule:
		return s.firstBreak(r.tasks, func(t *schedule.Task) *Break { return r.slowGap(s, t) })
	}
	panic("no rule")
}

func (r windowRule) slowOutside(s span, t *schedule.Task) *Break {
	for at := range s.starts(t) {
		if !r.window.Contains(at.In(r.zoneOf(t))) {
			return breakAt(at, r.zoneOf(t), "%s starts outside %s on", t.Name, r.window)
		}
	}
	return nil
}

func (r windowRule) slowMissed(s span, t *schedule.Task) *Break {
	if !r.onEachDay {
		return nil
	}
	next := dayNumber(s.from.In(r.zoneOf(t))) + 1
	for at := range s.starts(t) {
		local := at.In(r.zoneOf(t))
		if !r.window.Contains(local) {
			continue
		}
		day := r.opened(local)
		if b := r.missed(t, next, day); b != nil {
			return b
		}
		next = max(next, day+1)
	}
	return r.missed(t, next, dayNumber(s.to.In(r.zoneOf(t)))-1)
}

func (r orderRule) slowProof(s span) *Break {
	second, broken := s.named(r.second)
	if broken != nil {
		return broken
	}
	first, broken := s.named(r.first)
	if broken != nil {
		return broken
	}
	zone, early := second.When.Location, s
	early.from = s.from.Add(-max(r.within, 48*time.Hour))
	next, stop := iter.Pull(early.starts(first))
	defer stop()
	var last time.Time
	coming, more := next()
	for at := range s.starts(second) {
		for more && coming.Before(at) {
			last = coming
			coming, more = next()
		}
		if r.within > 0 && at.Sub(last) > r.within {
			return breakAt(at, zone, "%s does not start within %s before %s does on",
				r.first, humanize.Duration(r.within), r.second)
		}
		if r.within == 0 && (last.IsZero() || dayNumber(last.In(zone)) != dayNumber(at.In(zone))) {
			return breakAt(at, zone, "%s has not started on the day when %s does on", r.first, r.second)
		}
	}
	return nil
}

func (r countRule) slowProof(s span) *Break {
	tasks, broken := s.choose(r.tasks)
	if broken != nil {
		return broken
	}
	counts := map[int64]int{}
	for _, t := range tasks {
		for at := range s.starts(t) {
			counts[at.Unix()]++
		}
	}
	var recent []int64
	total := 0
	for at := s.from.Unix(); at < s.to.Unix()+1; at++ {
		if counts[at] == 0 {
			continue
		}
		for len(recent) > 0 && time.Duration(at-recent[0])*time.Second >= r.length {
			total -= counts[recent[0]]
			recent = recent[1:]
		}
		recent = append(recent, at)
		if total += counts[at]; total > r.most {
			return breakAt(time.Unix(at, 0), s.Location, "%s of %s within %s, the last one on",
				humanize.Count(total, "start"), r.tasks, r.text)
		}
	}
	return nil
}

func (r gapRule) slowGap(s span, t *schedule.Task) *Break {
	isTooLong := func(last, next time.Time) bool {
		if r.days == 0 {
			return next.Sub(last) > r.longest
		}
		return dayNumber(next.In(t.When.Location)) > dayNumber(last.In(t.When.Location))+int64(r.days)
	}
	last := s.from
	for at := range s.starts(t) {
		if isTooLong(last, at) {
			break
		}
		last = at
	}
	if !isTooLong(last, s.to) {
		return nil
	}
	return breakAt(last, t.When.Location, "%s does not start in the %s after", t.Name, r.text)
}
