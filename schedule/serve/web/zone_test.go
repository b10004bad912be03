package web

import (
	"net/http"
	"net/url"
	"testing"

	"sched/schedule/outcome"
	"sched/schedule/serve"
)

const twoZones = `
timezone: UTC
tasks:
  - {name: here, every: hour, command: "true"}
  - {name: there, every: hour, timezone: America/New_York, command: "true"}
`

// A page shows times in one zone: the schedule's. The visitor can choose another one, and each
// task's own.
func TestAPageShowsTimesInTheZoneThatWasChosen(t *testing.T) {
	b := newBox(t, twoZones, serve.ScopeRead)
	b.Remember(b.Ended("there", 60, outcome.Missed, ""))
	b.ticked()
	for _, tt := range []struct {
		cookie string
		has    map[string][]string
	}{
		{"", map[string][]string{
			"/tasks":       {">13:00 UTC</time>", "not EST", `aria-label="Times in UTC"`},
			"/":            {"since Fri 18:00 UTC", "missed the slot of 2026-03-01 11:00:00 UTC"},
			"/tasks/there": {">13:00 UTC</time>", "2026-03-01 14:00:00 UTC", "in America/New_York", "not EST"},
			"/forecast":    {"<th>UTC</th>", "Sun 2026-03-01 12:00 UTC"},
		}},
		{"Asia/Tokyo", map[string][]string{
			"/tasks":       {">22:00 JST</time>", "not UTC</time>", `value="Asia/Tokyo" aria-current="true"`},
			"/":            {"since Fri 18:00 JST", "missed the slot of 2026-03-01 20:00:00 JST"},
			"/tasks/there": {">22:00 JST</time>", "2026-03-01 23:00:00 JST", "in America/New_York", "not EST"},
			"/runs":        {"2026-03-01 20:00:00 JST"},
			"/timeline":    {"from 2026-03-01 01:48 JST"},
			"/forecast":    {"<th>Asia/Tokyo</th>", "Sun 2026-03-01 21:00 JST", "Sun 2026-03-01 21:00 JST: at most"},
		}},
		{"tasks", map[string][]string{
			"/tasks": {">13:00 UTC</time>", ">08:00 EST</time>", `aria-label="Times in each task&#39;s zone"`},
			"/runs":  {"2026-03-01 06:00:00 EST"},
		}},
		{"UTC", map[string][]string{"/tasks": {`value="" aria-current="true">UTC <small>of the schedule`, `not value="UTC"`}}},
		{"../nix", map[string][]string{"/tasks": {">13:00 UTC</time>", "not nix"}}},
	} {
		for path, texts := range tt.has {
			b.has(tt.cookie+" "+path, b.send("GET", path, nil, 200, "Cookie", zoneCookie+"="+tt.cookie), texts...)
		}
	}
}

// The choice is kept in a cookie. Its form leads back to the page from which it came, and to no
// page of another site.
func TestTheChoiceOfAZoneLeadsBackToThePage(t *testing.T) {
	b := newBox(t, twoZones, serve.ScopeRead)
	for back, want := range map[string]string{"/tasks?q=a%2Fb": "/tasks?q=a%2Fb", "/tasks/a%2Fb": "/tasks/a%2Fb",
		"//evil.example/": "/", "https://evil.example/": "/", "": "/"} {
		if to := b.send("POST", "/zone", url.Values{"zone": {"UTC"}, "back": {back}}, http.StatusSeeOther); to != want {
			t.Errorf("%q leads to %s", back, to)
		}
	}
	one := newBox(t, shop, serve.ScopeRead)
	one.has("a schedule with one zone", one.get("/", 200), "not each task")
}
