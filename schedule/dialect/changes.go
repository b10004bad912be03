package dialect

import "time"

// A Change is a change of the clocks that touches times of a reading.
type Change struct {
	At       time.Time // the first instant after it
	From, To string    // what the clocks show without it at that instant, and with it
	Text     string    // what becomes of the times
}

// Changes returns the changes of the clocks in [from, until) that touch times of a reading.
func Changes(r *Reading, from, until time.Time) (changes []Change) {
	if !r.hasFields() {
		return nil
	}
	for at := from; ; {
		_, end := at.In(r.Location).ZoneBounds()
		if end.IsZero() || !end.Before(until) || !end.After(at) {
			return changes
		}
		at = end
		_, before := at.Add(-time.Second).Zone()
		_, after := at.Zone()
		begin, length := at.Unix()+int64(min(before, after)), int64(max(before, after)-min(before, after))
		first, touched := r.times.find(begin, begin+length)
		if !touched {
			continue
		}
		wall := func(offset int) string { return time.Unix(at.Unix()+int64(offset), 0).UTC().Format("15:04") }
		text := time.Unix(first, 0).UTC().Format("15:04") + " comes twice: " + passes(r, at, length)
		if after > before {
			text = time.Unix(first, 0).UTC().Format("15:04") + " does not exist: " + madeUp(r, at, length)
		}
		changes = append(changes, Change{at, wall(before), wall(after), text})
	}
}

// passes says in which of the two passes of a repeated time the program starts the job.
func passes(r *Reading, at time.Time, length int64) string {
	span := time.Duration(length) * time.Second
	inFirst, inSecond := false, false
	next, ok := Within(r, at.Add(-span), at.Add(span))
	for ; ok && next.Before(at.Add(span)); next, ok = r.Next(next) {
		inFirst, inSecond = inFirst || next.Before(at), inSecond || !next.Before(at)
	}
	switch {
	case inFirst && inSecond:
		return "it runs in both passes"
	case inFirst:
		return "it runs in the first pass"
	case inSecond:
		return "it runs in the second pass"
	}
	return "it runs in none"
}

// madeUp says when the program starts the job for a time that the clocks skip.
func madeUp(r *Reading, at time.Time, length int64) string {
	span := time.Duration(length) * time.Second
	for _, from := range []time.Time{at.Add(-span), at} {
		next, ok := Within(r, from, from.Add(span))
		if !ok {
			continue
		}
		_, offset := next.Zone()
		wall := next.Unix() + int64(offset)
		if _, isOwn := r.times.find(wall, wall+1); !isOwn {
			return "it runs at " + next.Format("15:04")
		}
	}
	return "it is left out"
}

// Within returns the first instant of [from, until) at which it is due.
func Within(r *Reading, from, until time.Time) (time.Time, bool) {
	next, ok := r.Next(from.Add(-time.Nanosecond))
	return next, ok && next.Before(until)
}
