package load

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/document"
)

// readWindows reads one pair of times, or a list of pairs.
func readWindows(l *loader, n *node) (all []schedule.Window, ok bool) {
	if !l.RequireList(n, `write ["8:00", "17:00"]`) || !l.RefuseEmptyList(n, "") {
		return nil, false
	}
	pairs := []*node{n}
	if items := n.Items(); items[0].IsList() {
		pairs = items
	}
	for _, pair := range pairs {
		if w, ok := readWindow(l, pair); ok {
			all = append(all, w)
		}
	}
	return all, len(all) == len(pairs)
}

// readWindow reads a pair of times.
func readWindow(l *loader, n *node) (schedule.Window, bool) {
	const hint = `write ["8:00", "17:00"], or a list of such pairs`
	if !n.IsList() {
		l.Problemf(n, hint, "%s must be a pair of times, not %s", l.Key, n.Describe())
		return schedule.Window{}, false
	}
	times := n.Items()
	if len(times) != 2 {
		l.Problemf(n, hint, "%s must be a pair of times, not a list of %d", l.Key, len(times))
		return schedule.Window{}, false
	}
	from, ok1 := readTimeOfDay(l, times[0])
	to, ok2 := readTimeOfDay(l, times[1])
	if ok1 && from == 24*60 {
		l.Problemf(times[0], `the day begins at "0:00"`, "%s cannot begin at 24:00", l.Key)
		return schedule.Window{}, false
	}
	return schedule.Window{From: from, To: to}, ok1 && ok2
}

// readTimeOfDay reads a time of the day, 24:00 included, as minutes since midnight.
func readTimeOfDay(l *loader, n *node) (int, bool) {
	if !n.IsScalar() {
		l.Problemf(n, "", "%s must be a pair of times, not %s", l.Key, n.Describe())
		return 0, false
	}
	h, m, _ := strings.Cut(n.Value, ":")
	hour, err1 := strconv.ParseUint(h, 10, 8)
	minute, err2 := strconv.ParseUint(m, 10, 8)
	if err1 != nil || err2 != nil || len(h) > 2 || len(m) != 2 || minute > 59 || hour*60+minute > 24*60 {
		l.Problemf(n, `a time is written as "8:00" or "17:30"`, "%s: %s is not a time of the day", l.Key, n.Describe())
		return 0, false
	}
	return int(hour*60 + minute), true
}

// readDays reads one day or a list of them.
func readDays(l *loader, n *node) (days schedule.Days, ok bool) {
	if !l.RequireValue(n, "") || !l.RefuseEmptyList(n, "leave the key out for every day") {
		return 0, false
	}
	ok = n.Each(func(item *node) bool {
		text, ok := l.Text(item)
		day := daysOf(text)
		if ok && day == 0 {
			l.Problemf(item, dayHint(l, text), "%s: %s is not a day of the week", l.Key, item.Describe())
		}
		days |= day
		return day != 0
	})
	return days, ok
}

// daysOf returns the day or the days that the word stands for, and 0 when it is none.
func daysOf(word string) schedule.Days {
	word = strings.ToLower(word)
	if len(word) == 1 && '0' <= word[0] && word[0] <= '7' {
		return 1 << ((word[0] - '0') % 7)
	}
	switch word {
	case "weekdays", "weekday":
		return schedule.Weekdays
	case "weekends", "weekend":
		return schedule.Weekends
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		name := strings.ToLower(day.String())
		if word == name || word == name+"s" || word == name[:3] {
			return 1 << day
		}
	}
	return 0
}

// dayHint proposes what was probably meant by a word that is no day: the days of a range, or the nearest name. It is
// empty where nothing is near.
func dayHint(l *loader, word string) string {
	if from, to, isRange := strings.Cut(word, "-"); isRange {
		first, last := dayOf(from), dayOf(to)
		if first < 0 || last < 0 {
			return ""
		}
		if first == 1 && last == 5 {
			return "write weekdays"
		}
		var names []string
		for day := first; ; day = (day + 1) % 7 {
			names = append(names, strings.ToLower(time.Weekday(day).String()[:3]))
			if day == last {
				return "write [" + strings.Join(names, ", ") + "]"
			}
		}
	}
	near := l.Nearest(word, dayNames())
	if near == "" && len(word) <= 4 {
		near = l.Nearest(word, shortDayNames())
	}
	return document.DidYouMean(near)
}

// dayOf returns the one day that the word stands for, Sunday being 0, and -1 when it is none.
func dayOf(word string) int {
	days := daysOf(strings.TrimSpace(word))
	if bits.OnesCount8(uint8(days)) != 1 {
		return -1
	}
	return bits.TrailingZeros8(uint8(days))
}

func dayNames() []string {
	names := []string{"weekdays", "weekends"}
	for day := time.Sunday; day <= time.Saturday; day++ {
		names = append(names, strings.ToLower(day.String()))
	}
	return names
}

func shortDayNames() []string {
	var names []string
	for day := time.Sunday; day <= time.Saturday; day++ {
		names = append(names, strings.ToLower(day.String()[:3]))
	}
	return names
}

// readExcept reads on which days a task does not run; an empty list is for a task among defaults.
func readExcept(l *loader, n *node) (holidays schedule.Holidays, ok bool) {
	ok = n.Each(func(item *node) bool {
		word, ok := l.NonEmptyText(item)
		switch {
		case !ok:
			return false
		case word != "holidays":
			l.Problemf(item, "write `except: holidays`; for days of the week there is `days:`", "%s: %s is not known", l.Key, item.Describe())
		case l.schedule.Holidays == nil:
			l.Problemf(item, "add `holidays:` to the top of the main file", "there are no holidays")
		}
		holidays = l.schedule.Holidays
		return true
	})
	return holidays, ok
}

// readEnvironments reads one environment or a list of them.
func readEnvironments(l *loader, n *node) (all []string, ok bool) {
	if !l.RefuseEmptyList(n, "leave the key out for every environment, or switch the task off with `enabled: false`") {
		return nil, false
	}
	ok = n.Each(func(item *node) bool {
		text, ok := l.NonEmptyExpanded(item)
		all = append(all, text)
		return ok
	})
	return all, ok
}
