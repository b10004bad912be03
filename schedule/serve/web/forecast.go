package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/serve"
)

// showForecast shows what a span of time will look like, by the parameters since (a day, or a time)
// and for.
func showForecast(p *page) error {
	p.title, p.isStatic = "Forecast", true // it takes seconds, and runs do not change it
	from, err := p.day("since")
	if err != nil {
		return err
	}
	r, err := p.Forecast(from, time.Time{}, p.query("for"))
	if err != nil {
		return err
	}
	f := forecastPage{p, shownIn(r, p.Schedule)}
	p.put(`<h1>Forecast</h1>`)
	f.spanForm()
	p.put(`<div id="forecast"><p class="about">%s to %s: %s of %s, if runs take as long as they usually do.</p>`,
		forecast.DayAndTime(r.From, p.zone), forecast.DayAndTime(r.To, p.zone), humanize.Count(r.Starts, "run"),
		humanize.Count(len(r.Tasks), "task"))
	f.sums()
	f.heatmap()
	f.late()
	f.skips()
	f.notes()
	p.put(`</div>`)
	return nil
}

type forecastPage struct {
	*page
	forecast.Report
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

// day reads a parameter that is a day in the zone of the page, or a time; zero if it is not given.
func (p *page) day(name string) (at time.Time, err error) {
	if given := p.query(name); given != "" {
		if at, err = time.ParseInLocation(time.DateOnly, given, p.zone); err != nil {
			at, err = time.Parse(time.RFC3339, given)
		}
		if err != nil {
			return at, serve.NewProblem(http.StatusBadRequest, "write it as 2006-01-02", "%s %q is not a day",
				name, serve.Shortened(given))
		}
	}
	return at, nil
}

var spanChoices = []struct{ value, label string }{
	{"1d", "a day"}, {"7d", "a week"}, {"14d", "two weeks"}, {"31d", "31 days"},
}

func (p forecastPage) spanForm() {
	p.put(`<form class="filter" method="get" action="%s/forecast"><label>From <input type="date" name="since" value="%s"></label><label>For <select name="for">`,
		p.base, p.From.In(p.zone).Format(time.DateOnly))
	given, listed := cmp.Or(p.query("for"), "7d"), false
	for _, s := range spanChoices {
		p.put(`<option value="%s"%s>%s</option>`, s.value, markupIf(s.value == given, " selected"), s.label)
		listed = listed || s.value == given
	}
	if !listed {
		p.put(`<option value="%s" selected>%s</option>`, given, humanize.DurationPrecise(p.To.Sub(p.From)))
	}
	p.put(`</select></label><button>Show</button></form>`)
}

func (p forecastPage) sums() {
	p.put(`<section><h2>In all</h2><dl class="facts">`)
	for _, line := range p.Lines() {
		if line.At.IsZero() {
			p.put(`<dt>%s</dt><dd>%s</dd>`, line.Name, line.Words)
		} else {
			p.put(`<dt>%s</dt><dd><a href="%s">%s</a></dd>`, line.Name, p.timelineURL(line.At), line.Words)
		}
	}
	p.put(`</dl></section>`)
}

func (p forecastPage) heatmap() {
	p.put(`<section><h2>Runs at once, by hour</h2><div class="wide" tabindex="0" role="region" aria-label="Runs at once, by hour"><table class="heat"><thead><tr><th>%s`, p.zone)
	for hour := range 24 {
		p.put(`<th class="n">%s`, fmt.Sprintf("%02d", hour))
	}
	p.put(`</tr></thead><tbody>`)
	trouble := false
	for _, day := range p.Days() {
		p.put(`<tr><th scope="row">%s</th>`, day.Date.Format("Mon 2 Jan"))
		for _, cell := range day.Hours {
			p.cell(cell)
			trouble = trouble || cell.HasTrouble()
		}
		p.put(`</tr>`)
	}
	p.put(`</tbody></table></div>`)
	if trouble {
		p.put(`<p class="quiet">! in this hour some start late or are skipped</p>`)
	}
	p.put(`</section>`)
}

// cell writes an hour: the largest number of runs at once. Its colour shows the same number.
func (p forecastPage) cell(c forecast.Cell) {
	switch {
	case !c.Exists:
		p.put(`<td></td>`)
	case c.Most == 0 && !c.HasTrouble():
		p.put(`<td class="n level0" title="%s">·</td>`, c.Text())
	default:
		mark := markupIf(c.HasTrouble(), `<b aria-hidden="true">!</b><span class="hidden"> late or skipped</span>`)
		p.put(`<td class="n level%d"><a href="%s" title="%s">%d%s</a></td>`, c.Level, p.timelineURL(c.Start.Add(30*time.Minute)), c.Text(), c.Most, mark)
	}
}

// maxRows is how many tasks are listed that start late, or that skip; the API has all.
const maxRows = 50

func (p forecastPage) late() {
	late := p.LateTasks()
	if len(late) == 0 {
		return
	}
	p.put(`<section><h2>Late starts</h2><table><thead><tr><th>Task<th class="n">Late runs<th class="n">At most<th>Due<th>Behind</tr></thead><tbody>`)
	for _, t := range late[:min(maxRows, len(late))] {
		p.put(`<tr><th scope="row"><a href="%s">%s</a></th><td class="n" data-label="late runs">%d of %d</td><td class="n" data-label="at most">%s</td><td data-label="due">%s</td><td class="why" data-label="behind">%s</td></tr>`,
			p.taskURL(t.Name), t.Name, t.LateRuns, t.Starts,
			humanize.Duration(t.MostLate.Lateness()), p.timeLink(t.MostLate.At),
			cmp.Or(p.Behind(t), "–"))
	}
	p.put(`</tbody></table>`)
	p.moreTasks(len(late))
	p.put(`</section>`)
}

func (p forecastPage) skips() {
	skipping := p.SkippingTasks()
	if len(skipping) == 0 {
		return
	}
	p.put(`<section><h2>Skipped slots</h2><table><thead><tr><th>Task<th class="n">Slots<th>First<th>Why</tr></thead><tbody>`)
	for _, t := range skipping[:min(maxRows, len(skipping))] {
		p.put(`<tr><th scope="row"><a href="%s">%s</a></th><td class="n" data-label="slots">%d of %d</td><td data-label="first">%s</td><td class="why" data-label="why">%s</td></tr>`,
			p.taskURL(t.Name), t.Name, t.TroubleSkips(), t.TroubleSkips()+t.Starts,
			p.timeLink(t.FirstTroubleSkip.At), p.SkipReason(t))
	}
	p.put(`</tbody></table>`)
	p.moreTasks(len(skipping))
	p.put(`</section>`)
}

func (p forecastPage) moreTasks(rows int) {
	if rows > maxRows {
		p.put(`<p class="quiet">and %s</p>`, humanize.Count(rows-maxRows, "more task"))
	}
}

func (p forecastPage) timeLink(at time.Time) markup {
	return format(`<a href="%s">%s</a>`, p.timelineURL(at), forecast.DayAndTime(at, p.zone))
}

func (p forecastPage) notes() {
	p.put(`<ul class="notes">`)
	for _, n := range p.Notes {
		p.put(`<li>%s`, n.Text)
		if n.Hint != "" {
			p.put(` <small>%s</small>`, n.Hint)
		}
	}
	p.put(`</ul>`)
}

// timelineURL is six hours of the timeline, with a time in their middle.
func (p forecastPage) timelineURL(at time.Time) string {
	return p.base + "/timeline?hours=6&at=" + url.QueryEscape(at.UTC().Format(time.RFC3339))
}
