package web

import (
	"regexp"
	"strconv"
	"testing"

	"sched/schedule/serve"
)

var nowAt = regexp.MustCompile(`class="now" x1="([0-9.]+)%"`)

// A timeline shows more of what happened than of what is to come. A time that is asked for is in
// its middle.
func TestNowIsAtFourFifthsOfATimeline(t *testing.T) {
	b := newBox(t, shop, serve.ScopeRead)
	for query, want := range map[string]float64{"": 80, "?hours=6": 80, "?hours=168": 80,
		"?at=2026-03-01T12:00:00Z": 50} {
		found := nowAt.FindStringSubmatch(b.get("/timeline"+query, 200))
		if found == nil {
			t.Fatalf("%q has no line for now", query)
		}
		if at, _ := strconv.ParseFloat(found[1], 64); at != want {
			t.Errorf("%q has now at %v %%, want %v", query, at, want)
		}
	}
}

// The rows of a timeline are grouped by the first tag of their tasks, in the order of the file.
func TestATimelineIsGroupedByTag(t *testing.T) {
	b := newBox(t, `
timezone: UTC
tasks:
  - {name: a, every: day, command: "true"}
  - {name: b, every: day, command: "true", tags: [two]}
  - {name: c, every: day, command: "true", tags: [one, two]}
  - {name: d, every: day, command: "true", tags: [two, one]}
`, serve.ScopeRead)
	of := func(query string) (all string) {
		for _, m := range regexp.MustCompile(`scope="row(?:group)?">(?:<a [^>]*>)?([^<]*)<`).FindAllStringSubmatch(b.get("/timeline"+query, 200), -1) {
			all += m[1] + " "
		}
		return all
	}
	if got := of(""); got != "two b d one c without a tag a " {
		t.Error(got)
	}
	if got := of("?tag=one"); got != "one c d " {
		t.Error(got)
	}
	b.has("without tags", newBox(t, "tasks: [{name: a, every: day, command: \"true\"}]\n",
		serve.ScopeRead).get("/timeline", 200), `not class="group"`)
}
