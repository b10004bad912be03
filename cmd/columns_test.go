package cmd

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sched/cmd/list"
	"sched/cmd/report"
	"sched/cmd/run"
	api "sched/schedule/serve"
	"sched/schedule/view"
)

// docs/json.md has a table for each object that a command prints, with each of its fields and no
// other.
func TestEveryObjectIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]reflect.Type{
		"Of a task in a tick": reflect.TypeFor[report.Run](),
		"A plan":              reflect.TypeFor[run.Preview](),
		"Of a task in a plan": reflect.TypeFor[run.PreviewTask](),
		"A task":              reflect.TypeFor[view.Task](),
		"A run that lives":    reflect.TypeFor[view.Running](),
		"A run that waits":    reflect.TypeFor[view.Waiting](),
		"A pause":             reflect.TypeFor[view.Pause](),
		"A record":            reflect.TypeFor[view.Record](),
		"A summary":           reflect.TypeFor[view.Summary](),
		"A status":            reflect.TypeFor[view.Status](),
		"A trouble":           reflect.TypeFor[view.Trouble](),
		"An explanation":      reflect.TypeFor[view.Why](),
		"A minute":            reflect.TypeFor[view.Minute](),
		"A reason":            reflect.TypeFor[view.Reason](),
		"A field":             reflect.TypeFor[view.Field](),
		"A slot":              reflect.TypeFor[view.Slot](),
		"A request":           reflect.TypeFor[view.Request](),
		"A server":            reflect.TypeFor[view.Server](),
		"A hook of a task":    reflect.TypeFor[view.Hook](),
		"An upcoming slot":    reflect.TypeFor[view.Upcoming](),
		"A change":            reflect.TypeFor[view.Change](),
		"A run on a server":   reflect.TypeFor[view.ServerRun](),
	}
	for heading, of := range objects {
		if got, want := documented(string(text), heading), jsonNames(of); !slices.Equal(got, want) {
			t.Errorf("%s:\ndocumented: %v\nprinted:    %v", heading, got, want)
		}
	}
	for heading, of := range map[string][2]reflect.Type{ // with the object whose fields it has, too
		"A run":             {reflect.TypeFor[view.Run](), reflect.TypeFor[view.Record]()},
		"A definition":      {reflect.TypeFor[view.Definition](), reflect.TypeFor[view.Task]()},
		"A listed task":     {reflect.TypeFor[list.Task](), reflect.TypeFor[view.Task]()},
		"A pause in effect": {reflect.TypeFor[api.Pausing](), reflect.TypeFor[view.Pause]()},
	} {
		own := slices.DeleteFunc(jsonNames(of[0]),
			func(name string) bool { return slices.Contains(jsonNames(of[1]), name) })
		if got := documented(string(text), heading); !slices.Equal(got, own) {
			t.Errorf("%s:\ndocumented: %v\nanswered:   %v", heading, got, own)
		}
	}
	if got := documented(string(text), "A tick"); !slices.Equal(got, []string{"minute", "tasks"}) {
		t.Errorf("A tick: %v", got)
	}
}

// documented returns the names in the first column of the first table under a heading.
func documented(page, heading string) (names []string) {
	_, section, _ := strings.Cut(page, "# "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	for line := range strings.Lines(section) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if strings.HasPrefix(line, "| `") {
			for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cell, -1) {
				names = append(names, name[1])
			}
		}
	}
	slices.Sort(names)
	return names
}

func jsonNames(of reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
