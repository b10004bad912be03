package cmd

import (
	"sched/schedule/history"
	"sched/schedule/view"
)

// waitingIn returns what waits for a time that the query covers.
func waitingIn(waiting map[string][]view.Waiting, q history.Query) map[string][]view.Waiting {
	in := map[string][]view.Waiting{}
	for task, all := range waiting {
		for _, w := range all {
			if len(q.Outcomes) == 0 && !w.Time.Before(q.Since) && (q.Until.IsZero() || w.Time.Before(q.Until)) {
				in[task] = append(in[task], w)
			}
		}
	}
	return in
}
