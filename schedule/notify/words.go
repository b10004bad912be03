package notify

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// headline is the news in one line: `nightly-report failed: exit code 7`.
func (n News) headline() string { return n.Task + " " + n.happened() }

// happened says what became of the run: `failed: exit code 7`, `timed out after 20m`.
func (n News) happened() string {
	switch {
	case n.Event == Start:
		return "started"
	case n.Event == Recovery:
		return "recovered"
	case n.Outcome == "":
		return string(n.Event)
	}
	reason := line(n.Reason)
	if reason == "" && n.Outcome == "failed" && n.ExitCode != nil {
		reason = fmt.Sprintf("exit code %d", *n.ExitCode)
	}
	switch {
	case reason == "":
		return n.Outcome
	case strings.HasPrefix(reason, "after "), strings.HasPrefix(reason, "by "): // `timed out after 20m`, `stopped by SIGTERM`
		return n.Outcome + " " + reason
	}
	return n.Outcome + ": " + reason
}

// subject is the headline with the schedule before it, cut to what an inbox shows.
func (n News) subject() string {
	subject := n.headline()
	if n.Schedule != "" {
		subject = "[" + n.Schedule + "] " + subject
	}
	return head(line(subject), 200)
}

// facts are the lines that tell where, when and how, for people.
func (n News) facts() (facts [][2]string) {
	add := func(name, value string) {
		if value = line(value); value != "" {
			facts = append(facts, [2]string{name, value})
		}
	}
	add("server", n.Server)
	add("due", clock(n.Slot))
	add("started", clock(n.Started))
	add("ended", clock(n.Ended))
	if !n.Started.IsZero() && !n.Ended.IsZero() {
		add("took", took(n.Duration))
	}
	if n.Attempt > 1 {
		add("attempts", fmt.Sprint(n.Attempt))
	}
	add("run", n.Run)
	add("more", n.more())
	return facts
}

// more is the command that tells more.
func (n News) more() string {
	command := "sched "
	option := ""
	if n.Config != "" {
		option = "-c " + n.Config + " "
	}
	if n.Run == "" || n.Event == Skip || n.Outcome == "skipped" {
		return command + "why " + option + n.Task
	}
	return command + "logs " + option + n.Run[max(0, len(n.Run)-12):] // the part that commands take for the whole
}

// heldBack says that a limit kept news like this back; empty when it did not.
func (n News) heldBack() string {
	since := "the last one"
	if !n.HeldSince.IsZero() {
		since = clock(n.HeldSince)
	}
	switch n.HeldBack {
	case 0:
		return ""
	case 1:
		return "One more like this was not sent since " + since + "."
	}
	return fmt.Sprintf("%d more like this were not sent since %s.", n.HeldBack, since)
}

// bounded holds the output to OutputLimit.
func (n News) bounded() News {
	if cut := tail(n.Output, OutputLimit); len(cut) < len(n.Output) {
		n.Output, n.Cut = cut, true
	}
	return n
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
