package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
)

type page struct {
	writer
	*serve.Visit // nil for a page that says only what is wrong
	request      *http.Request
	server       *serve.Server
	base         string
	now          time.Time
	zone         *time.Location // of its times: see setZone
	own          *time.Location // of the schedule
	zones        bool           // times of a task are in the zone of the task
	chosen       string         // the name of the zone that the visitor has chosen
	title        string
	still        bool // the script does not load it again
	judges       bool // it has the status, which says that no ticks come
	tasks        map[string]*schedule.Task
}

func (p *pages) page(r *http.Request, visit *serve.Visit) *page {
	made := &page{Visit: visit, request: r, server: p.Server, base: p.BasePath, now: p.Now(), zone: time.UTC}
	if visit != nil {
		made.tasks = map[string]*schedule.Task{}
		made.setZone()
		for _, t := range visit.Schedule.Tasks {
			made.tasks[t.Name] = t
		}
	}
	return made
}

func (p *page) query(name string) string { return p.request.URL.Query().Get(name) }

// number returns a parameter that is a number of at least 1; 1 if it is no such number.
func (p *page) number(name string) int {
	n, err := strconv.Atoi(p.query(name))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, 1_000_000)
}

// with is a link to this page with some parameters changed: name, value and so on; "" takes one
// away.
func (p *page) with(pairs ...string) string {
	query := p.request.URL.Query()
	for i := 0; i < len(pairs); i += 2 {
		if query.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			query.Del(pairs[i])
		}
	}
	return "?" + query.Encode()
}

func (p *page) taskURL(name string) string { return p.base + "/tasks/" + url.PathEscape(name) }
func (p *page) runURL(id string) string    { return p.base + "/runs/" + url.PathEscape(id) }

// keep writes hidden fields with which a form keeps parameters.
func (p *page) keep(names ...string) {
	for _, name := range names {
		if value := p.query(name); value != "" {
			p.put(`<input type="hidden" name="%s" value="%s">`, name, value)
		}
	}
}

// runsURL is the list of the runs of a task ("" for all), with an outcome ("" for all).
func (p *page) runsURL(task, outcome string) string {
	query := url.Values{}
	for name, value := range map[string]string{"task": task, "outcome": outcome} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return p.base + "/runs?" + query.Encode()
}

var places = []struct{ path, name string }{
	{"/", "Overview"}, {"/tasks", "Tasks"}, {"/timeline", "Timeline"}, {"/forecast", "Forecast"}, {"/runs", "Runs"},
	{"/servers", "Servers"}, {"/pauses", "Pauses"}, {"/audit", "Audit"},
}

func (p *page) send(w http.ResponseWriter, status int) {
	var head writer
	name := "sched"
	if p.Visit != nil {
		name = p.Schedule.Name
	}
	head.begin(p.title, name, p.base)
	if p.server.Mount != "" {
		head.put(`<a href="%s/">All schedules</a>`, p.server.SitePath())
	}
	head.put(`<a class="name" href="%s/">%s</a><nav aria-label="Pages">`, p.base, name)
	for _, place := range places {
		current := markupIf(p.request.URL.Path == p.base+place.path, ` aria-current="page"`)
		head.put(`<a href="%s%s"%s>%s</a>`, p.base, place.path, current, place.name)
	}
	head.put(`</nav><span id="live"></span>`)
	if p.Visit != nil {
		p.zoneControl(&head)
	}
	if p.Visit != nil {
		head.visitor(p.Who, p.server.SitePath())
	}
	head.put(`</header><main id="main">`)
	if p.Visit != nil {
		live := markup(" data-live")
		if p.still {
			live = ""
		}
		head.put(`<div id="problems"%s>`, live)
		if p.Invalid != nil {
			head.put(`<p class="alert" role="status">✕ The schedule is invalid; this is about %s. <code>sched check</code> says what is wrong.</p>`, p.Schedule.InPlace())
		}
		if missing := p.View.TicksMissing(); missing != "" && !p.judges {
			head.put(`<p class="alert" role="status">! %s, so nothing starts.</p>`, missing)
		}
		for _, one := range p.Problems() {
			head.put(`<p class="alert" role="status">! %s</p>`, one)
		}
		head.put(`</div>`)
	}
	head.put(`%s`, markup(p.String()))
	head.send(w, status)
}

