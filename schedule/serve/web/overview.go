package web

import (
	"fmt"
	"slices"

	"sched/schedule/past"
	"sched/schedule/serve"
	"sched/schedule/view"
)

// An overview is the first page: what is wrong, what went wrong and what went well since the
// evening before, what waits, and what comes next.
type overview struct {
	*page
	Since     string
	Good      string   // says that all is well; "" if it is not
	Verdict   *verdict // if it is not
	Incidents []view.Incident
	More      int // how many incidents are left out
	Unusual   []view.Incident
	Activity  *activityStrip // nil if the history cannot be read
	Well      []view.Success
	MoreWell  int // how many tasks that went well are left out
	WellRuns  int
	Waiting   []waitingRun
	Next      []view.Upcoming
	Paused    []view.TaskPause // in effect or planned, the one that ends first at the top
	AllPaused int              // how many there are, if some are left out
	Proposals int              // that wait for a person

	MaxFailures int
}

// A waitingRun is a run that waits, with its task.
type waitingRun struct {
	Task string
	view.Waiting
}

const maxWaiting = 8 // runs that are listed

// waitingRuns returns the runs that wait here, in the order of the tasks.
func waitingRuns(p *page) (all []waitingRun) {
	waiting := view.WaitingRuns(p.View, p.View.Live(), p.View.Pauses)
	for _, t := range p.Schedule.Tasks {
		for _, w := range waiting[t.Name] {
			all = append(all, waitingRun{t.Name, w})
		}
	}
	return all
}

func readOverview(p *page) (overview, error) {
	p.title = "Overview"
	o := view.OverviewOf(p.request.Context(), p.View, p.health())
	shown := overview{page: p, Since: o.Since.Format("Mon 15:04 MST"), Incidents: o.Incidents, More: o.More,
		Next: o.Next, MaxFailures: view.MaxFailures}
	shown.Activity, shown.WellRuns = newActivityStrip(p, o.Activity), o.WellRuns
	shown.Unusual, shown.Well, shown.MoreWell = o.Unusual, o.Well, o.MoreWell
	shown.Waiting = waitingRuns(p)
	if o.ExitCode == view.AllWell && len(o.Incidents) == 0 {
		shown.Good = o.First
	} else {
		shown.Verdict = p.verdict(o.Status)
	}
	planned := slices.DeleteFunc(slices.Clone(o.Planned),
		func(item view.TaskPause) bool { return !item.Announced(p.now) })
	shown.Paused = slices.Concat(o.Paused, planned)
	slices.SortStableFunc(shown.Paused, func(a, b view.TaskPause) int {
		if a.Raw.Until.IsZero() != b.Raw.Until.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.Raw.Until.IsZero()]
		}
		return a.Raw.Until.Compare(b.Raw.Until)
	})
	if proposed, err := serve.Proposals(p.Visit); err == nil { // the page of them says what is wrong
		shown.Proposals = len(proposed)
	}
	const maxItems = 8
	if all := len(shown.Paused); all > maxItems {
		shown.Paused, shown.AllPaused = shown.Paused[:maxItems], all
	}
	return shown, nil
}

// tallyOf says how many runs of a task failed, beside those that succeeded; "" if none failed.
func tallyOf(t past.Tally) string {
	if t.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d failed, %d succeeded", t.Failed, t.Succeeded)
}
