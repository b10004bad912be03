package history

import (
	"sched/cmd/exit"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
)

type options struct {
	failed, summary, changes, allServers, values bool
	since, until, timezone                       string
	outcomes                                     []string
	limit                                        int
	limitGiven, json, csv                        bool
}

func (o options) check() error {
	filtered := o.failed || len(o.outcomes) > 0
	switch {
	case o.summary && (filtered || o.limitGiven):
		return exit.Usage("narrow it with --since and --until",
			"--summary is of all outcomes, and of all records of a time")
	case o.summary && o.allServers:
		return exit.Usage("call it on each server", "--summary is of this machine")
	case o.changes && (o.summary || o.allServers || o.csv || filtered):
		return exit.Usage("narrow it with a task, --since, --until and -n",
			"--changes is about what people changed, and not about runs")
	case o.values && (o.summary || o.changes):
		return exit.Usage("leave out --summary and --changes", "--values is about single runs")
	case o.json && o.csv:
		return exit.Usage("", "--json and --csv exclude each other")
	case o.limit < 0:
		return exit.Usage("0 shows all", "--limit %d is negative", o.limit)
	case o.failed && len(o.outcomes) > 0:
		return exit.Usage("--failed is --outcome failed,timed-out,stopped,lost",
			"--failed and --outcome exclude each other")
	}
	return nil
}

// outcomeList names outcomes for a sentence: "succeeded, failed or skipped".
func outcomeList(outcomes []outcome.Outcome) string {
	return humanize.Or(outcome.Words(outcomes))
}

// parseOutcome reads an outcome, in upper or lower case, its words separated by blanks, - or _.
func parseOutcome(word string) (outcome.Outcome, error) {
	parsed, ok := outcome.Parse(word)
	if ok {
		return parsed, nil
	}
	hint := "the outcomes are " + outcomeList(outcome.Filters)
	if near := humanize.Nearest(string(parsed), outcome.Words(outcome.Filters)); near != "" {
		hint = `did you mean "` + near + `"?`
	}
	return "", exit.Usage(hint, "--outcome %q is not an outcome", word)
}
