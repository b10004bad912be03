package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/serve"
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

// chooseZone has the texts that package view writes for a page show times in the zone that the
// visitor has chosen, and returns the choice.
func chooseZone(v *serve.Visit, r *http.Request) zoneChoice {
	c := zoneChoice{zone: v.Schedule.Location, scheduleZone: v.Schedule.Location}
	if cookie, err := r.Cookie(zoneCookie); err == nil {
		c.eachTask = cookie.Value == zoneOfTask
		if zone := zoneNamed(cookie.Value); zone != nil && zone.String() != c.scheduleZone.String() {
			shown := *v.Schedule
			shown.Location, c.chosenZone, c.zone = zone, cookie.Value, zone
			v.Schedule, v.View.Schedule = &shown, &shown
		}
	}
	if !c.eachTask {
		v.View.Zone = c.zone
	}
	return c
}

// zoneNamed returns the zone with the name; nil for a name that is not one of a zone.
func zoneNamed(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil
	}
	return zone
}

func (c zoneChoice) name() string {
	if c.eachTask {
		return "each task's zone"
	}
	return c.zone.String()
}

// A zoneOption is a zone that the dialog offers.
type zoneOption struct {
	Value, Label, Whose string
	Current             bool
}

// options returns the zones that the dialog offers on a page of these tasks.
func (c zoneChoice) options(tasks []*schedule.Task) (all []zoneOption) {
	add := func(value, label, whose string) {
		chosen := value == c.chosenZone && !c.eachTask || value == zoneOfTask && c.eachTask
		all = append(all, zoneOption{value, label, whose, chosen})
	}
	add("", c.scheduleZone.String(), "of the schedule")
	hasOther := func(t *schedule.Task) bool { return t.When.Location.String() != c.scheduleZone.String() }
	if c.eachTask || slices.ContainsFunc(tasks, hasOther) {
		add(zoneOfTask, "each task's zone", "")
	}
	if c.scheduleZone.String() != "UTC" {
		add("UTC", "UTC", "")
	}
	if c.chosenZone != "" && c.chosenZone != "UTC" {
		add(c.chosenZone, c.chosenZone, "")
	}
	return all
}

// keepZone keeps the zone that somebody has chosen, and leads back to the page.
func keepZone(server *serve.Server, w http.ResponseWriter, r *http.Request) {
	zone := r.PostFormValue("zone")
	if zone != zoneOfTask && zoneNamed(zone) == nil {
		zone = ""
	}
	http.SetCookie(w, &http.Cookie{Name: zoneCookie, Value: zone, Path: server.BasePath + "/",
		MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, Secure: server.Secure, SameSite: http.SameSiteStrictMode})
	back, err := url.ParseRequestURI(r.PostFormValue("back"))
	isOurs := err == nil && back.Host == "" &&
		strings.HasPrefix(back.Path, server.BasePath+"/") && !strings.HasPrefix(back.Path, "//")
	if !isOurs {
		back = &url.URL{Path: server.BasePath + "/"}
	}
	http.Redirect(w, r, (&url.URL{Path: back.Path, RawPath: back.RawPath, RawQuery: back.RawQuery}).String(),
		http.StatusSeeOther)
}
