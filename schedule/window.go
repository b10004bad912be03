package schedule

import (
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// readWindows returns the setter of a key of windows: one pair of times, or a list of pairs.
func readWindows(windows func(*Conditions) *[]Window) func(*loader, *entry, *yaml.Node) {
	return func(l *loader, e *entry, n *yaml.Node) {
		if !l.isList(n, `write ["8:00", "17:00"]`) || !l.notEmpty(n, "") {
			return
		}
		pairs := []*yaml.Node{n}
		if n.Content[0].Kind == yaml.SequenceNode {
			pairs = n.Content
		}
		var all []Window
		for _, pair := range pairs {
			if w, ok := l.window(pair); ok {
				all = append(all, w)
			}
		}
		*windows(&e.Conditions) = all
	}
}

func (l *loader) window(n *yaml.Node) (Window, bool) {
	const hint = `write ["8:00", "17:00"], or a list of such pairs`
	if n.Kind != yaml.SequenceNode {
		l.bad(n, hint, "%s must be a pair of times, not %s", l.key, found(n))
		return Window{}, false
	}
	if len(n.Content) != 2 {
		l.bad(n, hint, "%s must be a pair of times, not a list of %d", l.key, len(n.Content))
		return Window{}, false
	}
	from, ok1 := l.clock(n.Content[0])
	to, ok2 := l.clock(n.Content[1])
	if ok1 && from == 24*60 {
		l.bad(n.Content[0], `the day begins at "0:00"`, "%s cannot begin at 24:00", l.key)
		return Window{}, false
	}
	return Window{from, to}, ok1 && ok2
}

// clock reads a time of the day, 24:00 included, as minutes since midnight.
func (l *loader) clock(n *yaml.Node) (int, bool) {
	if n.Kind != yaml.ScalarNode {
		l.bad(n, "", "%s must be a pair of times, not %s", l.key, found(n))
		return 0, false
	}
	h, m, _ := strings.Cut(n.Value, ":")
	hour, err1 := strconv.ParseUint(h, 10, 8)
	minute, err2 := strconv.ParseUint(m, 10, 8)
	if err1 != nil || err2 != nil || len(h) > 2 || len(m) != 2 || minute > 59 || hour*60+minute > 24*60 {
		l.bad(n, `a time is written as "8:00" or "17:30"`, "%s: %s is not a time of the day", l.key, found(n))
		return 0, false
	}
	return int(hour*60 + minute), true
}

func readDays(l *loader, e *entry, n *yaml.Node) {
	if !l.hasValue(n, "") || !l.notEmpty(n, "leave the key out for every day") {
		return
	}
	var days Days
	l.each(n, func(item *yaml.Node) bool {
		text, ok := l.text(item)
		day := daysOf(text)
		if ok && day == 0 {
			l.bad(item, didYouMean(nearest(text, dayNames())), "%s: %s is not a day of the week", l.key, found(item))
		}
		days |= day
		return day != 0
	})
	e.Conditions.Days = days
}

// daysOf returns the day or the days that the word stands for, and 0 when it is none.
func daysOf(word string) Days {
	word = strings.ToLower(word)
	if len(word) == 1 && '0' <= word[0] && word[0] <= '7' {
		return 1 << ((word[0] - '0') % 7)
	}
	switch word {
	case "weekdays", "weekday":
		return weekdays
	case "weekends", "weekend":
		return weekends
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		name := strings.ToLower(day.String())
		if word == name || word == name+"s" || word == name[:3] {
			return 1 << day
		}
	}
	return 0
}

func dayNames() []string {
	names := []string{"weekdays", "weekends"}
	for day := time.Sunday; day <= time.Saturday; day++ {
		names = append(names, strings.ToLower(day.String()))
	}
	return names
}
