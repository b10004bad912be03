package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sched/schedule"
)

// A zoneChoice says in which zone a page shows times: in the zone of the schedule, until the
// visitor chooses another one. A cookie keeps the choice.
type zoneChoice struct {
	zone         *time.Location // of the times on the page
	scheduleZone *time.Location
	chosenZone   string // the name of another zone that the visitor has chosen; else ""
	eachTask     bool   // the times of a task are in the zone of the task
}

const (
	zoneCookie = "sched_zone"
	zoneOfTask = "tasks" // the value of the cookie for the zone of each task
)

// setZone has the page, and the texts that package view writes for it, show times in the zone that
// the visitor has chosen.
func (p *page) setZone() {
	p.scheduleZone, p.zone = p.Schedule.Location, p.Schedule.Location
	if cookie, err := p.request.Cookie(zoneCookie); err == nil {
		p.eachTask = cookie.Value == zoneOfTask
		if zone := zoneNamed(cookie.Value); zone != nil && zone.String() != p.scheduleZone.String() {
			shown := *p.Schedule
			shown.Location, p.chosenZone, p.zone = zone, cookie.Value, zone
			p.Schedule, p.View.Schedule = &shown, &shown
		}
	}
	if !p.eachTask {
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
	if t := p.tasks[task]; t != nil && p.eachTask {
		return t.When.Location
	}
	return p.zone
}

// zoneControl writes the button in the head that says the zone, and its dialog. The script adds the
// zone of the browser.
func (p *page) zoneControl(head *writer) {
	now := p.zone.String()
	if p.eachTask {
		now = "each task's zone"
	}
	head.put(`<button type="button" class="quiet zone" popovertarget="zone" aria-label="Times in %s"><span>Times in </span>%s</button><dialog popover id="zone" aria-labelledby="zone-h">
<form method="post" action="%s/zone"><h2 id="zone-h">Show times in</h2><input type="hidden" name="back" value="%s">`, now, now, p.base, p.request.URL.RequestURI())
	choice := func(value, label, whose string) {
		chosen := value == p.chosenZone && !p.eachTask || value == zoneOfTask && p.eachTask
		head.put(`<button name="zone" value="%s"%s>%s <small>%s</small></button>`, value, currentIf(chosen), label, whose)
	}
	choice("", p.scheduleZone.String(), "of the schedule")
	hasOther := func(t *schedule.Task) bool { return t.When.Location.String() != p.scheduleZone.String() }
	if p.eachTask || slices.ContainsFunc(p.Schedule.Tasks, hasOther) {
		choice(zoneOfTask, "each task's zone", "")
	}
	if p.scheduleZone.String() != "UTC" {
		choice("UTC", "UTC", "")
	}
	if p.chosenZone != "" && p.chosenZone != "UTC" {
		choice(p.chosenZone, p.chosenZone, "")
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
