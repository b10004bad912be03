package view

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sched/schedule"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/pause"
	"sched/schedule/state"
)

// feedOf makes the calendar of tasks at a time in Berlin, and reads its text back.
func feedOf(t *testing.T, tasks, at string, names ...string) (Calendar, []map[string]string) {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now, err := time.ParseInLocation("2006-01-02 15:04", at, berlin)
	if err != nil {
		t.Fatal(err)
	}
	s, err := load.Text([]byte("name: shop\ntimezone: Europe/Berlin\ntasks:\n"+tasks),
		filepath.Join(t.TempDir(), "schedule.yaml"), load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return feedIn(t, s, now, names...)
}

func feedIn(t *testing.T, s *schedule.Schedule, now time.Time, names ...string) (Calendar, []map[string]string) {
	t.Helper()
	source := Source{Schedule: s, Controls: pause.Source{Dir: s.StateDir, ReadOnly: true},
		Now: func() time.Time { return now }, Problem: t.Logf}
	c, err := CalendarOf(t.Context(), source, now, names)
	if err != nil {
		t.Fatal(err)
	}
	return c, readICal(t, ICal(c))
}

// readICal reads a calendar as RFC 5545 has it, and returns its events. Each line ends with CR and
// LF and has at most 75 bytes of whole characters; a blank begins the rest of a folded one.
func readICal(t *testing.T, text []byte) (events []map[string]string) {
	t.Helper()
	rest, ok := strings.CutSuffix(string(text), "\r\n")
	if !ok || strings.Contains(strings.ReplaceAll(rest, "\r\n", ""), "\n") {
		t.Fatalf("a line does not end with CR and LF: %q", text)
	}
	var lines, open []string
	for _, line := range strings.Split(rest, "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) {
			t.Errorf("a line of %d bytes: %q", len(line), line)
		}
		if more, isFolded := strings.CutPrefix(line, " "); isFolded {
			lines[len(lines)-1] += more
			continue
		}
		lines = append(lines, line)
	}
	unescape := strings.NewReplacer(`\\`, `\`, `\;`, ";", `\,`, ",", `\n`, "\n")
	components := 0
	for i, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, _, _ = strings.Cut(name, ";")
		switch {
		case !ok || strings.ToUpper(name) != name:
			t.Errorf("no property: %q", line)
		case name == "BEGIN":
			components++
			open = append(open, value)
			if value == "VEVENT" {
				events = append(events, map[string]string{})
			}
		case name == "END":
			if open[len(open)-1] != value || len(open) == 1 && i != len(lines)-1 {
				t.Errorf("%s does not end %v", line, open)
			}
			open = open[:len(open)-1]
		case open[len(open)-1] == "VEVENT":
			events[len(events)-1][name] = unescape.Replace(value)
		}
	}
	if len(open) > 0 || lines[0] != "BEGIN:VCALENDAR" || components < 2 {
		t.Errorf("the calendar is not whole: %v, %d components", open, components)
	}
	uids := map[string]bool{}
	for _, e := range events {
		for _, required := range []string{"UID", "DTSTAMP", "DTSTART", "DTEND", "SUMMARY"} {
			if e[required] == "" {
				t.Errorf("an event has no %s: %v", required, e)
			}
		}
		if uids[e["UID"]] || e["DTSTART"] >= e["DTEND"] {
			t.Errorf("the event is there twice, or ends before it begins: %v", e)
		}
		uids[e["UID"]] = true
	}
	return events
}

func of(events []map[string]string, task string) (some []map[string]string) {
	return slices.DeleteFunc(slices.Clone(events), func(e map[string]string) bool { return e["SUMMARY"] != task })
}

func TestACalendarHasWhatWillRun(t *testing.T) {
	text := "Zahlen; von gestern, für alle: " + strings.Repeat("äöüß€", 20) + `\n\ "x"` + "\nBEGIN:VEVENT"
	calendar, events := feedOf(t, `
- {name: often, every: 5 minutes, command: x}
- {name: in-a-window, every: 5 minutes, between: ["08:00", "10:00"], command: x}
- {name: hourly, every: hour, command: x}
- {name: nightly, every: day at 02:30, command: x, tags: ["a;b", c], description: "`+strings.NewReplacer(
		`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)+`"}
- {name: weekdays, every: day at 12:00, days: weekdays, command: x}
- {name: off, every: day at 12:00, command: x, enabled: false}
- {name: by-hand, every: hand, command: x}
`, "2026-10-20 09:17")
	for task, want := range map[string]int{"often": 0, "in-a-window": 13 + 59*25, "hourly": 60 * 24, "nightly": 60,
		"weekdays": 44, "off": 0, "by-hand": 0} {
		if got := len(of(events, task)); got != want {
			t.Errorf("%s has %d events, want %d", task, got, want)
		}
	}
	want := []string{"left out, because they run more than 25 times within 24 hours: often"}
	if !slices.Equal(calendar.Notes, want) {
		t.Errorf("it says %q", calendar.Notes)
	}
	// The clocks are set back on 25 October: 02:30 is +02:00, then +01:00.
	nightly := of(events, "nightly")
	if first, later := nightly[0], nightly[len(nightly)-1]; first["DTSTART"] != "20261021T003000Z" ||
		later["DTSTART"] != "20261219T013000Z" || first["UID"] != "20261021T003000Z-nightly@shop" ||
		first["DESCRIPTION"] != text+"\nhow long it takes is not known yet" || first["CATEGORIES"] != "a;b,c" {
		t.Errorf("%q, %q", first, later)
	}
	if first := of(events, "hourly")[0]; first["DTSTART"] != "20261020T070000Z" || first["DTEND"] != "20261020T070100Z" {
		t.Errorf("the calendar begins with %v, and not with the hour", first)
	}
}

func TestACalendarIsTheSameWithinAnHour(t *testing.T) {
	s := scheduleIn(t, "a")
	s, err := load.Text([]byte("name: shop\ntimezone: UTC\ntasks: [{name: a, every: day, command: x}]"),
		s.File, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hour := noon.Truncate(time.Hour)
	first, _ := feedIn(t, s, hour)
	again, _ := feedIn(t, s, hour.Add(59*time.Minute))
	if string(ICal(first)) != string(ICal(again)) {
		t.Error("two answers of an hour differ")
	}
}

func TestAnEventLastsAsLongAsTheRunsDid(t *testing.T) {
	s := scheduleIn(t, "a")
	var rows []state.Row
	for i, took := range []time.Duration{10 * time.Minute, 12*time.Minute + 30*time.Second, 3 * time.Hour} {
		r := ranBefore("a", 60*(i+1), outcome.Succeeded)
		r.Ended = r.Started.Add(took)
		rows = append(rows, r)
	}
	remember(t, s, rows...)
	s, err := load.Text([]byte("name: shop\ntimezone: UTC\ntasks: [{name: a, every: hour, command: x}]"), s.File, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, events := feedIn(t, s, noon)
	begin, _ := time.Parse("20060102T150405Z", events[0]["DTSTART"])
	if end := begin.Add(13 * time.Minute).Format("20060102T150405Z"); events[0]["DTEND"] != end ||
		!strings.HasSuffix(events[0]["DESCRIPTION"], "usually takes 12 m 30 s") {
		t.Errorf("%v does not end at %s", events[0], end)
	}
}

func TestACalendarIsBounded(t *testing.T) {
	var tasks strings.Builder
	for i := range 300 {
		fmt.Fprintf(&tasks, "- {name: t%d, every: day at 03:00, command: x}\n", i)
		fmt.Fprintf(&tasks, "- {name: each%03d, every: second, command: x}\n", i)
	}
	calendar, events := feedOf(t, tasks.String(), "2026-01-05 12:00")
	want := []string{calendar.Notes[0],
		"it ends with 2026-01-22 03:00 CET, because it has 5000 runs until then"}
	if !strings.HasPrefix(calendar.Notes[0], "left out, because they run more than 25 times within 24 hours: each000, each001") ||
		len(events) != maxEvents || !slices.Equal(calendar.Notes, want) {
		t.Errorf("%d events, and %q", len(events), calendar.Notes)
	}
}

func TestAnEmptyCalendarIsValid(t *testing.T) {
	if _, events := feedOf(t, "- {name: a, every: hand, command: x}", "2026-01-05 12:00"); len(events) > 0 {
		t.Errorf("%v", events)
	}
}
