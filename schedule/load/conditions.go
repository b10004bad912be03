package load

import (
	"cmp"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// readWindows reads one pair of times, or a list of pairs.
func readWindows(r *yamldoc.Reader, n *yamldoc.Node) (all []schedule.Window, ok bool) {
	if !r.RequireList(n, "write "+cmp.Or(pairOf(n), `["8:00", "17:00"]`)) || !r.RefuseEmptyList(n, "") {
		return nil, false
	}
	pairs := []*yamldoc.Node{n}
	if items := n.Items(); items[0].IsList() {
		pairs = items
	}
	for _, pair := range pairs {
		if w, ok := readWindow(r, pair); ok {
			all = append(all, w)
		}
	}
	return all, len(all) == len(pairs)
}

func readWindow(r *yamldoc.Reader, n *yamldoc.Node) (schedule.Window, bool) {
	hint := `write ["8:00", "17:00"], or a list of such pairs`
	if one := n.Items(); n.IsList() && len(one) == 1 && pairOf(one[0]) != "" {
		hint = "write " + pairOf(one[0])
	}
	if !n.IsList() {
		r.Problemf(n, hint, "%s must be a pair of times, not %s", r.Key, n.Describe())
		return schedule.Window{}, false
	}
	times := n.Items()
	if len(times) != 2 {
		r.Problemf(n, hint, "%s must be a pair of times, not a list of %d", r.Key, len(times))
		return schedule.Window{}, false
	}
	from, ok1 := readTimeOfDay(r, times[0])
	to, ok2 := readTimeOfDay(r, times[1])
	if ok1 && from == 24*60 {
		r.Problemf(times[0], `the day begins at "0:00"`, "%s cannot begin at 24:00", r.Key)
		return schedule.Window{}, false
	}
	return schedule.Window{From: from, To: to}, ok1 && ok2
}

var timeSpan = regexp.MustCompile(`^\s*(\d{1,2})(:\d\d)?\s*(?:-|–|to|until|and|,)\s*(\d{1,2})(:\d\d)?\s*$`)

// pairOf writes a text such as 8:00-17:00, or a mapping of two times, as a pair of times. It
// returns "" for anything else.
func pairOf(n *yamldoc.Node) string {
	text := n.Value
	if n.IsMapping() {
		var both []string
		for _, value := range n.Pairs() {
			both = append(both, value.Value)
		}
		text = strings.Join(both, "-")
	}
	found := timeSpan.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return fmt.Sprintf(`["%s%s", "%s%s"]`, found[1], cmp.Or(found[2], ":00"), found[3], cmp.Or(found[4], ":00"))
}

// readTimeOfDay reads a time of the day, 24:00 included, as minutes since midnight.
func readTimeOfDay(r *yamldoc.Reader, n *yamldoc.Node) (int, bool) {
	if !n.IsScalar() {
		r.Problemf(n, "", "%s must be a pair of times, not %s", r.Key, n.Describe())
		return 0, false
	}
	h, m, _ := strings.Cut(n.Value, ":")
	hour, err1 := strconv.ParseUint(h, 10, 8)
	minute, err2 := strconv.ParseUint(m, 10, 8)
	if err1 != nil || err2 != nil || len(h) > 2 || len(m) != 2 || minute > 59 || hour*60+minute > 24*60 {
		r.Problemf(n, `a time is written as "8:00" or "17:30"`, "%s: %s is not a time of the day", r.Key, n.Describe())
		return 0, false
	}
	return int(hour*60 + minute), true
}

// readDays reads one day or a list of them.
func readDays(r *yamldoc.Reader, n *yamldoc.Node) (days schedule.Days, ok bool) {
	if !r.RequireValue(n, "") || !r.RefuseEmptyList(n, "leave the key out for every day") {
		return 0, false
	}
	ok = n.Each(func(item *yamldoc.Node) bool {
		text, ok := r.Text(item)
		day := daysOf(text)
		if ok && day == 0 {
			r.Problemf(item, dayHint(r, text), "%s: %s is not a day of the week", r.Key, item.Describe())
		}
		days |= day
		return day != 0
	})
	return days, ok
}

// daysOf returns the day or the days that the word stands for, or 0 if the word names no day.
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

// dayHint proposes the days of a range, or the nearest name, for a word that names no day. It
// returns "" if it knows no proposal.
func dayHint(r *yamldoc.Reader, word string) string {
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
	long, short := []string{"weekdays", "weekends"}, []string(nil)
	for day := time.Sunday; day <= time.Saturday; day++ {
		name := strings.ToLower(day.String())
		long, short = append(long, name), append(short, name[:3])
	}
	near := r.Nearest(word, long)
	if near == "" && len(word) <= 4 {
		near = r.Nearest(word, short)
	}
	return yamldoc.DidYouMean(near)
}

// dayOf returns the one day that the word stands for, with Sunday as 0. It returns -1 if the word
// does not stand for one day.
func dayOf(word string) int {
	days := daysOf(strings.TrimSpace(word))
	if bits.OnesCount8(uint8(days)) != 1 {
		return -1
	}
	return bits.TrailingZeros8(uint8(days))
}

// readEnvironments reads one environment or a list of them.
func readEnvironments(r *yamldoc.Reader, n *yamldoc.Node) (all []string, ok bool) {
	if !r.RefuseEmptyList(n, "leave the key out for every environment, or switch the task off with `enabled: false`") {
		return nil, false
	}
	return yamldoc.Collect(n, r.NonEmptyExpanded)
}
