package web

import (
	"net/http"
	"strings"

	"sched/schedule/serve"
	"sched/schedule/view"
)

// A sitePage lists the schedules of a site.
type sitePage struct {
	Schedules []summary
	Broken    []string // what is wrong with files that are no schedules
}

// A summary is what the page of a site says of one schedule.
type summary struct {
	Base, Name string
	Wrong      *serve.Problem // it cannot be shown
	Verdict    *verdict
	Invalid    string // the schedule that runs in the place of an invalid one
	Problems   []string
}

// ShowSchedules answers with the page of a site: each schedule at which the visitor may look, with
// its verdict. It is the menu of the site, too.
func ShowSchedules(w http.ResponseWriter, site *serve.Site, seen []serve.Sighting) {
	base := seen[0].SitePath()
	values := sitePage{Broken: site.Broken}
	for _, sighting := range seen {
		values.Schedules = append(values.Schedules, summaryOf(sighting))
	}
	whole, err := frame{Title: "All schedules", Name: "sched", Base: base, Site: base, Who: &seen[0].Who}.
		render(showSite(values))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, http.StatusOK, whole)
}

func summaryOf(sighting serve.Sighting) summary {
	s := summary{Base: sighting.BasePath, Name: strings.TrimPrefix(sighting.Mount, "/s/")}
	visit, leave, err := serve.NewVisit(sighting.Server, sighting.Request, serve.ScopeRead, serve.Quick)
	if err != nil {
		s.Wrong = serve.ProblemOf(err)
		return s
	}
	defer leave()
	p := newPage(sighting.Server, sighting.Request, visit)
	s.Verdict = p.verdict(view.StatusOf(p.View, p.health()))
	if visit.Invalid != nil {
		s.Invalid = visit.Schedule.InPlace()
	}
	s.Problems = visit.Problems()
	return s
}
