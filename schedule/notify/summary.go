package notify

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sched/schedule/humanize"
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
	case m.Event == Overdue:
		return "is overdue: " + line(m.Reason)
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

// subject is the headline with the schedule before it, in at most 200 characters: inboxes show no
// more.
func (m Message) subject() string {
	subject := m.headline()
	if m.Schedule != "" {
		subject = "[" + m.Schedule + "] " + subject
	}
	return head(line(subject), 200)
}

// A fact is a line of a message: `took      11.5 s`.
type fact struct{ name, value string }

// facts say where, when and how. They leave out what is not known.
func (m Message) facts() (facts []fact) {
	add := func(name, value string) {
		if value = line(value); value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("server", m.Server)
	add("due", humanize.SecondOffset(m.Slot))
	add("started", humanize.SecondOffset(m.Started))
	add("ended", humanize.SecondOffset(m.Ended))
	if !m.Started.IsZero() && !m.Ended.IsZero() {
		add("took", humanize.DurationPrecise(m.Duration))
	}
	if m.Attempt > 1 {
		add("attempts", fmt.Sprint(m.Attempt))
	}
	add("run", m.Run)
	add("more", m.command())
	return facts
}

// command is the command that shows more: `sched logs` for a run, `sched why` for a slot that did
// not become a run.
func (m Message) command() string {
	command := "sched "
	option := ""
	if m.Config != "" {
		option = "-c " + m.Config + " "
	}
	if m.Run == "" || m.Event == Skip || m.Outcome == "skipped" {
		return command + "why " + option + m.Task
	}
	return command + "logs " + option + humanize.ShortRun(m.Run)
}

// heldBackText says that at_most held messages like this one back; empty if it did not.
func (m Message) heldBackText() string {
	since := "the last one"
	if !m.HeldSince.IsZero() {
		since = humanize.SecondOffset(m.HeldSince)
	}
	switch m.HeldBack {
	case 0:
		return ""
	case 1:
		return "One more like this was not sent since " + since + "."
	}
	return fmt.Sprintf("%d more like this were not sent since %s.", m.HeldBack, since)
}

// tail is the end of text, at most limit bytes long. It begins at a line if a line begins in the
// first half of the end, else with a whole character.
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

// head is the beginning of text, at most limit characters long.
func head(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// line makes one line of foreign text, with single spaces between its words.
func line(foreign string) string { return strings.Join(strings.Fields(humanize.Plain(foreign)), " ") }
