package load

import (
	"slices"
	"strings"

	"sched/schedule"
	"sched/schedule/calendar"
	"sched/schedule/cron"
	"sched/schedule/yamldoc"
)

// This file reads calendars of working days, and which of them a task has.

// setCalendars reads a mapping from the names of calendars to their keys, or to their holidays
// alone.
func setCalendars(l *loader, s *settings, n *node) {
	if !l.RequireMapping(n, l.Key, "") {
		return
	}
	for name, value := range yamldoc.NamedPairs(l.Reader, n) {
		if !requireName(l.Reader, name, name.Value) {
			continue
		}
		above := l.Key
		l.Key += "." + yamldoc.Shorten(name.Value)
		d := calendarDraft{place: l.PlaceOf(name)}
		d.Name, d.Weekdays = name.Value, calendar.Weekdays
		d.Holidays, d.Extra = calendar.Holidays{}, calendar.Holidays{}
		if value.IsMapping() {
			calendarKeys.Decode(l, &d, value, 0)
		} else if l.RequireValue(value, "write the file of its holidays, or {holidays: […], through: 2028-12-31}") {
			readHolidays(l, &d, value)
		}
		l.Key = above
		s.Calendars = append(s.Calendars, schedule.NamedCalendar{Calendar: &d.Calendar, Place: d.place})
		s.calendarNames = append(s.calendarNames, name)
	}
}

// A calendarDraft is an entry of calendars while it is read.
type calendarDraft struct {
	calendar.Calendar
	place yamldoc.Place // of its newest holiday, or of the key that says where it ends
}

func readHolidays(l *loader, d *calendarDraft, n *node) {
	if at := readDates(l, n, d.Holidays); at != (yamldoc.Place{}) && d.Through.Year == 0 {
		d.place = at
	}
}

var calendarKeys = keys[calendarDraft]{Rows: func() []key[calendarDraft] {
	return []key[calendarDraft]{
		row("holidays", by(readHolidays),
			"dates and files of dates, also of iCalendar, that are no working days",
			is{Of: "holidays", Default: "[]", Example: "[holidays-de.ics, 12-24 Christmas Eve]"}),
		row("weekdays", replaces(func(d *calendarDraft) *calendar.Days { return &d.Weekdays }, readWeekdays),
			"the days of the week that are working days",
			is{Of: "workdays", Default: "mon-fri", Example: "sun-thu", NoFalse: true}),
		row("extra", by(func(l *loader, d *calendarDraft, n *node) { readDates(l, n, d.Extra) }),
			"dates and files of dates that are working days all the same",
			is{Of: "holidays", Default: "[]", Example: "[2027-01-02 stocktaking]"}),
		row("through", by(setThrough),
			"the last day for which its holidays are known",
			is{Of: "day", Without: "it has no end", Example: "2028-12-31", NoFalse: true}),
	}
}}

func setThrough(l *loader, d *calendarDraft, n *node) {
	text, ok := l.NonEmptyText(n)
	if !ok {
		return
	}
	date, err := parseDate(text)
	if err != nil || date.Year == 0 {
		l.Problemf(n, "write the last day whose holidays it has, as 2028-12-31", "%s: %s is not a date with a year",
			l.Key, yamldoc.Quote(text))
	}
	d.Through, d.place = date, l.PlaceOf(n)
}

// readWeekdays is readDays with ranges, such as sun-thu.
func readWeekdays(r *reader, n *node) (days calendar.Days, ok bool) {
	if n.IsScalar() {
		from, to, isRange := strings.Cut(n.Value, "-")
		first := daysOf(strings.TrimSpace(from))
		if names := rangeOf(first, daysOf(strings.TrimSpace(to))); isRange && names != nil {
			for _, name := range names {
				days |= daysOf(name)
			}
			return days, true
		}
	}
	if n.IsEmpty() {
		r.Problemf(n, "a calendar needs a working day; `enabled: false` switches a task off", "%s is empty", r.Key)
		return 0, false
	}
	return readDays(r, n)
}

// readCalendars reads the names of calendars, which the top of the file must have.
func readCalendars(l *loader, n *node) (set calendar.Set, ok bool) {
	if !l.RefuseEmptyList(n, "leave the key out for a task without calendars, or write `calendar: false`") {
		return nil, false
	}
	var names []string
	for _, c := range l.schedule.Calendars {
		names = append(names, c.Name)
	}
	ok = n.Each(func(item *node) bool {
		text, ok := readName(l.Reader, item)
		if !ok {
			return false
		}
		i := slices.Index(names, text)
		if i < 0 {
			hint := yamldoc.DidYouMean(l.Nearest(text, names))
			if hint == "" {
				hint = "add `calendars: {" + yamldoc.Shorten(text) + ": {holidays: […]}}` at the top of the file"
			}
			l.Problemf(item, hint, "calendar %s is not among the calendars of the file", yamldoc.Quote(text))
			return false
		}
		set = append(set, l.schedule.Calendars[i].Calendar)
		return true
	})
	return set, ok
}

func readMove(l *loader, n *node) (calendar.Move, bool) {
	words := wordList{words: calendar.Moves, yes: string(calendar.Next), ifWrong: string(calendar.Skip)}
	word, ok := words.read(l.Reader, n)
	return calendar.Move(word), ok
}

func showCalendars(t *taskDraft) any {
	if t.When.Rule == nil {
		return nil
	}
	return strings.Split(t.When.Rule.Set.String(), ", ")
}

func showMove(t *taskDraft) any {
	if t.When.Rule == nil {
		return schedule.Word(calendar.Skip)
	}
	return schedule.Word(t.When.Rule.Move)
}

// settleCalendars gives the times of a task its working days.
func settleCalendars(l *loader, n *node, t *taskDraft) {
	moves := t.onHoliday != "" && t.onHoliday != calendar.Skip
	if len(t.calendars) == 0 {
		if own := n.Lookup("on_holiday"); own != nil && !own.IsFalse() {
			l.Warnf(own, "add `calendar: NAME`", "on_holiday does nothing without a calendar")
		}
		return
	}
	for _, c := range t.When.Crons {
		if moves && c.IsInterval() {
			l.Problemf(firstOf(n, "on_holiday", "every", "calendar"), "write `on_holiday: skip`, or times of days",
				"on_holiday contradicts %s: only days move", yamldoc.Quote(c.String()))
		}
	}
	key := t.calendars.String() + " " + string(t.onHoliday)
	if l.rules[key] == nil {
		l.rules[key] = &calendar.Rule{Set: t.calendars, Move: calendar.Move(t.onHoliday)}
		if !moves {
			l.rules[key].Move = calendar.Skip
		}
	}
	t.When = t.When.By(l.rules[key])
	t.TimeValues = slices.Clone(t.TimeValues)
	for i, times := range t.TimeValues {
		t.TimeValues[i].Crons = cron.On(t.When.Rule, times.Crons)
	}
}

// warnOfUnusedCalendars warns of calendars that no task has. names are the nodes with their names.
func warnOfUnusedCalendars(l *loader, names []*node) {
	for i, name := range names {
		has := func(t *schedule.Task) bool {
			return t.When.Rule != nil && slices.Contains(t.When.Rule.Set, l.schedule.Calendars[i].Calendar)
		}
		if !slices.ContainsFunc(l.schedule.Tasks, has) {
			l.Warnf(name, "add `calendar: "+yamldoc.Shorten(name.Value)+"` to the tasks that it is for",
				"no task has the calendar %s", yamldoc.Quote(name.Value))
		}
	}
}
