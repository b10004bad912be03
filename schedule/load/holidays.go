package load

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sched/schedule"
	"sched/schedule/yamldoc"
)

// setHolidays reads a date or a file of dates, or a list of both.
func setHolidays(l *loader, s *settings, n *node) {
	s.Holidays = schedule.Holidays{} // even when the key is wrong: `except: holidays` is not a mistake then
	named := map[string]bool{}
	n.Each(func(item *node) bool {
		if !item.IsScalar() {
			l.Problemf(item, "a date with its name is written as `- 2026-12-25 Christmas`", "%s must be dates and files, not %s", l.Key, item.Describe())
			return false
		}
		text, ok := l.NonEmptyText(item)
		if !ok {
			return false
		}
		if text = strings.TrimSpace(text); '0' <= text[0] && text[0] <= '9' {
			return l.holiday(l.PlaceOf(item), text)
		}
		if src := l.holidayFile(item, named); src != nil {
			l.holidaysOf(src)
		}
		return true
	})
}

// holidayFile returns the file that the item names, or nil and a problem. named are the files that
// earlier items named.
func (l *loader) holidayFile(item *node, named map[string]bool) *yamldoc.Source {
	if l.origin == fromArchive {
		return l.nextArchived(item)
	}
	path, ok := l.Path(item)
	switch {
	case !ok:
		return nil
	case l.origin == fromText:
		l.Problemf(item, "", "%s cannot name a file here, where only text is read", l.Key)
		return nil
	case named[path]:
		l.Problemf(item, "", "%s %s is named twice", l.Key, yamldoc.Quote(item.Value))
		return nil
	}
	named[path] = true
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		l.Problemf(item, "a path that begins with a digit is written with ./ before it", "%s %s: there is no such file", l.Key, yamldoc.Quote(item.Value))
		return nil
	}
	return l.Open(path)
}

// holidaysOf reads a file with one date a line; a # begins a comment.
func (l *loader) holidaysOf(src *yamldoc.Source) {
	main := l.File
	defer func() { l.File = main }()
	l.File = src.Name
	if !l.RequireText(src.Data) {
		return
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(src.Data), "\ufeff")) {
		number++
		if text := strings.TrimSpace(withoutComment(line)); text != "" {
			l.holiday(yamldoc.Place{File: src.Name, Line: number, Column: 1 + strings.Index(line, text)}, text)
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

// holiday adds a date. The text after the date is its name.
func (l *loader) holiday(at yamldoc.Place, text string) bool {
	word, name := text, ""
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		word, name = text[:i], text[i:]
	}
	date, ok := parseDate(word)
	switch {
	case !ok:
		l.ProblemAt(at, "a date is written as 2026-12-25, or as 12-25 for every year", "%s: %s is not a date", l.Key, yamldoc.Quote(word))
		return false
	case !exists(date):
		l.ProblemAt(at, "", "%s: there is no %s", l.Key, word)
		return false
	}
	s := l.schedule
	if s.Holidays[date] == "" {
		s.Holidays[date] = strings.TrimSpace(name)
	}
	if date.Compare(s.NewestHoliday) > 0 {
		s.NewestHoliday, s.NewestHolidayAt = date, at
	}
	return true
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

// parseDate reads 2026-12-25 or 12-25. Whether there is such a day is left to exists.
func parseDate(text string) (schedule.Date, bool) {
	var d schedule.Date
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

// exists reports whether the calendar has the day. February 29 of every year (Year 0) exists: there
// are leap years.
func exists(d schedule.Date) bool {
	year, month, day := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Date()
	return schedule.Date{Year: year, Month: month, Day: day} == d
}