// begin writes all that comes before the links in the head of a page.
func (w *writer) begin(title, name, base string) {
	w.put(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>%s – %s</title><link rel="icon" href="%s/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="%s/assets/style.css"><script src="%s/assets/live.js" defer data-base="%s"></script></head>
<body><a class="skip" href="#main">To the content</a><header>`, title, name, base, base, base, base)
}

// visitor says who looks at a page. Base is the path of the form to sign out.
func (w *writer) visitor(who serve.Who, base string) {
	switch {
	case who.From == "socket":
	case who.ByHeader:
		w.put(`<span class="who">%s</span>`, who.Name)
	default:
		w.put(`<form method="post" action="%s/logout" class="who"><span>%s</span><button class="quiet">Sign out</button></form>`, base, who.Name)
	}
}

// send ends a page and answers with it.
func (w *writer) send(to http.ResponseWriter, status int) {
	w.put("</main></body></html>\n")
	to.Header().Set("Content-Type", "text/html; charset=utf-8")
	to.WriteHeader(status)
	to.Write(w.Bytes())
}

// when writes a time with how far away it is.
func (p *page) when(at time.Time, zone *time.Location) markup {
	away := humanize.Duration(at.Sub(p.now).Abs()) + " ago"
	if at.After(p.now) {
		away = "in " + humanize.Duration(at.Sub(p.now))
	}
	return format(`%s <small>%s</small>`, p.near(at, zone), away)
}

// near writes a time without a day that is obvious.
func (p *page) near(at time.Time, zone *time.Location) markup {
	return format(`<time datetime="%s" title="%s · %s">%s</time>`, at.UTC().Format(time.RFC3339), humanize.SecondZone(at, zone),
		humanize.SecondZone(at, time.UTC), humanize.MinuteNear(at, p.now, zone))
}

// exactly writes a time to the second.
func (p *page) exactly(at time.Time, zone *time.Location) markup {
	return format(`<time datetime="%s" title="%s">%s</time>`, at.UTC().Format(time.RFC3339), humanize.SecondZone(at, time.UTC), humanize.SecondZone(at, zone))
}

// stamp reads a time of an object; the zero time for none.
func stamp(text string) time.Time {
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

func (p *page) find(task string) *schedule.Task { return p.tasks[task] }

func etagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

func seconds(s float64) string { return humanize.Duration(time.Duration(s * float64(time.Second))) }

// fact writes an entry of a list of facts.
func (w *writer) fact(label, text markup, args ...any) {
	w.put(`<dt>%s<dd>%s`, label, format(text, args...))
}

// factIfAny is fact for a text, and writes nothing for an empty one.
func (w *writer) factIfAny(label markup, text string) {
	if text != "" {
		w.fact(label, `%s`, text)
	}
}

// here marks the link to what is shown now.
func here(isHere bool) markup { return markupIf(isHere, ` aria-current="true"`) }

func markupIf(wanted bool, text markup) markup {
	if wanted {
		return text
	}
	return ""
}

// markup is HTML that this package has written. A constant becomes markup by itself. A string from
// elsewhere does not: it reaches a page only through put, which escapes it.
type markup string

type writer struct{ bytes.Buffer }

// put writes what format returns.
func (w *writer) put(text markup, args ...any) { w.WriteString(string(format(text, args...))) }

// format fills in a text with the verbs of fmt. It escapes all arguments but markup and numbers,
// also for attributes in double quotes.
func format(text markup, args ...any) markup {
	safe := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case markup, int, int64, float64:
			safe[i] = arg
		case string:
			safe[i] = escaped(arg)
		default:
			safe[i] = escaped(fmt.Sprint(arg))
		}
	}
	return markup(fmt.Sprintf(string(text), safe...))
}

// escaped makes HTML of foreign text: one line, without characters that turn the direction of the
// text behind them.
func escaped(foreign string) markup {
	return markup(html.EscapeString(humanize.Line(strings.ToValidUTF8(foreign, "\uFFFD"))))
}

// The times on a page are in the zone of the schedule, until the visitor
// chooses another one: UTC, the zone of the browser, or for each task its own. A cookie keeps the
// choice.

const (
	zoneCookie = "sched_zone"
	zoneOfTask = "tasks" // the value of the cookie for the zone of each task
)

// setZone has the page, and the texts that package view writes for it, show times in the zone that
// the visitor has chosen.
func (p *page) setZone() {
	p.own, p.zone = p.Schedule.Location, p.Schedule.Location
	if cookie, err := p.request.Cookie(zoneCookie); err == nil {
		p.zones = cookie.Value == zoneOfTask
		if zone := zoneNamed(cookie.Value); zone != nil {
			shown := *p.Schedule
			shown.Location, p.chosen, p.zone = zone, cookie.Value, zone
			p.Schedule, p.View.Schedule = &shown, &shown
		}
	}
	if !p.zones {
		p.View.Zone = p.zone
	}
}

// zoneNamed returns the zone with the name; nil for a name that is not one of a zone.
func zoneNamed(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil
	}
	return zone
}

// zoneOf is the zone in which times of a task are shown.
func (p *page) zoneOf(task string) *time.Location {
	if t := p.find(task); t != nil && p.zones {
		return t.When.Location
	}
	return p.zone
}

// zoneControl writes the button in the head that says the zone, and its dialog. The script adds the
// zone of the browser.
func (p *page) zoneControl(head *writer) {
	now := p.zone.String()
	if p.zones {
		now = "each task's zone"
	}
	head.put(`<button type="button" class="quiet zone" popovertarget="zone" aria-label="Times in %s"><span>Times in </span>%s</button><dialog popover id="zone" aria-labelledby="zone-h">
<form method="post" action="%s/zone"><h2 id="zone-h">Show times in</h2><input type="hidden" name="back" value="%s">`, now, now, p.base, p.request.URL.RequestURI())
	choice := func(value, label, of string) {
		chosen := value == p.chosen && !p.zones || value == zoneOfTask && p.zones
		head.put(`<button name="zone" value="%s"%s>%s <small>%s</small></button>`, value, here(chosen), label, of)
	}
	choice("", p.own.String(), "of the schedule")
	hasOther := func(t *schedule.Task) bool { return t.When.Location.String() != p.own.String() }
	if p.zones || slices.ContainsFunc(p.Schedule.Tasks, hasOther) {
		choice(zoneOfTask, "each task's zone", "")
	}
	if p.own.String() != "UTC" {
		choice("UTC", "UTC", "")
	}
	if p.chosen != "" && p.chosen != "UTC" {
		choice(p.chosen, p.chosen, "")
	}
	head.put(`<button name="zone" value="" id="zone-here" hidden></button></form></dialog>`)
}

// chooseZone keeps the zone that somebody has chosen, and leads back to the page.
func (p *pages) chooseZone(w http.ResponseWriter, r *http.Request) {
	zone := r.PostFormValue("zone")
	if zone != zoneOfTask && zoneNamed(zone) == nil {
		zone = ""
	}
	http.SetCookie(w, &http.Cookie{Name: zoneCookie, Value: zone, Path: p.BasePath + "/",
		MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, Secure: p.Secure, SameSite: http.SameSiteStrictMode})
	back, err := url.ParseRequestURI(r.PostFormValue("back"))
	isOurs := err == nil && back.Host == "" &&
		strings.HasPrefix(back.Path, p.BasePath+"/") && !strings.HasPrefix(back.Path, "//")
	if !isOurs {
		back = &url.URL{Path: p.BasePath + "/"}
	}
	http.Redirect(w, r, (&url.URL{Path: back.Path, RawPath: back.RawPath, RawQuery: back.RawQuery}).String(),
		http.StatusSeeOther)
}
