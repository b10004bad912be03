package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sched/schedule"
)

// This file is the zone of the times on a page. It is the zone of the schedule, until the visitor
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
	if p.zones || slices.ContainsFunc(p.Schedule.Tasks, func(t *schedule.Task) bool { return t.When.Location.String() != p.own.String() }) {
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
	http.SetCookie(w, &http.Cookie{Name: zoneCookie, Value: zone, Path: p.BasePath + "/", MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, Secure: p.Secure, SameSite: http.SameSiteStrictMode})
	back, err := url.ParseRequestURI(r.PostFormValue("back"))
	if err != nil || back.Host != "" || !strings.HasPrefix(back.Path, p.BasePath+"/") || strings.HasPrefix(back.Path, "//") {
		back = &url.URL{Path: p.BasePath + "/"}
	}
	http.Redirect(w, r, (&url.URL{Path: back.Path, RawPath: back.RawPath, RawQuery: back.RawQuery}).String(), http.StatusSeeOther)
}
