package cmd

import (
	"strings"

	"sched/cmd/terminal"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
)

func outcomeList() string {
	var words []string
	for _, o := range outcome.All {
		words = append(words, outcomeWord(o))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func outcomeWord(o outcome.Outcome) string { return strings.ReplaceAll(string(o), " ", "-") }

// parseOutcome reads an outcome, in upper or lower case, its words separated by blanks, - or _.
func parseOutcome(word string) (outcome.Outcome, error) {
	plain, ok := outcome.Parse(word)
	if ok {
		return plain, nil
	}
	var names []string
	for _, o := range outcome.All {
		names = append(names, outcomeWord(o))
	}
	hint := "the outcomes are " + outcomeList()
	if near := humanize.Nearest(string(plain), names); near != "" {
		hint = `did you mean "` + near + `"?`
	}
	return "", usage(hint, "--outcome %q is not an outcome", word)
}

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
