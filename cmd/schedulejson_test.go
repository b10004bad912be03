package cmd

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"sched/schedule"
	"sched/schedule/doctor"
)

// The objects of commands that tell of the schedule and the machine, and nothing of runs: see
// TestEveryObjectIsDocumented.
func TestEveryObjectOfTheScheduleIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, of := range map[string]reflect.Type{
		"A judgement":             reflect.TypeFor[checkJSON](),
		"A finding":               reflect.TypeFor[findingJSON](),
		"A task as it is defined": reflect.TypeFor[shownJSON](),
		"A setting":               reflect.TypeFor[settingJSON](),
		"A place":                 reflect.TypeFor[schedule.Place](),
		"An examination":          reflect.TypeFor[examinationJSON](),
		"A check":                 reflect.TypeFor[doctor.Result](),
		"A version":               reflect.TypeFor[versionJSON](),
	} {
		if got, want := documented(string(text), heading), jsonNames(of); !slices.Equal(got, want) {
			t.Errorf("%s:\ndocumented: %v\nprinted:    %v", heading, got, want)
		}
	}
}
