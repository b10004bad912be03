package cmd

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"sched/cmd/check"
	"sched/cmd/doctor"
	"sched/cmd/explain"
	"sched/cmd/show"
	"sched/cmd/version"
	"sched/schedule"
	examined "sched/schedule/doctor"
)

// The objects of commands that tell of the schedule and the machine, and nothing of runs: see
// TestEveryObjectIsDocumented.
func TestEveryObjectOfTheScheduleIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, of := range map[string]reflect.Type{
		"A judgement":             reflect.TypeFor[check.Judgement](),
		"A finding":               reflect.TypeFor[check.Finding](),
		"A task as it is defined": reflect.TypeFor[show.Task](),
		"A setting":               reflect.TypeFor[show.Setting](),
		"A place":                 reflect.TypeFor[schedule.Place](),
		"An examination":          reflect.TypeFor[doctor.Examination](),
		"A check":                 reflect.TypeFor[examined.Result](),
		"A version":               reflect.TypeFor[version.Version](),
		"An expression":           reflect.TypeFor[explain.Explained](),
		"A group":                 reflect.TypeFor[explain.Group](),
	} {
		if got, want := documented(string(text), heading), jsonNames(of); !slices.Equal(got, want) {
			t.Errorf("%s:\ndocumented: %v\nprinted:    %v", heading, got, want)
		}
	}
}
