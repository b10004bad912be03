package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/text"
)

// outcomes are all there are, in the order of help texts and hints.
var outcomes = []outcome.Outcome{outcome.Succeeded, outcome.Failed, outcome.TimedOut, outcome.Stopped, outcome.Lost,
	outcome.Skipped, outcome.Missed}

// failures are the outcomes that on_failure hooks fire for.
var failures = slices.DeleteFunc(slices.Clone(outcomes), func(o outcome.Outcome) bool { return !o.Failure() })

// outcomeList names the outcomes as --outcome takes them.
func outcomeList() string {
	var words []string
	for _, o := range outcomes {
		words = append(words, outcomeWord(o))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// outcomeWord is an outcome as one word, without quotes in a shell: "timed-out".
func outcomeWord(o outcome.Outcome) string { return strings.ReplaceAll(string(o), " ", "-") }

// parseOutcome reads an outcome, in upper or lower case, its words separated by blanks, - or _.
func parseOutcome(word string) (outcome.Outcome, error) {
	plain := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(strings.TrimSpace(word)))
	var names []string
	for _, o := range outcomes {
		if string(o) == plain {
			return o, nil
		}
		names = append(names, outcomeWord(o))
	}
	hint := "the outcomes are " + outcomeList()
	if near := text.Nearest(plain, names); near != "" {
		hint = `did you mean "` + near + `"?`
	}
	return "", usage(hint, "--outcome %q is not an outcome", word)
}

// toneOf is the colour of an outcome; plain for a run that has none yet.
func toneOf(o outcome.Outcome) terminal.Tone {
	switch o {
	case outcome.Succeeded:
		return terminal.Good
	case outcome.Failed, outcome.TimedOut, outcome.Lost:
		return terminal.Bad
	case outcome.Stopped, outcome.Skipped, outcome.Missed:
		return terminal.Caution
	}
	return ""
}

// describe says in words how a run ended: "failed in 2.1 s: exit code 7 (attempt 3)".
func describe(r outcome.Record) string {
	var b strings.Builder
	b.WriteString(string(r.Outcome))
	separator := ": "
	switch {
	case r.Outcome == outcome.TimedOut, r.Outcome == outcome.Stopped && !strings.HasPrefix(r.Reason, "sched stop"):
		separator = " " // "timed out after 20m", "stopped by SIGTERM"
	case !r.Started.IsZero() && r.Outcome != outcome.Lost:
		b.WriteString(" in " + text.Duration(r.Duration()))
	}
	if r.Reason != "" {
		b.WriteString(separator + r.Reason)
	}
	var more []string
	if r.Attempts > 1 {
		more = append(more, fmt.Sprintf("attempt %d", r.Attempts))
	}
	if r.Origin != "" {
		more = append(more, r.Origin)
	}
	if len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, ", ") + ")")
	}
	return b.String()
}

// late says how late a run started that the schedule asked for, where that is more than a tick takes; else "". One that is
// later than any missed slot may run was started with --at, and is not late.
func late(r outcome.Record) string {
	if r.Origin != "" || r.Lateness() <= 5*time.Second || r.Lateness() > schedule.LookBack {
		return ""
	}
	return ", " + text.Duration(r.Lateness()) + " late"
}
