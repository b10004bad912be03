package load

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sched/schedule"
	"sched/schedule/calendar"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// This file reads the conditions of time: windows of the day, days of the week, and holidays.

// readWindows reads a pair of times, or a list of pairs.
func readWindows(r *reader, n *node) (all []schedule.Window, ok bool) {
	if !r.RequireList(n, "write "+cmp.Or(pairOf(n), `["8:00", "17:00"]`)) || !r.RefuseEmptyList(n, "") {
		return nil, false
	}
	pairs := []*node{n}
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

// readWindow reads a pair of times. The first one is before 24:00.
func readWindow(r *reader, n *node) (schedule.Window, bool) {
	hint := `write ["8:00", "17:00"], or a list of such pairs`
	if items := n.Items(); n.IsList() && len(items) == 1 && pairOf(items[0]) != "" {
		hint = "write " + pairOf(items[0])
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
	from, fromOK := readTimeOfDay(r, times[0])
	to, toOK := readTimeOfDay(r, times[1])
	if fromOK && from == 24*60 {
		r.Problemf(times[0], `the day begins at "0:00"`, "%s cannot begin at 24:00", r.Key)
		return schedule.Window{}, false
	}
	return schedule.Window{From: from, To: to}, fromOK && toOK
}

var timeSpan = humanize.Pattern(`^\s*(\d{1,2})(:\d\d)?\s*(?:-|–|to|until|and|,)\s*(\d{1,2})(:\d\d)?\s*$`)

// pairOf writes a text such as 8:00-17:00, or a mapping of two times, as a pair of times. It
// returns "" for anything else.
func pairOf(n *node) string {
	text := n.Value
	if n.IsMapping() {
		var both []string
		for _, value := range n.Pairs() {
			both = append(both, value.Value)
		}
		text = strings.Join(both, "-")
	}
	match := timeSpan().FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	fromHour, fromMinute, toHour, toMinute := match[1], match[2], match[3], match[4]
	return fmt.Sprintf(`["%s%s", "%s%s"]`, fromHour, cmp.Or(fromMinute, ":00"), toHour, cmp.Or(toMinute, ":00"))
}

// readTimeOfDay reads a time of the day, 24:00 included, as minutes since midnight.
func readTimeOfDay(r *reader, n *node) (int, bool) {
	if !n.IsScalar() {
		r.Problemf(n, "", "%s must be a pair of times, not %s", r.Key, n.Describe())
		return 0, false
	}
	if n.Value == "24:00" {
		return 24 * 60, true
	}
	at, err := time.Parse("15:04", n.Value)
	if err != nil {
		r.Problemf(n, `a time is written as "8:00" or "17:30"`, "%s: %s is not a time of the day", r.Key, n.Describe())
		return 0, false
	}
	return at.Hour()*60 + at.Minute(), true
}

// readDays reads one day of the week, or one word for several, or a list of both.
func readDays(r *reader, n *node) (days schedule.Days, ok bool) {
	if !r.RequireValue(n, "") || !r.RefuseEmptyList(n, "leave the key out for every day") {
		return 0, false
	}
	ok = n.Each(func(item *node) bool {
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

// dayNames are the days of the week. Their first three letters are names, too.
var dayNames = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// daysOf returns the day or the days that the word stands for, or 0 if the word names no day.
func daysOf(word string) schedule.Days {
	word = strings.ToLower(word)
	switch word {
	case "weekdays", "weekday":
		return calendar.Weekdays
	case "weekends", "weekend":
		return calendar.Weekends
	case "7":
		return 1 << time.Sunday
	}
	for day, name := range dayNames {
		if slices.Contains([]string{name, name + "s", name[:3], strconv.Itoa(day)}, word) {
			return 1 << day
		}
	}
	return 0
}

// dayHint proposes the days of a range, or the nearest name, for a word that names no day. If it
// finds neither, it shows how days are written.
func dayHint(r *reader, word string) string {
	const form = "days are written as monday or mon, weekdays, or [mon, wed]"
	if from, to, isRange := strings.Cut(word, "-"); isRange {
		return cmp.Or(rangeHint(daysOf(strings.TrimSpace(from)), daysOf(strings.TrimSpace(to))), form)
	}
	near := r.Nearest(word, append([]string{"weekdays", "weekends"}, dayNames...))
	if near == "" && len(word) <= 4 {
		var short []string
		for _, name := range dayNames {
			short = append(short, name[:3])
		}
		near = r.Nearest(word, short)
	}
	return cmp.Or(yamldoc.DidYouMean(near), form)
}

// rangeHint proposes the days from one day to another. It returns "" if one of the two is not one
// day.
func rangeHint(from, to schedule.Days) string {
	names := rangeOf(from, to)
	switch {
	case names == nil:
		return ""
	case from == 1<<time.Monday && to == 1<<time.Friday:
		return "write weekdays"
	}
	return "write [" + strings.Join(names, ", ") + "]"
}

// rangeOf returns the names of the days from one day to another; nil if one of the two is not one
// day.
func rangeOf(from, to schedule.Days) (names []string) {
	if bits.OnesCount8(uint8(from)) != 1 || bits.OnesCount8(uint8(to)) != 1 {
		return nil
	}
	last := bits.TrailingZeros8(uint8(to))
	for day := bits.TrailingZeros8(uint8(from)); day != last; day = (day + 1) % 7 {
		names = append(names, dayNames[day][:3])
	}
	return append(names, dayNames[last][:3])
}

// setHolidays reads a date or a file of dates, or a list of both.
func setHolidays(l *loader, s *settings, n *node) {
	s.Holidays = schedule.Holidays{} // even when the key is wrong: `except: holidays` is not a mistake then
	s.NewestHolidayAt = readDates(l, n, s.Holidays)
}

// readDates reads a date or a file of dates, or a list of both. It returns the place of the newest
// date that has a year.
func readDates(l *loader, n *node, into calendar.Holidays) yamldoc.Place {
	d, named := dates{into: into}, map[string]bool{}
	n.Each(func(item *node) bool {
		if !item.IsScalar() {
			l.Problemf(item, "a date with its name is written as `- 2026-12-25 Christmas`",
				"%s must be dates and files, not %s", l.Key, item.Describe())
			return false
		}
		text, ok := l.NonEmptyText(item)
		if !ok {
			return false
		}
		if text = strings.TrimSpace(text); '0' <= text[0] && text[0] <= '9' {
			return d.read(l, l.PlaceOf(item), text)
		}
		if src := openHolidays(l, item, named); src != nil {
			d.readFile(l, src)
		}
		return true
	})
	return d.newestAt
}

// dates are days with their names while they are read.
type dates struct {
	into     calendar.Holidays
	newest   calendar.Date // that has a year
	newestAt yamldoc.Place
}

func (d *dates) add(at yamldoc.Place, date calendar.Date, name string) {
	if d.into[date] == "" {
		d.into[date] = name
	}
	if date.Year > 0 && date.Compare(d.newest) > 0 {
		d.newest, d.newestAt = date, at
	}
}

// openHolidays opens the file that the item names. It returns nil after a problem. named are the
// files that earlier items named.
func openHolidays(l *loader, item *node, named map[string]bool) *yamldoc.Source {
	if l.medium == inArchive {
		return l.nextArchived(item)
	}
	path, ok := l.Path(item)
	switch {
	case !ok:
		return nil
	case l.medium == inText:
		l.Problemf(item, "", "%s cannot name a file here, where only text is read", l.Key)
		return nil
	case named[path]:
		l.Problemf(item, "", "%s %s is named twice", l.Key, yamldoc.Quote(item.Value))
		return nil
	}
	named[path] = true
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		l.Problemf(item, "paths are relative to the folder of the schedule",
			"%s %s: there is no such file", l.Key, yamldoc.Quote(item.Value))
		return nil
	}
	return l.Open(path)
}

// lineComment is a comment of a file of dates: a # that begins a word, and what follows it.
var lineComment = humanize.Pattern(`(^|[ \t])#.*`)

// readFile reads a file with one date a line, or one of iCalendar.
func (d *dates) readFile(l *loader, src *yamldoc.Source) {
	main := l.File
	defer func() { l.File = main }()
	l.File = src.Name
	if !l.RequireText(src.Data) {
		return
	}
	text, number := strings.TrimPrefix(string(src.Data), "\ufeff"), 0
	if strings.HasPrefix(strings.ToUpper(text), "BEGIN:VCALENDAR") {
		at := yamldoc.Place{File: src.Name, Line: 1, Column: 1}
		line, err := calendar.ReadICS(text, func(date calendar.Date, name string) { d.add(at, date, name) })
		if err != nil {
			l.ProblemAt(yamldoc.Place{File: src.Name, Line: line, Column: 1}, "", "%s: %v", l.Key, err)
		}
		return
	}
	for line := range strings.Lines(text) {
		number++
		if text := strings.TrimSpace(lineComment().ReplaceAllString(line, "")); text != "" {
			d.read(l, yamldoc.Place{File: src.Name, Line: number, Column: 1 + strings.Index(line, text)}, text)
		}
	}
}

// read adds a date. The text after the date is its name. It reports whether the text is right.
func (d *dates) read(l *loader, at yamldoc.Place, text string) bool {
	word, name := text, ""
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		word, name = text[:i], text[i:]
	}
	date, err := parseDate(word)
	switch {
	case errors.Is(err, errNoDate):
		l.ProblemAt(at, "a date is written as 2026-12-25, or as 12-25 for every year",
			"%s: %s is not a date", l.Key, yamldoc.Quote(word))
		return false
	case err != nil:
		l.ProblemAt(at, "", "%s: there is no %s", l.Key, word)
		return false
	}
	d.add(at, date, strings.TrimSpace(name))
	return true
}

// readExcept reads on which days a task does not run. An empty list takes inherited holidays away.
func readExcept(l *loader, n *node) (holidays schedule.Holidays, ok bool) {
	ok = n.Each(func(item *node) bool {
		word, ok := l.NonEmptyText(item)
		switch {
		case !ok:
			return false
		case word != "holidays":
			l.Problemf(item, "write `except: holidays`; for days of the week there is `days:`",
				"%s: %s is not known", l.Key, item.Describe())
			return false
		case l.schedule.Holidays == nil:
			l.Problemf(item, "add `holidays:` to the top of the main file", "there are no holidays")
			return false
		}
		holidays = l.schedule.Holidays
		return true
	})
	return holidays, ok
}

// errNoDate says that a text is not written like a date.
var errNoDate = errors.New("not a date")

// dateForm matches a date, also of a day that does not exist.
var dateForm = humanize.Pattern(`^([0-9]{4}-)?[0-9]{2}-[0-9]{2}$`)

// parseDate reads 2026-12-25, or 12-25 for every year. The year 0 stands for every year: it is a
// leap year, so it has a February 29. An error that is not errNoDate means that there is no such
// day.
func parseDate(text string) (schedule.Date, error) {
	if !dateForm().MatchString(text) || strings.HasPrefix(text, "0000") {
		return schedule.Date{}, errNoDate
	}
	layout := time.DateOnly
	if len(text) == len("12-25") {
		layout = "01-02"
	}
	at, err := time.Parse(layout, text)
	year, month, day := at.Date()
	return schedule.Date{Year: year, Month: month, Day: day}, err
}

func showExcept(t *taskDraft) any {
	if len(t.Conditions.Holidays) == 0 {
		return nil
	}
	return "holidays"
}
