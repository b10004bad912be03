package schedule

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// A Date is a day of one year, or of every year where Year is 0.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

func dateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}

// String returns the date as 2026-12-25, or 12-25 for every year.
func (d Date) String() string {
	if d.Year == 0 {
		return fmt.Sprintf("%02d-%02d", d.Month, d.Day)
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// compare orders dates; those of every year come first.
func (d Date) compare(e Date) int {
	return (d.Year-e.Year)*1000 + int(d.Month-e.Month)*40 + d.Day - e.Day
}

// Holidays are days with their names, which may be empty. Nil is a schedule that has none.
type Holidays map[Date]string

// On returns the holiday that the day of at is, in the zone of at: its date and its name; "" when it is none.
func (h Holidays) On(at time.Time) string {
	day := dateOf(at)
	name, is := h[day]
	if every, yearly := h[Date{0, day.Month, day.Day}]; name == "" && yearly {
		name, is = every, true
	}
	if !is {
		return ""
	}
	return strings.TrimSpace(day.String() + " " + name)
}

// dates returns the dates in their order, those of every year first.
func (h Holidays) dates() []Date { return slices.SortedFunc(maps.Keys(h), Date.compare) }

// OutOfDate warns of holidays that are all in the past, where a task depends on them: the list ends with a
// year that is over. Those of every year never end.
func (s *Schedule) OutOfDate(now time.Time) []Problem {
	used := slices.ContainsFunc(s.Tasks, func(t *Task) bool { return len(t.Conditions.Holidays) > 0 })
	if newest := s.newestHoliday; used && newest.Year > 0 && newest.compare(dateOf(now.In(s.Location))) < 0 {
		return []Problem{{
			Place: s.newestHolidayAt,
			Text:  fmt.Sprintf("the newest of the holidays, %s, has passed", newest),
			Hint:  "add those of the time to come, or write a day of every year as 12-25",
		}}
	}
	return nil
}

// readHolidays reads a date or a file of dates, or a list of both.
func readHolidays(l *loader, _ *settings, n *yaml.Node) {
	l.schedule.Holidays = Holidays{} // also of a key that is wrong: that is said once
	files := map[string]bool{}
	l.each(n, func(item *yaml.Node) bool {
		if item.Kind != yaml.ScalarNode {
			l.bad(item, "a date with its name is written as `- 2026-12-25 Christmas`", "%s must be dates and files, not %s", l.key, found(item))
			return false
		}
		text, ok := l.filled(item)
		if !ok {
			return false
		}
		if text = strings.TrimSpace(text); '0' <= text[0] && text[0] <= '9' {
			return l.holiday(l.place(item), text)
		}
		path, ok := l.path(item)
		switch {
		case !ok:
			return false
		case l.onlyText:
			l.bad(item, "", "%s cannot name a file here, where only text is read", l.key)
		case files[path]:
			l.bad(item, "", "%s %s is named twice", l.key, quote(item.Value))
		default:
			files[path] = true
			l.holidayFile(item, path)
		}
		return true
	})
}

// holidayFile reads a file with one date a line; a # begins a comment.
func (l *loader) holidayFile(n *yaml.Node, path string) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		l.bad(n, "a path that begins with a digit is written with ./ before it", "%s %s: there is no such file", l.key, quote(n.Value))
		return
	}
	src := l.read(path)
	if src == nil {
		return
	}
	if line, column, text := notText(src.data); text != "" {
		l.badAt(Place{src.shown, line, column}, "", "%s", text)
		return
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(src.data), "\ufeff")) {
		number++
		if text := strings.TrimSpace(withoutComment(line)); text != "" {
			l.holiday(Place{src.shown, number, 1 + strings.Index(line, text)}, text)
		}
	}
}

// withoutComment cuts off a # at the beginning of a word, and what follows it.
func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

// holiday adds a date, and what follows it as its name.
func (l *loader) holiday(at Place, text string) bool {
	word, name := text, ""
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		word, name = text[:i], text[i:]
	}
	date, ok := parseDate(word)
	switch {
	case !ok:
		l.badAt(at, "a date is written as 2026-12-25, or as 12-25 for every year", "%s: %s is not a date", l.key, quote(word))
		return false
	case !date.exists():
		l.badAt(at, "", "%s: there is no %s", l.key, word)
		return false
	}
	s := l.schedule
	if s.Holidays[date] == "" {
		s.Holidays[date] = strings.TrimSpace(name)
	}
	if date.compare(s.newestHoliday) > 0 {
		s.newestHoliday, s.newestHolidayAt = date, at
	}
	return true
}

// parseDate reads 2026-12-25 or 12-25.
func parseDate(text string) (Date, bool) {
	var d Date
	parts := strings.Split(text, "-")
	if len(parts) == 3 && len(parts[0]) == 4 {
		year, err := strconv.ParseUint(parts[0], 10, 16)
		if err != nil || year == 0 {
			return d, false
		}
		d.Year, parts = int(year), parts[1:]
	}
	if len(parts) != 2 || len(parts[0]) != 2 || len(parts[1]) != 2 {
		return d, false
	}
	month, err1 := strconv.ParseUint(parts[0], 10, 8)
	day, err2 := strconv.ParseUint(parts[1], 10, 8)
	d.Month, d.Day = time.Month(month), int(day)
	return d, err1 == nil && err2 == nil
}

// exists reports whether the calendar has the day. Year 0 was a leap year, as some year will be.
func (d Date) exists() bool {
	return dateOf(time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)) == d
}

// readExcept reads on which days a task does not run; an empty list is for a task among defaults.
func readExcept(l *loader, e *entry, n *yaml.Node) {
	e.Conditions.Holidays = nil
	l.each(n, func(item *yaml.Node) bool {
		word, ok := l.filled(item)
		switch {
		case !ok:
			return false
		case word != "holidays":
			l.bad(item, "write `except: holidays`; for days of the week there is `days:`", "%s: %s is not known", l.key, found(item))
		case l.schedule.Holidays == nil:
			l.bad(item, "add `holidays:` to the top of the main file", "there are no holidays")
		}
		e.Conditions.Holidays = l.schedule.Holidays
		return true
	})
}
