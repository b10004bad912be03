package notify

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// headline is the message in one line: `nightly-report failed: exit code 7`.
func (m Message) headline() string { return m.Task + " " + m.result() }

// result says what became of the run: `failed: exit code 7`, `timed out after 20m`.
func (m Message) result() string {
	switch {
	case m.Event == Start:
		return "started"
	case m.Event == Recovery:
		return "recovered"
	case m.Outcome == "":
		return string(m.Event)
	}
	reason := line(m.Reason)
	if reason == "" && m.Outcome == "failed" && m.ExitCode != nil {
		reason = fmt.Sprintf("exit code %d", *m.ExitCode)
	}
	switch {
	case reason == "":
		return m.Outcome
	case strings.HasPrefix(reason, "after "), strings.HasPrefix(reason, "by "): // `timed out after 20m`, `stopped by SIGTERM`
		return m.Outcome + " " + reason
	}
	return m.Outcome + ": " + reason
}

// subject is the headline with the schedule before it, in at most 200 characters: inboxes show no more.
func (m Message) subject() string {
	subject := m.headline()
	if m.Schedule != "" {
		subject = "[" + m.Schedule + "] " + subject
	}
	return head(line(subject), 200)
}

// A fact is a line of a message: `took      11.5 s`.
type fact struct{ name, value string }

// facts say where, when and how. Those of which nothing is known are left out.
func (m Message) facts() (facts []fact) {
	add := func(name, value string) {
		if value = line(value); value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("server", m.Server)
	add("due", clock(m.Slot))
	add("started", clock(m.Started))
	add("ended", clock(m.Ended))
	if !m.Started.IsZero() && !m.Ended.IsZero() {
		add("took", took(m.Duration))
	}
	if m.Attempt > 1 {
		add("attempts", fmt.Sprint(m.Attempt))
	}
	add("run", m.Run)
	add("more", m.command())
	return facts
}

// command is what to type to see more: `sched logs` for a run, `sched why` for a slot that did not become one.
func (m Message) command() string {
	command := "sched "
	option := ""
	if m.Config != "" {
		option = "-c " + m.Config + " "
	}
	if m.Run == "" || m.Event == Skip || m.Outcome == "skipped" {
		return command + "why " + option + m.Task
	}
	return command + "logs " + option + m.Run[max(0, len(m.Run)-12):] // the end of an id is enough for every command
}

// heldBackText says that at_most held messages like this one back; empty when it did not.
func (m Message) heldBackText() string {
	since := "the last one"
	if !m.HeldSince.IsZero() {
		since = clock(m.HeldSince)
	}
	switch m.HeldBack {
	case 0:
		return ""
	case 1:
		return "One more like this was not sent since " + since + "."
	}
	return fmt.Sprintf("%d more like this were not sent since %s.", m.HeldBack, since)
}

// clock writes a time with the offset of its zone: names of zones are lost on the way through an outbox.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04:05 -07:00")
}

// took writes a duration for people.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
}

// tail is the end of text, at most limit bytes long. It begins with a line where one begins in the
// first half of what is left, else with a whole character.
func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < limit/2 {
		return text[i+1:]
	}
	for i := 0; i < len(text) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text
}

// head is the begin of text, at most limit characters long.
func head(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// line makes one line of text that people may read.
func line(text string) string { return strings.Join(strings.Fields(plain(text)), " ") }

// plain makes text of what a command printed: valid UTF-8 with lines that end in \n, without the control
// characters and escape sequences that are for a terminal.
func plain(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		if n := escape(text); n > 0 {
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch {
		case r == '\r': // a line that is drawn over: progress bars
			b.WriteByte('\n')
		case r == '\n', r == '\t', !unicode.IsControl(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// escape is the length of the escape sequence that text begins with (ECMA-35 and ECMA-48); 0 when it begins with none.
func escape(text string) int {
	if len(text) < 2 || text[0] != 0x1b {
		return 0
	}
	switch text[1] {
	case '[': // parameters, then a final byte
		return ends(text, 2, 0x20, 0x3f)
	case ']', 'P', '^', '_': // text until BEL or ESC \; a line that goes on is none of it
		end := strings.IndexAny(text[2:], "\a\x1b\n")
		switch {
		case end < 0:
			return len(text)
		case text[2+end] == '\a':
			return 2 + end + 1
		case strings.HasPrefix(text[2+end:], "\x1b\\"):
			return 2 + end + 2
		}
		return 2 + end
	}
	return ends(text, 1, 0x20, 0x2f)
}

// ends returns the end of a sequence: bytes of a range from i on, then one of a final byte, unless it is broken off.
func ends(text string, i int, from, to byte) int {
	for i < len(text) && text[i] >= from && text[i] <= to {
		i++
	}
	if i < len(text) && text[i] > to && text[i] <= '~' {
		i++
	}
	return i
}
