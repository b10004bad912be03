package web

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
)

// A forecastPage is what a span of time will look like.
type forecastPage struct {
	*page
	Report     forecast.Report
	FirstDay   string
	Lengths    []lengthOption
	HasTrouble bool // in some hour something is late or is skipped
	MaxRows    int  // how many tasks are listed that start late, or that skip; the API has all
}

// A lengthOption is how long the span may be.
type lengthOption struct {
	Value, Label string
	Current      bool
}

// readForecast reads the parameters since (a day, or a time) and for.
func readForecast(p *page) (f forecastPage, err error) {
	p.title, p.IsStatic = "Forecast", true // it takes seconds, and runs do not change it
	from, err := p.day("since")
	if err != nil {
		return f, err
	}
	r, err := p.Forecast(from, time.Time{}, p.Query("for"))
	if err != nil {
		return f, err
	}
	f = forecastPage{page: p, Report: shownIn(r, p.Schedule), MaxRows: 50,
		FirstDay: r.From.In(p.zones.zone).Format(time.DateOnly)}
	for _, day := range f.Report.Days() {
		f.HasTrouble = f.HasTrouble || slices.ContainsFunc(day.Hours[:], forecast.Cell.HasTrouble)
	}
	given, listed := cmp.Or(p.Query("for"), "7d"), false
	for _, o := range []lengthOption{{Value: "1d", Label: "a day"}, {Value: "7d", Label: "a week"},
		{Value: "14d", Label: "two weeks"}, {Value: "31d", Label: "31 days"}} {
		o.Current = o.Value == given
		f.Lengths, listed = append(f.Lengths, o), listed || o.Current
	}
	if !listed {
		f.Lengths = append(f.Lengths, lengthOption{given, humanize.DurationPrecise(r.To.Sub(r.From)), true})
	}
	return f, nil
}

// shownIn returns a copy of the forecast whose hours are in the zone of the schedule. If that zone
// differs by half an hour, the cells of the heatmap begin at half past.
func shownIn(r forecast.Report, s *schedule.Schedule) forecast.Report {
	basis, sums := *r.Basis, *r.Sums
	basis.Schedule, sums.Hours = s, slices.Clone(sums.Hours)
	for i := range sums.Hours {
		sums.Hours[i].Start = sums.Hours[i].Start.In(s.Location)
	}
	return forecast.Report{Basis: &basis, Sums: &sums}
}

func (f forecastPage) ZoneTitle() string              { return f.zones.zone.String() }
func (f forecastPage) DayAndTime(at time.Time) string { return forecast.DayAndTime(at, f.zones.zone) }
func (f forecastPage) MoreThanRows(n int) int         { return max(0, n-f.MaxRows) }

// TimelineURL is six hours of the timeline, with a time in their middle.
func (f forecastPage) TimelineURL(at time.Time) string {
	return f.Base + "/timeline?hours=6&at=" + url.QueryEscape(at.UTC().Format(time.RFC3339))
}

// HourURL is TimelineURL for the hour that begins at a time.
func (f forecastPage) HourURL(start time.Time) string {
	return f.TimelineURL(start.Add(30 * time.Minute))
}

// SlotsOf is how many slots a task has, with those that it skips.
func (f forecastPage) SlotsOf(t forecast.Task) int { return t.TroubleSkips() + t.Starts }
