package web

import (
	"slices"

	"sched/schedule/view"
)

// An overview is the first page: what is wrong, what went wrong since the evening before, and what
// comes next.
type overview struct {
	*page
	Since     string
	Good      string   // says that all is well; "" if it is not
	Verdict   *verdict // if it is not
	Incidents []view.Incident
	More      int // how many incidents are left out
	Next      []view.Upcoming
	Paused    []view.TaskPause // in effect or planned, the one that ends first at the top
	AllPaused int              // how many there are, if some are left out

	MaxFailures int
}

func readOverview(p *page) (overview, error) {
	p.title = "Overview"
	o := view.OverviewOf(p.request.Context(), p.View, p.health())
	shown := overview{page: p, Since: o.Since.Format("Mon 15:04 MST"), Incidents: o.Incidents, More: o.More,
		Next: o.Next, MaxFailures: view.MaxFailures}
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
	const maxItems = 8
	if all := len(shown.Paused); all > maxItems {
		shown.Paused, shown.AllPaused = shown.Paused[:maxItems], all
	}
	return shown, nil
}
