package calendar

import "strings"

// A Move says what becomes of a day that is no working day.
type Move string

// The moves. Those within the month go the other way if the working day is of another month.
const (
	Skip            Move = "skip" // nothing runs for that day
	Next            Move = "next"
	Previous        Move = "previous"
	NextInMonth     Move = "next in month"
	PreviousInMonth Move = "previous in month"
)

// Moves are the words for all moves, the default first.
var Moves = []string{string(Skip), string(Next), string(Previous), string(NextInMonth), string(PreviousInMonth)}

// A Rule is the calendars of a task and its move. Days that are meant become days that are due:
//
//  1. A working day is due.
//  2. Another day moves, and its working day is due in its place.
//  3. If several days move to one, that day is due once: for itself if it is meant, else for the day
//     before it that is nearest, else for the nearest day after it. The other days stay where they
//     are, and are due and skipped there, like days that do not move.
//
// So days that are due and no working days are skipped. A later day that is meant never becomes an
// earlier day that is due.
type Rule struct {
	Set  Set
	Move Move
}

// A Meant finds the first day from one day through another that is meant.
type Meant func(day, last int64) (int64, bool)

func (m Meant) on(day int64) bool {
	_, is := m(day, day)
	return is
}

// Next returns the first day from one day through another that is due.
func (r *Rule) Next(day, last int64, meant Meant) (int64, bool) {
	first, end := day, last
	if r.Move != Skip {
		first, end = day-int64(r.offBefore(day)), last+int64(r.offAfter(last))
	}
	for {
		d, ok := meant(first, end)
		if !ok {
			return 0, false
		}
		if due := r.due(d, meant); due >= day {
			return due, due <= last
		}
		first = d + 1
	}
}

// offBefore returns how many days right before a day are no working days.
func (r *Rule) offBefore(day int64) (n int) {
	for n < farthest && !r.Set.Works(day-int64(n)-1) {
		n++
	}
	return n
}

func (r *Rule) offAfter(day int64) (n int) {
	for n < farthest && !r.Set.Works(day+int64(n)+1) {
		n++
	}
	return n
}

// Moved returns the working day to which a day moves: itself if it is a working day, or if it does
// not move.
func (r *Rule) Moved(day int64) int64 {
	if r.Move == Skip || r.Set.Works(day) {
		return day
	}
	before, after := r.offBefore(day)+1, r.offAfter(day)+1
	previous, next := day-int64(before), day+int64(after)
	if before > farthest {
		previous = day
	}
	if after > farthest {
		next = day
	}
	month := Of(day).Month
	switch {
	case r.Move == Next,
		r.Move == NextInMonth && (Of(next).Month == month || Of(previous).Month != month),
		r.Move == PreviousInMonth && Of(previous).Month != month && Of(next).Month == month:
		return next
	}
	return previous
}

// due returns the day that is due for a day that is meant.
func (r *Rule) due(day int64, meant Meant) int64 {
	to := r.Moved(day)
	if to == day || r.For(to, meant) != day {
		return day
	}
	return to
}

// For returns the day that was meant by a day that is due.
func (r *Rule) For(day int64, meant Meant) int64 {
	if r.Move == Skip || !r.Set.Works(day) || meant.on(day) {
		return day
	}
	for n := range int64(r.offBefore(day)) {
		if d := day - n - 1; r.Moved(d) == day && meant.on(d) {
			return d
		}
	}
	for n := range int64(r.offAfter(day)) {
		if d := day + n + 1; r.Moved(d) == day && meant.on(d) {
			return d
		}
	}
	return day
}

// Days returns the calendars of a rule; Office if it has none.
func (r *Rule) Days() Set {
	if r == nil || len(r.Set) == 0 {
		return Office
	}
	return r.Set
}

// Explain says in words why a day is due, or is not, if working days decide that; else "". The rule
// may be nil.
func (r *Rule) Explain(day int64, nth Nth, meant Meant) (words string, isDue bool) {
	if nth.N != 0 {
		if meant.on(day) {
			return dayText(day) + " is the " + nth.String(), true
		}
		words = dayText(day) + " is not the " + nth.String()
		if next, ok := meant(day, day+2*366); ok {
			words += ": " + dayText(next) + " is"
		}
		return words, false
	}
	if r == nil {
		return "", false
	}
	if from := r.For(day, meant); from != day {
		return r.From(from, day), true
	}
	if to := r.Moved(day); to != day && meant.on(day) && r.due(day, meant) == to {
		return "it moves to " + dayText(to) + ": " + r.way(day, to), false
	}
	return "", false
}

// A Meaning is the day for which something runs that is due on another day, or on that day.
type Meaning struct {
	Day   string // 2027-05-01; "" without calendars
	Moved string // From, and that a calendar ended before the day on which it is due; or ""
}

// Meaning returns the meaning of what is due on a day.
func (r *Rule) Meaning(meant, day int64) Meaning {
	moved := r.From(meant, day)
	if c := r.Set.End(); c != nil && c.Ended(Of(day)) {
		ended := "calendar " + c.Name + " ended " + c.Through.String() + ", so its weekday alone counts"
		moved = strings.TrimPrefix(moved+"; "+ended, "; ")
	}
	return Meaning{Of(meant).String(), moved}
}

// Skips says why nothing runs on a day that is due; "" if it is a working day.
func (r *Rule) Skips(day int64) string {
	off := r.Set.Off(day)
	to := r.Moved(day)
	switch {
	case off == "":
		return ""
	case to != day:
		return "it moves to " + dayText(to) + ", when it is due for another day, too: " + r.way(day, to)
	}
	if name, isHoliday := strings.CutPrefix(off, "holiday"); isHoliday {
		return "it is a holiday: " + Of(day).String() + name
	}
	return dayText(day) + " is no working day: " + off
}

// From says why something runs on a day that was meant for another: "moved from Sat 1 May: weekend;
// Sun 2; Mon 3: holiday"; "" if the two are the same.
func (r *Rule) From(meant, day int64) string {
	if meant == day {
		return ""
	}
	return "moved from " + r.way(meant, day)
}

// String returns the rule as people read it: "calendar de, else next".
func (r *Rule) String() string {
	if r.Move == Skip {
		return "calendar " + r.Set.String()
	}
	return "calendar " + r.Set.String() + ", else " + string(r.Move)
}

// way names the days from one day to a working day, which it leaves out, and why they are no
// working days. A reason stands once for days that share it.
func (r *Rule) way(from, to int64) string {
	step := int64(1)
	if to < from {
		step = -1
	}
	var days []string
	last, month := "", Of(from).Month
	for day := from; day != to; day += step {
		text := dayText(day)
		if day != from && Of(day).Month == month {
			text = midnight(day).Format("Mon 2")
		}
		if why := r.Set.Off(day); why != last {
			text, last = text+": "+why, why
		}
		days, month = append(days, text), Of(day).Month
	}
	if len(days) > 10 {
		days = append(days[:9], "…", days[len(days)-1])
	}
	return strings.Join(days, "; ")
}
