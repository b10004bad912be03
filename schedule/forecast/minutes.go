package forecast

import (
	"iter"
	"slices"
	"time"

	"sched/schedule"
)

// minutesAhead is how many minutes minutes collects at a time: a trade of searches against memory.
const minutesAhead = 6 * 60

// minutes yields each minute in which something is due, with its slots, from the minute of from
// until to. The caller may use the slots until the next minute.
func minutes(s *schedule.Schedule, from, to time.Time) iter.Seq2[time.Time, []schedule.Slot] {
	return func(yield func(time.Time, []schedule.Slot) bool) {
		var ahead [minutesAhead][]schedule.Slot
		for from = from.UTC().Truncate(time.Minute); from.Before(to); from = from.Add(minutesAhead * time.Minute) {
			collect(s, &ahead, from, to)
			for i, due := range ahead {
				slices.SortStableFunc(due, func(a, b schedule.Slot) int { return a.At.Compare(b.At) })
				if len(due) > 0 && !yield(from.Add(time.Duration(i)*time.Minute), due) {
					return
				}
			}
		}
	}
}

// collect sets ahead to the slots of the minutes from `from` on, as far as they come before to.
func collect(s *schedule.Schedule, ahead *[minutesAhead][]schedule.Slot, from, to time.Time) {
	for i := range ahead {
		ahead[i] = ahead[i][:0]
	}
	if end := from.Add(minutesAhead * time.Minute); end.Before(to) {
		to = end
	}
	for t := range s.ActiveTasks() {
		for at := range t.When.Forward(from, to) {
			i := int(at.Sub(from) / time.Minute)
			ahead[i] = append(ahead[i], schedule.Slot{Task: t, At: at})
		}
	}
}
