package view

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sched/schedule/humanize"
)

// CalendarKind is the content type of ICal.
const CalendarKind = "text/calendar; charset=utf-8"

// ICal writes a calendar as programs for calendars read it (RFC 5545). An event has the same UID
// whenever and wherever it is written. It lasts as long as the run usually does, in full minutes,
// and at least one.
func ICal(c Calendar) []byte {
	var w icalWriter
	w.line("BEGIN", "VCALENDAR")
	w.line("VERSION", "2.0")
	w.line("PRODID", "-//sched//sched//EN")
	w.text("NAME", c.Name)
	w.text("X-WR-CALNAME", c.Name)
	if len(c.Notes) > 0 {
		w.text("DESCRIPTION", strings.Join(c.Notes, "\n"))
		w.text("X-WR-CALDESC", strings.Join(c.Notes, "\n"))
	}
	w.line("REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
	w.line("X-PUBLISHED-TTL", "PT1H")
	if len(c.Events) == 0 { // a calendar must have something in it
		w.zone()
	}
	for _, e := range c.Events {
		w.event(c, e)
	}
	w.line("END", "VCALENDAR")
	return w.out
}

// An icalWriter writes the lines of a calendar.
type icalWriter struct{ out []byte }

func (w *icalWriter) event(c Calendar, e Event) {
	length := (e.Usual + time.Minute - 1).Truncate(time.Minute)
	about := "how long it takes is not known yet"
	if e.Usual > 0 {
		about = "usually takes " + humanize.Duration(e.Usual)
	}
	if e.Task.Description != "" {
		about = e.Task.Description + "\n" + about
	}
	w.line("BEGIN", "VEVENT")
	w.text("UID", icalTime(e.Slot)+"-"+e.Task.Name+"@"+c.Name)
	w.line("DTSTAMP", icalTime(c.Made))
	w.line("DTSTART", icalTime(e.Slot))
	w.line("DTEND", icalTime(e.Slot.Add(max(length, time.Minute))))
	w.text("SUMMARY", e.Task.Name)
	w.text("DESCRIPTION", about)
	if len(e.Task.Tags) > 0 {
		var tags []string
		for _, tag := range e.Task.Tags {
			tags = append(tags, icalText(tag))
		}
		w.line("CATEGORIES", strings.Join(tags, ","))
	}
	w.line("TRANSP", "TRANSPARENT") // a run keeps nobody busy
	w.line("END", "VEVENT")
}

func (w *icalWriter) zone() {
	w.line("BEGIN", "VTIMEZONE")
	w.line("TZID", "UTC")
	w.line("BEGIN", "STANDARD")
	w.line("DTSTART", "19700101T000000")
	w.line("TZOFFSETFROM", "+0000")
	w.line("TZOFFSETTO", "+0000")
	w.line("END", "STANDARD")
	w.line("END", "VTIMEZONE")
}

func (w *icalWriter) text(name, text string) { w.line(name, icalText(text)) }

// line writes a line, folded after at most 75 bytes, and not within a character.
func (w *icalWriter) line(name, value string) {
	line := name + ":" + value
	for most := 75; len(line) > most; most = 74 { // the blank that begins the rest is a byte of it
		end := most
		for !utf8.RuneStart(line[end]) {
			end--
		}
		w.out = fmt.Appendf(w.out, "%s\r\n ", line[:end])
		line = line[end:]
	}
	w.out = fmt.Appendf(w.out, "%s\r\n", line)
}

// icalText escapes a text, and leaves control characters out of it.
func icalText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7F {
			return -1
		}
		return r
	}, text)
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(text)
}

func icalTime(at time.Time) string { return at.UTC().Format("20060102T150405Z") }
