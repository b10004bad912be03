package cron

import (
	"strings"
	"time"
)

// horizon is how far Next looks. The rarest date that exists, 29 February on a given weekday, is
// 40 years away at most (when a century without a leap day lies in between).
const horizon = 41 * 366 * daySeconds

// Slots returns the instants at which w is due in the absolute minute that holds minute: in UTC, in
// order, each once. It returns nil where w is not due. It is what Next would walk through.
func (w When) Slots(minute time.Time) []time.Time {
	from := minute.Unix()
	from -= mod(from, minuteSeconds)
	var slots []time.Time
	for t, ok := w.next(from, from+minuteSeconds); ok; t, ok = w.next(t+1, from+minuteSeconds) {
		slots = append(slots, time.Unix(t, 0).UTC())
	}
	return slots
}

// Next returns the first instant strictly after after at which w is due, in UTC. It returns false where
// there is none within 41 years, or 41 years of the date that days are counted from. ParseCron refuses what
// has no date; what remains are wildcard jobs that daylight saving always swallows, as "*/5 2 * MAR SUN#2"
// in New York.
func (w When) Next(after time.Time) (next time.Time, ok bool) {
	from := after.Unix() + 1
	to := from + horizon
	for i := range w.Crons {
		to = max(to, w.Crons[i].cycle.from*daySeconds+horizon)
	}
	t, ok := w.next(from, to)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(t, 0).UTC(), true
}

// Previous returns the last instant strictly before before at which w was due, in UTC. It returns false
// where there is none within 41 years.
func (w When) Previous(before time.Time) (previous time.Time, ok bool) {
	to := before.Unix()
	if before.Nanosecond() > 0 {
		to++
	}
	end := to
	for size := int64(hourSeconds); ; size *= 24 { // what is due often is near
		from := max(end-size, end-horizon)
		if t, ok := w.next(from, to); ok {
			return time.Unix(w.last(t, to), 0).UTC(), true
		}
		if from == end-horizon {
			return time.Time{}, false
		}
		to = from
	}
}

// last returns the last second before to at which w is due; it is due at t.
func (w When) last(t, to int64) int64 {
	for t+1 < to {
		middle := t + 1 + (to-t-1)/2
		if later, ok := w.next(middle, to); ok {
			t = later
		} else {
			to = middle
		}
	}
	return t
}

// String returns the expressions as people read them.
func (w When) String() string {
	texts := make([]string, len(w.Crons))
	for i, c := range w.Crons {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; ")
}

// next returns the first second of [from, to) at which any of the expressions is due.
func (w When) next(from, to int64) (int64, bool) {
	zone := w.Location
	if zone == nil {
		zone = time.UTC
	}
	for from < to {
		s := stretchAt(zone, from)
		end := min(s.end, to)
		first := end
		for i := range w.Crons {
			if t, ok := s.next(&w.Crons[i], from, first); ok {
				first = t
			}
		}
		if first < end {
			return first, true
		}
		from = end
	}
	return 0, false
}

// When says at which instants a task is due: those of any of its expressions, on the wall clock of
// its zone.
type When struct {
	Crons    []Expression
	Every    string // the text of every:, where that is how the file said it
	Location *time.Location
}
