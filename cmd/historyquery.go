package cmd

import (
	"slices"
	"time"

	"sched/schedule/history"
	"sched/schedule/runfile"
)

// historyQuery turns the flags into a query; an empty name is that of all tasks.
func (a historyCommand) historyQuery(name string, o historyOptions, zone *time.Location) (q history.Query, err error) {
	q = history.Query{Task: name, Limit: o.limit}
	switch {
	case o.limit < 0:
		return q, usage("0 shows all", "--limit %d is negative", o.limit)
	case o.failed && len(o.outcomes) > 0:
		return q, usage("--failed is --outcome failed,timed-out,stopped,lost", "--failed and --outcome exclude each other")
	case o.failed:
		q.Outcomes = failures()
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

// matching returns those of the runs without an outcome that the query covers.
func matching(logs []runfile.State, q history.Query) []runfile.State {
	if len(q.Outcomes) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(logs), func(state runfile.State) bool {
		r := state.Begin
		return q.Task != "" && r.Task != q.Task || r.Slot.Before(q.Since) || !q.Until.IsZero() && !r.Slot.Before(q.Until)
	})
}

func hasTask(name string, logs []runfile.State) bool {
	return slices.ContainsFunc(logs, func(state runfile.State) bool { return state.Begin.Task == name })
}
