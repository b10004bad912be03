package web

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A page is a request for a page, with what all pages need. The values of each page embed it:
// templates use them.
type page struct {
	*serve.Visit // Schedule, View, Who and what the visitor may do; nil for a page that says only what is wrong
	Base         string
	IsStatic     bool // the script does not load it again
	request      *http.Request
	server       *serve.Server
	now          time.Time
	zones        zoneChoice
	title        string
	hasStatus    bool // it has the status, which says that no ticks come
	tasks        map[string]*schedule.Task
}

func newPage(server *serve.Server, r *http.Request, visit *serve.Visit) *page {
	p := &page{Visit: visit, request: r, server: server, Base: server.BasePath, now: server.Now()}
	p.zones.zone = time.UTC
	if visit == nil {
		return p
	}
	p.zones = chooseZone(visit, r)
	p.tasks = map[string]*schedule.Task{}
	for _, t := range visit.Schedule.Tasks {
		p.tasks[t.Name] = t
	}
	return p
}

// A frame is what the layout shows around the content of a page.
type frame struct {
	Title, Name string
	Server      string     // whose page it is, if the schedule has a store; else ""
	Base, Site  string     // the paths of the schedule, and of all schedules
	Who         *serve.Who // nil for nobody who is known
	Content     templ.Component
	Page        *page // nil for the page of all schedules
}

// Place says of which schedule the page is, and of which of its servers.
func (f frame) Place() string {
	if f.Server == "" {
		return f.Name
	}
	return f.Name + " on " + f.Server
}

// render makes a page of its content.
func (p *page) render(content templ.Component) ([]byte, error) {
	f := frame{Title: p.title, Name: "sched", Base: p.Base, Site: p.server.SitePath(), Page: p}
	if p.Visit != nil {
		f.Name, f.Who = p.Schedule.Name, &p.Who
		if p.View.Controls.Store != nil {
			f.Server = p.View.Server
		}
	}
	return f.render(content)
}

func (f frame) render(content templ.Component) ([]byte, error) {
	f.Content = content
	var whole bytes.Buffer
	err := showFrame(f).Render(context.Background(), &whole)
	return harmless(whole.Bytes()), err
}

func send(w http.ResponseWriter, status int, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(page)
}

// A place is a link in the head of each page.
type place struct {
	Path, Name string
	Current    bool
}

func (p *page) Places() []place {
	all := []place{
		{Path: "/", Name: "Overview"}, {Path: "/tasks", Name: "Tasks"}, {Path: "/timeline", Name: "Timeline"},
		{Path: "/forecast", Name: "Forecast"}, {Path: "/runs", Name: "Runs"}, {Path: "/servers", Name: "Servers"},
		{Path: "/pauses", Name: "Pauses"}, {Path: "/audit", Name: "Audit"},
	}
	for i := range all {
		all[i].Current = p.request.URL.Path == p.Base+all[i].Path
	}
	return all
}

// IsOfSite reports whether the schedule is one of several behind one address.
func (p *page) IsOfSite() bool { return p.server.Mount != "" }

// TicksMissing says that no ticks come, unless the page has the status, which says so.
func (p *page) TicksMissing() string {
	if p.hasStatus {
		return ""
	}
	return p.View.TicksMissing()
}

func (p *page) ZoneName() string      { return p.zones.name() }
func (p *page) Zones() []zoneOption   { return p.zones.options(p.Schedule.Tasks) }
func (p *page) RequestURI() string    { return p.request.URL.RequestURI() }
func (p *page) RawQuery() string      { return p.request.URL.RawQuery }
func (p *page) HasTask(n string) bool { return p.tasks[n] != nil }

// Description describes a task; "" for a task that there is no more.
func (p *page) Description(task string) string {
	if t := p.tasks[task]; t != nil {
		return t.Description
	}
	return ""
}

// Query returns a parameter.
func (p *page) Query(name string) string { return p.request.URL.Query().Get(name) }

// number returns a parameter that is a number of at least 1; 1 if it is no such number.
func (p *page) number(name string) int {
	n, err := strconv.Atoi(p.Query(name))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, 1_000_000)
}

