package state

import (
	"reflect"
	"testing"
	"time"
)

func TestAPauseIsInEffectUntilItsEndOrUntilSomebodyEndsIt(t *testing.T) {
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	for _, tt := range []struct {
		name             string
		pause            Pause
		at               int
		inEffect, covers bool
	}{
		{"none", Pause{}, 0, false, false},
		{"no end", Pause{By: "ann", Since: at(0)}, 9999, true, true},
		{"an end, and before it", Pause{By: "ann", Since: at(0), Until: at(10)}, 9, true, true},
		{"its end is not part of it", Pause{By: "ann", Since: at(0), Until: at(10)}, 10, false, false},
		{"resumed", Pause{By: "ann", Since: at(0), Ended: at(5)}, 6, false, false},
		{"resumed, and what was before that", Pause{By: "ann", Since: at(0), Ended: at(5)}, 4, false, true},
		{"resumed by a server whose clock is ahead", Pause{By: "ann", Since: at(0), Ended: at(5)}, 1, false, true},
		{"given by a server whose clock is ahead", Pause{By: "ann", Since: at(2)}, 1, true, false},
		{"planned, and before it", Pause{By: "ann", Planned: true, Since: at(2), Until: at(4)}, 1, false, false},
		{"planned, at its beginning", Pause{By: "ann", Planned: true, Since: at(2), Until: at(4)}, 2, true, true},
		{"planned, and over", Pause{By: "ann", Planned: true, Since: at(2), Until: at(4)}, 4, false, false},
		{"planned, and taken back before it",
			Pause{By: "ann", Planned: true, Since: at(2), Until: at(4), Ended: at(0)}, 3, false, false},
	} {
		if got := tt.pause.InEffect(at(tt.at)); got != tt.inEffect {
			t.Errorf("%s: in effect: %t", tt.name, got)
		}
		if got := tt.pause.Covers(at(tt.at)); got != tt.covers {
			t.Errorf("%s: covers: %t", tt.name, got)
		}
	}
}

func TestAPauseIsToldWithTheDateWhereThatIsNotTodays(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	p := Pause{By: "ann", Server: "web-1", Since: noon, Until: noon.Add(24 * time.Hour), Reason: "deploying"}
	if got := p.Text(noon, zone); got != "paused by ann on web-1 since 13:00 CET, until 2026-11-22 13:00 CET: deploying" {
		t.Error(got)
	}
	if got := p.Text(noon.Add(24*time.Hour),
		zone); got != "paused by ann on web-1 since 2026-11-21 13:00 CET, until 13:00 CET: deploying" {
		t.Error(got)
	}
}

func TestAPauseIsKeptWithAllThatItSays(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	planned := func(h int) Pause {
		return Pause{Version: 9, By: "ann", Since: noon.Add(time.Duration(h) * time.Hour),
			Until: noon.Add(time.Duration(h+1) * time.Hour), Planned: true, Stop: true}
	}
	want := map[string][]Pause{
		"task": {{Version: 7, By: "ann", Server: "web-1", Reason: "deploy",
			Since: noon, Until: noon.Add(time.Hour)}, planned(2), planned(4)},
		Everything: {{Version: 8, By: "bob", Since: noon, Ended: noon.Add(time.Minute)}},
	}
	now := noon
	set := func(pauses map[string][]Pause) {
		t.Helper()
		must(t, db.Pauses("").Change(ctx, now, func(map[string][]Pause) map[string][]Pause { return pauses }))
	}
	set(want)
	all, err := db.Pauses("").All(ctx)
	if err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, %v", all, err)
	}
	want["task"][0] = Pause{Version: 9, By: "cid", Since: noon}
	set(map[string][]Pause{"task": want["task"][:1]})
	set(nil)
	if all, err = db.Pauses("").All(ctx); err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, %v", all, err)
	}
	now = planned(2).Until.Add(PauseKept + time.Second) // the first one is forgotten
	set(nil)
	want["task"] = []Pause{want["task"][0], planned(4)}
	if all, err = db.Pauses("").All(ctx); err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, %v", all, err)
	}
}
