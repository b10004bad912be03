package doctor

import (
	"context"
	"testing"
)

func TestTheClockOfAContainerIsItsHostsConcern(t *testing.T) {
	s := subjectIn(t, "tasks: []")
	s.Environ = append(s.Environ, "container=podman")
	if found := clockFindings(s, false, true); found[0].Level != Warning || !found[0].OfHost {
		t.Errorf("%v", found)
	}
	if found := clockFindings(s, true, true); found[0].Level != OK {
		t.Errorf("%v", found)
	}
}

func TestAWarningOfTheHostDoesNotCount(t *testing.T) {
	defer func(all []check) { checks = all }(checks)
	checks = []check{{"clock", func(context.Context, *Subject) findings {
		return findings{{Level: Warning, Text: "wrong", Hint: "mend it", OfHost: true}}
	}}}
	results := Examine(context.Background(), nil)
	if len(results) != 1 || results[0].Level != Warning || Worst(results) != OK {
		t.Errorf("%+v", results)
	}
	if Worst(append(results, Result{Check: "disk", Level: Warning})) != Warning {
		t.Error("another warning does")
	}
}