// day reads a parameter that is a day in the zone of the page, or a time; zero if it is not given.
func (p *page) day(name string) (at time.Time, err error) {
	if given := p.Query(name); given != "" {
		if at, err = time.ParseInLocation(time.DateOnly, given, p.zones.zone); err != nil {
			at, err = time.Parse(time.RFC3339, given)
		}
		if err != nil {
			return at, serve.NewProblem(http.StatusBadRequest, "write it as 2006-01-02", "%s %q is not a day",
				name, serve.Shortened(given))
		}
	}
	return at, nil
}

// A param is a parameter of the page that a form sends, too.
type param struct{ Name, Value string }

// Kept returns the parameters with these names that the page has.
func (p *page) Kept(names ...string) (all []param) {
	for _, name := range names {
		if value := p.Query(name); value != "" {
			all = append(all, param{name, value})
		}
	}
	return all
}

// With returns a link to this page with some parameters changed. The pairs are name, value, name,
// value; an empty value removes the parameter.
func (p *page) With(pairs ...string) string {
	query := p.request.URL.Query()
	for i := 0; i < len(pairs); i += 2 {
		name, value := pairs[i], pairs[i+1]
		query.Set(name, value)
		if value == "" {
			query.Del(name)
		}
	}
	return "?" + query.Encode()
}

func (p *page) TaskURL(name string) string { return p.Base + "/tasks/" + url.PathEscape(name) }
func (p *page) RunURL(id string) string    { return p.Base + "/runs/" + url.PathEscape(id) }

func (p *page) ProposalURL(id string) string { return p.Base + "/proposals/" + url.PathEscape(id) }

// RunsURL is the list of the runs of a task ("" for all), with an outcome ("" for all).
func (p *page) RunsURL(task, outcome string) string {
	query := url.Values{}
	for name, value := range map[string]string{"task": task, "outcome": outcome} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return p.Base + "/runs?" + query.Encode()
}

// recordURL leads to a run, or for a slot without a run to the list that has the slot.
func (p *page) recordURL(r state.Row) string {
	if r.Ran() {
		return p.RunURL(r.ID)
	}
	return p.RunsURL(r.Task, strings.ReplaceAll(string(r.Outcome), " ", "-"))
}

func (p *page) recordTitle(r state.Row) string {
	return humanize.SlotZone(r.Slot, p.zoneOf(r.Task)) + ": " + view.Describe(r)
}

// zoneOf is the zone in which times of a task are shown.
func (p *page) zoneOf(task string) *time.Location {
	if t := p.tasks[task]; t != nil && p.zones.eachTask {
		return t.When.Location
	}
	return p.zones.zone
}

// A moment is a time as a page shows it.
type moment struct{ Machine, Hover, Text, Away string }

// Exact is a time of a task ("" for none) to the second.
func (p *page) Exact(at time.Time, task string) moment {
	return moment{Machine: at.UTC().Format(time.RFC3339), Hover: humanize.SecondZone(at, time.UTC),
		Text: humanize.SecondZone(at, p.zoneOf(task))}
}

// Near is a time of a task without a day that is obvious.
func (p *page) Near(at time.Time, task string) moment {
	m := p.Exact(at, task)
	m.Hover, m.Text = m.Text+" · "+m.Hover, humanize.MinuteNearZone(at, p.now, p.zoneOf(task))
	return m
}

// Away is a time of a task with how far away it is.
func (p *page) Away(at time.Time, task string) moment {
	m := p.Near(at, task)
	m.Away = humanize.Duration(at.Sub(p.now).Abs()) + " ago"
	if at.After(p.now) {
		m.Away = "in " + humanize.Duration(at.Sub(p.now))
	}
	return m
}

func (p *page) Age(at time.Time) string          { return humanize.Age(at, p.now) }
func (p *page) PauseText(of view.Pause) string   { return of.Raw.Text(p.now, p.zones.zone) }
func (p *page) WaitText(of *view.Waiting) string { return of.Text(p.now, p.zones.zone) }

