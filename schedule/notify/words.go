package notify

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sched/schedule/text"
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
	add("due", text.SecondOffset(n.Slot))
	add("started", text.SecondOffset(n.Started))
	add("ended", text.SecondOffset(n.Ended))
	if !n.Started.IsZero() && !n.Ended.IsZero() {
		add("took", text.DurationPrecise(n.Duration))
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
	return command + "logs " + option + text.ShortRun(n.Run)
}

// heldBack says that a limit kept news like this back; empty when it did not.
func (n News) heldBack() string {
	since := "the last one"
	if !n.HeldSince.IsZero() {
		since = text.SecondOffset(n.HeldSince)
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

// line makes one line of foreign text, with single spaces between its words.
func line(foreign string) string { return strings.Join(strings.Fields(text.Plain(foreign)), " ") }
