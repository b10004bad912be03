package cmd

import (
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/history"

	"sched/schedule/text"

	"sched/schedule/outcome"

	"sched/schedule/runfile"
)

// outcomes are all there are, in the order in which people are told of them.
var outcomes = []outcome.Outcome{outcome.Succeeded, outcome.Failed, outcome.TimedOut, outcome.Stopped, outcome.Lost,
	outcome.Skipped, outcome.Missed}

// failures are the outcomes that on_failure hooks fire for, which is what one may want to retry.
var failures = slices.DeleteFunc(slices.Clone(outcomes), func(o outcome.Outcome) bool { return !o.Failure() })

// outcomeList names the outcomes as --outcome takes them.
func outcomeList() string {
	var words []string
	for _, o := range outcomes {
		words = append(words, outcomeWord(o))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// outcomeWord is an outcome as one word, which needs no quotes in a shell.
func outcomeWord(o outcome.Outcome) string { return strings.ReplaceAll(string(o), " ", "-") }

// historyQuery says which records the flags ask for.
func (a *app) historyQuery(name string, o historyOptions, zone *time.Location) (q history.Query, err error) {
	q = history.Query{Task: name, Limit: o.limit}
	switch {
	case o.limit < 0:
		return q, usage("0 shows all", "--limit %d is negative", o.limit)
	case o.failed && len(o.outcomes) > 0:
		return q, usage("--failed is --outcome failed,timed-out,stopped,lost", "--failed and --outcome exclude each other")
	case o.failed:
		q.Outcomes = failures
	}
	for _, word := range o.outcomes {
		outcome, err := parseOutcome(word)
		if err != nil {
			return q, err
		}
		q.Outcomes = append(q.Outcomes, outcome)
	}
	if q.Since, err = a.parsePast("since", o.since, zone); err != nil {
		return q, err
	}
	if q.Until, err = a.parsePast("until", o.until, zone); err != nil {
		return q, err
	}
	if !q.Until.IsZero() && !q.Since.Before(q.Until) {
		return q, usage("", "--until %s is not after --since %s", o.until, o.since)
	}
	return q, nil
}

// parseOutcome reads the name of an outcome in any case; that of several words also with - or _.
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

// parsePast reads a time, or how long ago. The zero time stands for a flag that was not given.
func (a *app) parsePast(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := schedule.ParseDuration(text); err == nil {
		return a.now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("write it as 90m, 7d, 2006-01-02 or 2006-01-02 15:04", "--%s %q is neither a time nor a duration", flag, text)
}

// matching returns the runs without an outcome yet that q asks for.
func matching(logs []runfile.State, q history.Query) []runfile.State {
	if len(q.Outcomes) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(logs), func(log runfile.State) bool {
		r := log.Begin
		return q.Task != "" && r.Task != q.Task || r.Slot.Before(q.Since) || !q.Until.IsZero() && !r.Slot.Before(q.Until)
	})
}

// waitingIn returns what waits for a time that q asks for.
func waitingIn(waiting map[string][]waitingJSON, q history.Query) map[string][]waitingJSON {
	in := map[string][]waitingJSON{}
	for task, all := range waiting {
		for _, w := range all {
			if len(q.Outcomes) == 0 && !w.at.Before(q.Since) && (q.Until.IsZero() || w.at.Before(q.Until)) {
				in[task] = append(in[task], w)
			}
		}
	}
	return in
}

func hasTask(name string, logs []runfile.State) bool {
	return slices.ContainsFunc(logs, func(log runfile.State) bool { return log.Begin.Task == name })
}