// WaitsText is WaitText without its first word, for a text behind the badge that has it.
func (p *page) WaitsText(of *view.Waiting) string {
	return strings.TrimPrefix(p.WaitText(of), "waiting")
}

// PausedText says of a pause by whom, since when and until when, behind a badge.
func (p *page) PausedText(of view.Pause) string {
	return strings.TrimPrefix(p.PauseText(of), "paused ")
}

// A chip is a link that sets a parameter of a list.
type chip struct {
	URL, Label string
	Current    bool
	Count      int // 0 is not shown
}

// Chip is a link that sets a parameter, and begins the list anew.
func (p *page) Chip(name, value, label string, n int) chip {
	return chip{p.With(name, value, "page", "", "below", ""), label, p.Query(name) == value, n}
}

// A pager leads to the pages of a list before and after this one.
type pager struct {
	Now, Last     int
	Before, After string // "" for none
}

// pager leads to the pages of a list of n items; nil for one page.
func (p *page) pager(n, size int) *pager {
	last := lastPage(n, size)
	if last == 1 {
		return nil
	}
	made := &pager{Now: min(p.number("page"), last), Last: last}
	if made.Now > 1 {
		made.Before = p.With("page", strconv.Itoa(made.Now-1))
	}
	if made.Now < last {
		made.After = p.With("page", strconv.Itoa(made.Now+1))
	}
	return made
}

// pageOf returns the rows of a page of a list. A page after the last one is the last one: the list
// may have become shorter.
func pageOf[T any](rows []T, page, size int) []T {
	page = min(page, lastPage(len(rows), size))
	return rows[(page-1)*size : min(page*size, len(rows))]
}

// lastPage returns the number of the last page of a list of n rows.
func lastPage(n, size int) int { return max(1, (n+size-1)/size) }

func (p *page) health() *view.Health { return view.HealthOf(p.Schedule, p.Invalid != nil, p.now) }

// A verdict is a status in one line, with the troubles of no task.
type verdict struct {
	Class, Sign, First string
	Troubles           []pageTrouble
}

// A pageTrouble is a trouble of no task, with a link to the page that says more, if there is one.
type pageTrouble struct {
	view.Trouble
	URL, Page string
}

func (p *page) troubleOf(t view.Trouble) pageTrouble {
	switch {
	case t.Of != "":
		return pageTrouble{t, p.TaskURL(t.Of), t.Of}
	case t.Kind == "servers":
		return pageTrouble{t, p.Base + "/servers", "Servers"}
	}
	return pageTrouble{Trouble: t}
}

// verdict is red if a task fails or nothing starts. It leaves out the troubles that the page tells
// as its problems.
func (p *page) verdict(status view.Status) *verdict {
	p.hasStatus = true
	v := &verdict{"good", "✓", status.First, nil}
	switch fails := func(t view.Trouble) bool { return outcome.Outcome(t.Kind).Failure() }; {
	case status.ExitCode == view.IsDown, slices.ContainsFunc(status.Troubles, fails):
		v.Class, v.Sign = "bad", "✕"
	case status.ExitCode != view.AllWell:
		v.Class, v.Sign = "warn", "!"
	}
	for _, t := range status.Troubles {
		if t.Task == "" && !p.Reported(t) {
			v.Troubles = append(v.Troubles, p.troubleOf(t))
		}
	}
	return v
}

// An otherRun is a run of another server, or a slot that another server had and skipped.
type otherRun struct {
	URL, Server, Took string
	Look              look
}

func (p *page) otherRun(r state.Row) *otherRun {
	made := &otherRun{p.RunURL(r.ID), r.Server, "", lookOf("running")}
	switch {
	case r.Outcome == outcome.Skipped:
		made.Look, made.Took = lookOf(r.OutcomeText()), ": "+r.Reason
	case r.Outcome != "":
		made.Look, made.Took = lookOf(r.OutcomeText()), " in "+humanize.Duration(r.Duration())
	case !r.LastReported.IsZero(): // it may have ended since
		made.Look, made.Took = lookOf("was running"), " "+p.Age(r.LastReported)+" ago"
	}
	return made
}

func (p *page) isHere(server string) bool { return server == "" || server == p.View.Server }
